package sdk

import "github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"

// Info is what a guest may know of its task and attempt: abi.TaskInfo, read without encoding/json. Fields that the host does
// not tell stay zero.
type Info struct {
	Namespace   string
	ID          string // of the task, the same in every attempt: a good idempotency key for effects outside
	Behavior    string
	Version     string // of the behavior
	Attempt     int64  // 1, 2, …: counts every start, also after a lost worker
	MaxAttempts int64  // of the retry policy; 0: no limit
	Failures    int64  // failed runs since the last success, before this one
	Token       uint64 // fencing token of the lease: larger for every later lease of the cluster

	Parent    string // the operation that the task is part of, or the task that submitted it
	Partition string // of the operation
	Deadline  Time   // of the task; the attempt's own is Context.Deadline
	Created   Time
	Labels    map[string]string
	Node      string
	Worker    string
	Priority  int64

	Raw []byte // the JSON text
}

func parseInfo(text []byte) *Info {
	info := &Info{Raw: text}
	v, err := tinyjson.Parse(text)
	if err != nil {
		return info
	}
	str := func(name string) string {
		m, _ := v.Get(name)
		s, _ := m.Str()
		return s
	}
	num := func(name string) int64 {
		m, _ := v.Get(name)
		n, _ := m.Int64()
		return n
	}
	info.Namespace, info.ID = str("namespace"), str("id")
	info.Behavior, info.Version = str("behavior"), str("version")
	info.Attempt, info.MaxAttempts, info.Failures = num("attempt"), num("max_attempts"), num("failures")
	info.Token = uint64(num("token"))
	info.Parent, info.Partition = str("parent"), str("partition")
	info.Deadline, info.Created = Time(num("deadline_ms")), Time(num("created_ms"))
	info.Node, info.Worker, info.Priority = str("node"), str("worker"), num("priority")
	if labels, ok := v.Get("labels"); ok {
		info.Labels = make(map[string]string, len(labels.Keys()))
		for i, name := range labels.Keys() {
			info.Labels[name], _ = labels.Elems()[i].Str()
		}
	}
	return info
}
