package task

import "github.com/taskrt/taskrt/task/table"

// What a namespace holds is derived and exact. Every record is counted when it comes and when it goes, so quotas and answers cost O(1). Payloads
// count by their bytes, and a blob counts in full each time that something refers to it.

// countTask counts a task in its namespace, by 1 when its record comes and by -1 when it goes.
func (m *Machine) countTask(b *behaviorRow, t *Task, sign int64) {
	n := b.space
	n.usage.Tasks += sign
	if t.Status == Running {
		n.usage.Running += sign
	}
	n.usage.Bytes += sign * m.taskSize(t)
	if t.Final() && t.Role == RoleNone { // an operation's tasks go with it
		if t.Excess {
			n.usage.Excess += sign
		}
		m.countFinals(n, b.keeps(t), sign)
	}
}

// countFinals counts final tasks that a namespace has got or lost. ever says that they are kept for ever, and so no number bounds them.
func (m *Machine) countFinals(n *namespaceRow, ever bool, more int64) {
	if ever {
		n.usage.Forever += more
		return
	}
	was := n.finals > m.limits.Finals
	n.finals += more
	switch is := n.finals > m.limits.Finals; {
	case is && !was:
		m.crowded = table.Put(m.crowded, n, spaceName)
	case was && !is:
		m.crowded = table.Drop(m.crowded, n.space.Name, spaceName)
	}
}

func spaceName(n *namespaceRow) string { return n.space.Name }

// countRecord counts a record in its namespace, and the blob that it needs.
func (m *Machine) countRecord(x *StoreRecord, sign int64) {
	u := &m.namespaces[x.Namespace].usage
	u.Records += sign
	u.Bytes += sign * x.Len()
	m.countPayload(sign, &x.Blob)
}

// useOperation counts an operation in its namespace, or takes it out if sign is -1. It must follow every change of the
// record. The operation owes the partitions whose tasks are not made yet. A nil operation changes nothing.
func (m *Machine) useOperation(o *Operation, sign int64) {
	if o == nil {
		return
	}
	u := &m.namespaces[o.Namespace].usage
	u.Operations += sign
	u.Bytes += sign * m.operationSize(o)
	u.Owed += sign * o.owed()
}

// owed returns how many partition tasks are still to be made.
func (o *Operation) owed() int64 {
	if o.Removing {
		return 0
	}
	return o.Partitions - o.Made
}

// size returns the bytes of a payload, including blobs that it is or names.
func (m *Machine) size(p *Payload) int64 {
	if p.Blobs == nil {
		return int64(len(p.Data))
	}
	return m.payloadSize(p)
}

func (m *Machine) taskSize(t *Task) int64 {
	size := m.errorSize(t.Error)
	for _, p := range t.everyPayload() {
		size += m.size(p)
	}
	return size
}

func (m *Machine) operationSize(o *Operation) int64 {
	return m.size(&o.Arg) + m.size(&o.Result) + m.errorSize(o.Error)
}

func (m *Machine) errorSize(e *Error) int64 {
	if e == nil {
		return 0
	}
	return m.size(&e.Details)
}

// Namespace returns a namespace with its usage, even a PURGED one, or nil.
func (m *Machine) Namespace(name string) *Namespace {
	if n := m.namespaces[name]; n != nil {
		return n.view()
	}
	return nil
}

func (n *namespaceRow) view() *Namespace {
	view := *n.space
	view.Usage = n.usage
	return &view
}

// Namespaces returns all namespaces by name, with their usage.
func (m *Machine) Namespaces() []*Namespace {
	rows := table.Values(m.namespaces, spaceName)
	views := make([]*Namespace, len(rows))
	for i, n := range rows {
		views[i] = n.view()
	}
	return views
}
