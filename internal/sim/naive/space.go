package naive

import "github.com/taskrt/taskrt/task"

// space returns a namespace that exists, or nil.
func (m *Model) space(ns string) *task.Namespace {
	if n := m.Spaces[ns]; n != nil && n.Status != task.NamespaceIsPurged {
		return n
	}
	return nil
}

// known refuses a command that needs the namespace to exist, if it does not.
func (m *Model) known(ns string) task.Code {
	if m.space(ns) == nil {
		return task.NamespaceNotFound
	}
	return task.OK
}

// writable refuses, in addition, what a namespace in PURGING does not take (N1).
func (m *Model) writable(ns string) task.Code {
	if code := m.known(ns); code != task.OK {
		return code
	} else if m.Purging(ns) {
		return task.NamespacePurging
	}
	return task.OK
}

// accepting refuses, in addition, what an INACTIVE namespace does not take: new work (N1).
func (m *Model) accepting(ns string) task.Code {
	if code := m.writable(ns); code != task.OK {
		return code
	} else if m.Spaces[ns].Status != task.NamespaceIsActive {
		return task.NamespaceInactive
	}
	return task.OK
}

// Active reports whether tasks of the namespace may start.
func (m *Model) Active(ns string) bool { return m.accepting(ns) == task.OK }

// Purging reports whether the namespace is being purged.
func (m *Model) Purging(ns string) bool {
	return m.Spaces[ns] != nil && m.Spaces[ns].Status == task.NamespaceIsPurging
}

// none is the refusal of a command about a task that does not exist.
func (m *Model) none(ns string) task.Result {
	if code := m.known(ns); code != task.OK {
		return task.Result{Code: code}
	}
	return task.Result{Code: task.TaskNotFound}
}

func (m *Model) putNamespace(c task.PutNamespace, got task.Result) task.Result {
	n := task.Namespace{Name: c.Name, Status: task.NamespaceIsActive, CreatedAt: m.Now}
	switch exists := m.space(c.Name) != nil; {
	case c.Name != "" && c.Name[0] == '_':
		return task.Result{Code: task.NamespaceReserved}
	case len(c.Name) < 3, c.Share != nil && (c.Share.Weight > 100 || c.Share.MaxRunning < 0):
		return task.Result{Code: task.InvalidCommand}
	case c.Create && exists:
		return m.spaceAnswer(task.NamespaceTaken, c.Name, got)
	case c.Create && m.Spaces[c.Name] == nil && len(m.Spaces) >= m.limits.Namespaces:
		return task.Result{Code: task.QuotaExceeded, Field: "namespaces"}
	case !c.Create && m.writable(c.Name) != task.OK:
		return task.Result{Code: m.writable(c.Name)}
	case !c.Create:
		n = *m.Spaces[c.Name]
	}
	if c.Quota != nil {
		if c.Quota.SubmitsPerSecond != n.Quota.SubmitsPerSecond { // begins with a full bucket
			n.Bucket, n.BucketAt = 0, 0
		}
		n.Quota = *c.Quota
	}
	if c.Retention != nil {
		n.Retention = *c.Retention
	}
	if c.Share != nil {
		n.Weight, n.MaxRunning = c.Share.Weight, c.Share.MaxRunning
	}
	changed := m.Spaces[c.Name] == nil || n != *m.Spaces[c.Name]
	if changed {
		n.Rev = 0
		m.Spaces[c.Name] = &n
	}
	r := m.spaceAnswer(task.OK, c.Name, got)
	r.Changed = changed
	return r
}

func (m *Model) spaceAnswer(code task.Code, name string, got task.Result) task.Result {
	m.AdoptSpace(name, got.Space)
	return task.Result{Code: code, Space: m.Spaces[name]}
}

