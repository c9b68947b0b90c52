package spaces

import (
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// Put returns the command of settings that have been checked.
func Put(s *api.NamespaceSettings, create bool) task.PutNamespace {
	c := task.PutNamespace{Name: s.Name, Create: create}
	if q := s.Quota; q != nil {
		c.Quota = &task.Quota{MaxTasks: q.MaxTasks, MaxBytes: q.MaxBytes, SubmitsPerSecond: q.SubmitsPerSecond}
	}
	if r := s.Retention; r != nil {
		c.Retention = &task.Retention{Success: keepMillis(r.Success), Failure: keepMillis(r.Failure), Count: r.Count}
	}
	if x := s.Share; x != nil {
		c.Share = &task.Share{Weight: x.Weight, MaxRunning: x.MaxRunning}
	}
	return c
}

// keepMillis returns a Keep in the form of the state machine: 0 says nothing, a negative number means for ever. Fractions of a
// millisecond are rounded up, so that nothing is kept for less time than was said.
func keepMillis(k api.Keep) task.Millis {
	if k.Never {
		return -1
	}
	d := time.Duration(k.For)
	ms := task.Millis(d.Milliseconds())
	if d%time.Millisecond != 0 {
		ms++
	}
	return ms
}

func keepOf(m task.Millis) api.Keep {
	if m < 0 {
		return api.Keep{Never: true}
	}
	return api.Keep{For: api.Duration(time.Duration(m) * time.Millisecond)}
}

// SetStatus returns the command of a status that has been checked.
func SetStatus(name, status string) task.SetNamespaceStatus {
	c := task.SetNamespaceStatus{Name: name}
	for s := task.NamespaceIsActive; s <= task.NamespaceIsPurged; s++ {
		if s.String() == status {
			c.Status = s
		}
	}
	return c
}

// Show returns a namespace as the API shows it.
func Show(x *task.Namespace) *api.Namespace {
	u := &x.Usage
	return &api.Namespace{
		Name: x.Name, Status: x.Status.String(), Rev: x.Rev, CreatedAt: api.TimeOrNil(int64(x.CreatedAt)), ChangedAt: api.TimeOrNil(int64(x.ChangedAt)),
		Quota:     api.Quota{MaxTasks: x.Quota.MaxTasks, MaxBytes: x.Quota.MaxBytes, SubmitsPerSecond: x.Quota.SubmitsPerSecond},
		Retention: api.NamespaceRetention{Success: keepOf(x.Retention.Success), Failure: keepOf(x.Retention.Failure), Count: x.Retention.Count},
		Share:     api.Share{Weight: x.Weight, MaxRunning: x.MaxRunning},
		Usage: api.Usage{
			Tasks: u.Tasks, Running: u.Running, Bytes: u.Bytes, Operations: u.Operations, Records: u.Records, Behaviors: u.Behaviors,
			Forever: u.Forever, Excess: u.Excess,
		},
	}
}

// Unknown returns the error that there is no such namespace.
func Unknown(name string) *api.Error { return api.UnknownNamespace(name) }

// Open returns an error if the namespace does not exist, or is being purged. It is for requests that look something up before a
// command decides.
func Open(m *task.Machine, name string) error {
	switch x := m.Namespace(name); {
	case x == nil || x.Status == task.NamespaceIsPurged:
		return Unknown(name)
	case x.Status == task.NamespaceIsPurging:
		return api.FieldError(string(task.NamespacePurging), "namespace", "the namespace %s is being purged", name)
	}
	return nil
}

// These say after how long it is worth asking again. The rate's bucket is full after a second. For max_tasks and max_bytes
// there is room when somebody removes something.
const (
	rateAgainMS = 1_000
	roomAgainMS = 60_000
)

// Quota completes the error of a command that was refused for a quota of namespace x. If x is nil, the quota was not a
// namespace's.
func Quota(e *api.Error, x *task.Namespace) {
	e.RetryMS = roomAgainMS
	if x == nil {
		return
	}
	switch e.Field {
	case "max_tasks":
		e.Limit = x.Quota.MaxTasks
	case "max_bytes":
		e.Limit = x.Quota.MaxBytes
	case "submits_per_second":
		e.Limit, e.RetryMS = x.Quota.SubmitsPerSecond, rateAgainMS
	}
}

// OverRate returns the error of a submit that the submits_per_second of its namespace would refuse.
func OverRate(x *task.Namespace) *api.Error {
	e := api.FieldError(string(task.QuotaExceeded), "submits_per_second",
		"submits_per_second of the namespace %s is %d: none are left now", x.Name, x.Quota.SubmitsPerSecond)
	Quota(e, x)
	return e
}
