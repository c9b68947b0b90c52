package worker

import (
	"encoding/json"
	"strconv"

	"github.com/taskrt/taskrt/abi"
)

// info returns the JSON of channel Info.
func (r *run) info() []byte {
	t := r.a.Task
	info := abi.TaskInfo{
		Namespace: t.Namespace, ID: t.ID, Behavior: t.Behavior, Version: t.Version,
		Attempt: t.Attempt, MaxAttempts: r.a.Policy.Retry.MaxAttempts, Failures: t.Failures, Token: r.token,
		Parent: t.Parent, Partition: t.Partition, DeadlineMS: int64(t.Deadline), CreatedMS: int64(t.CreatedAt),
		Node: t.Lease.Node, Worker: t.Lease.Worker, Priority: t.Priority,
	}
	if len(t.Labels) > 0 {
		info.Labels = make(map[string]string, len(t.Labels))
		for _, l := range t.Labels {
			info.Labels[l.Name] = l.Value
		}
	}
	return appendInfo(make([]byte, 0, 512), &info)
}

// appendInfo appends what json.Marshal would make of an info. Reflection takes ten times as long.
func appendInfo(b []byte, i *abi.TaskInfo) []byte {
	b = appendString(append(b, `{"namespace":`...), i.Namespace)
	b = appendString(append(b, `,"id":`...), i.ID)
	b = appendString(append(b, `,"behavior":`...), i.Behavior)
	b = appendString(append(b, `,"version":`...), i.Version)
	b = strconv.AppendInt(append(b, `,"attempt":`...), i.Attempt, 10)
	b = strconv.AppendInt(append(b, `,"max_attempts":`...), i.MaxAttempts, 10)
	b = strconv.AppendInt(append(b, `,"failures":`...), i.Failures, 10)
	b = strconv.AppendUint(append(b, `,"token":`...), i.Token, 10)
	if i.Parent != "" {
		b = appendString(append(b, `,"parent":`...), i.Parent)
	}
	if i.Partition != "" {
		b = appendString(append(b, `,"partition":`...), i.Partition)
	}
	if i.DeadlineMS != 0 {
		b = strconv.AppendInt(append(b, `,"deadline_ms":`...), i.DeadlineMS, 10)
	}
	if i.CreatedMS != 0 {
		b = strconv.AppendInt(append(b, `,"created_ms":`...), i.CreatedMS, 10)
	}
	if len(i.Labels) > 0 {
		b = append(append(b, `,"labels":`...), marshal(i.Labels)...)
	}
	if i.Node != "" {
		b = appendString(append(b, `,"node":`...), i.Node)
	}
	if i.Worker != "" {
		b = appendString(append(b, `,"worker":`...), i.Worker)
	}
	b = strconv.AppendInt(append(b, `,"priority":`...), int64(i.Priority), 10)
	return append(b, '}')
}

// appendString appends a JSON string. Few strings need escapes.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return append(b, marshal(s)...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and integers always marshal
	}
	return b
}