func (m *Model) setStatus(c task.SetNamespaceStatus, got task.Result) task.Result {
	switch {
	case c.Status < task.NamespaceIsActive || c.Status > task.NamespaceIsPurging:
		return task.Result{Code: task.InvalidCommand}
	case c.Name == task.SystemNamespace, c.Name == task.DefaultNamespace && c.Status == task.NamespaceIsPurging:
		return task.Result{Code: task.NamespaceReserved}
	case m.known(c.Name) != task.OK:
		return task.Result{Code: task.NamespaceNotFound}
	}
	n := *m.Spaces[c.Name]
	changed := n.Status != c.Status
	if changed && n.Status == task.NamespaceIsPurging {
		return task.Result{Code: task.NamespacePurging}
	} else if changed {
		n.Status, n.ChangedAt, n.Rev = c.Status, m.Now, 0
		m.Spaces[c.Name] = &n
	}
	r := m.spaceAnswer(task.OK, c.Name, got)
	r.Changed = changed
	return r
}

// demand is what a command adds to its namespace; submits are tasks created or made due again.
type demand struct{ tasks, bytes, submits int64 }

// charge refuses a demand over a quota of the namespace, and names the quota in Field. Otherwise it takes the submits from the rate.
func (m *Model) charge(ns string, d demand) task.Result {
	n := *m.Spaces[ns]
	u, q := m.Usage(ns), n.Quota
	rate, full := q.SubmitsPerSecond, 1000*q.SubmitsPerSecond
	left := min(n.Bucket+int64(m.Now-n.BucketAt)*rate, full) // a millisecond brings thousandths
	if n.BucketAt == 0 || m.Now-n.BucketAt >= 1000 {
		left = full
	}
	over := ""
	switch {
	case q.MaxTasks > 0 && d.tasks > 0 && u.Tasks+u.Owed+d.tasks > q.MaxTasks:
		over = "max_tasks"
	case q.MaxBytes > 0 && d.bytes > 0 && u.Bytes+d.bytes > q.MaxBytes:
		over = "max_bytes"
	case rate > 0 && 1000*d.submits > left:
		over = "submits_per_second"
	case rate > 0 && d.submits > 0:
		n.Bucket, n.BucketAt = left-1000*d.submits, m.Now
		m.Spaces[ns] = &n
	}
	if over != "" {
		return task.Result{Code: task.QuotaExceeded, Field: over, Space: m.Spaces[ns]}
	}
	return task.Result{}
}

// Usage counts what the namespace holds.
func (m *Model) Usage(ns string) (u task.Usage) {
	for _, t := range m.Tasks {
		if t.Namespace == ns {
			u.Tasks++
			u.Bytes += m.taskSize(t)
			if t.Status == task.Running {
				u.Running++
			}
			if final(t) && t.Role == task.RoleNone && m.forever(t) {
				u.Forever++
			}
			if t.Excess {
				u.Excess++
			}
		}
	}
	for _, o := range m.Operations {
		if o.Namespace == ns {
			u.Operations++
			u.Bytes += m.size(o.Arg) + m.size(o.Result)
			if o.Error != nil {
				u.Bytes += m.size(o.Error.Details)
			}
			if !o.Removing {
				u.Owed += o.Partitions - o.Made
			}
		}
	}
	for _, x := range m.Records {
		if x.Namespace == ns {
			u.Records++
			u.Bytes += int64(len(x.Data)) + m.size(x.Blob)
		}
	}
	for k := range m.Behaviors {
		if k.Namespace == ns {
			u.Behaviors++
		}
	}
	return u
}

func (m *Model) taskSize(t *task.Task) int64 {
	n := m.size(t.Params) + m.size(t.Result) + m.size(t.Progress) + m.size(t.Checkpoint)
	if t.Error != nil {
		n += m.size(t.Error.Details)
	}
	return n
}

// size counts the payload's bytes, and the bytes of every blob that it needs.
func (m *Model) size(p task.Payload) int64 {
	n := int64(len(p.Data))
	for _, d := range digests(p) {
		n += m.Blobs[d].Size
	}
	return n
}
