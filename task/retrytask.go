package task

// RetryTask makes a task due again by hand. The task is final, or waits for its retry (SPEC T1, T8, B2).
type RetryTask struct {
	Key            Key    `cbor:"1,keyasint"`
	NotBefore      Time   `cbor:"2,keyasint,omitempty"` // 0: now
	Delay          Millis `cbor:"3,keyasint,omitempty"` // added to now when NotBefore is 0
	Deadline       Time   `cbor:"4,keyasint,omitempty"` // 0: none
	Version        string `cbor:"5,keyasint,omitempty"` // pin to VersionActive or to a kept version; "": keep the pin
	KeepCheckpoint bool   `cbor:"6,keyasint,omitempty"` // with another version: keep the checkpoint nevertheless
}

// VersionActive as RetryTask.Version means the version that is active when the task runs.
const VersionActive = "active"

// apply goes on where the task stopped. Unlike a rerun it keeps the pin and the checkpoint, so that a task that failed for a reason outside can be
// taken up again. A task that waits without having failed is only pinned to another version.
func (c RetryTask) apply(m *Machine) Result {
	if c.NotBefore < 0 || c.Delay < 0 || c.Deadline < 0 {
		return invalid("not_before", "a time or delay is negative")
	}
	r := m.find(c.Key)
	if r == nil {
		return m.missing(c.Key)
	}
	if r, ok := m.writable(c.Key.Namespace); !ok {
		return r
	}
	t := m.task(r)
	if t.Role != RoleNone {
		return operationTask(t)
	}
	if t.Status == Running {
		return Result{Code: NotFinal, Message: "the task is running", Task: t}
	}
	n := *t
	if !c.pin(m, r, &n) {
		return noVersion()
	}
	switch {
	case t.Final() || t.Status == Failure:
		n.NotBefore, n.Deadline, n.Failures = startAt(c.NotBefore, c.Delay, m.now), c.Deadline, 0
	case c.Version == "":
		return Result{Code: NotFinal, Message: "the task waits for its time and has not failed", Task: t}
	default:
		if c.NotBefore != 0 || c.Delay != 0 {
			n.NotBefore = startAt(c.NotBefore, c.Delay, m.now)
		}
		if c.Deadline != 0 {
			n.Deadline = c.Deadline
		}
	}
	m.put(r, &n)
	return Result{Task: &n}
}

// pin pins n to the version that c names, and reports whether this version is known. A checkpoint belongs to the version that wrote it.
func (c *RetryTask) pin(m *Machine, r *row, n *Task) bool {
	if c.Version == "" {
		return true
	}
	version := ""
	if c.Version != VersionActive {
		if m.version(m.of(r), c.Version) == nil {
			return false
		}
		version = c.Version
	}
	if version != n.Version && !c.KeepCheckpoint {
		n.Checkpoint = Payload{}
	}
	n.Version = version
	return true
}
