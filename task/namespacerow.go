package task

// namespaceRow is what the machine holds for one namespace: its record, and what is derived of what it holds.
type namespaceRow struct {
	space *Namespace
	usage Usage
}

// newNamespaces returns the namespaces that exist from the start.
func newNamespaces() map[string]*namespaceRow {
	rows := map[string]*namespaceRow{}
	for _, name := range [...]string{DefaultNamespace, SystemNamespace} {
		rows[name] = &namespaceRow{space: &Namespace{Name: name, Status: NamespaceIsActive}}
	}
	return rows
}

// enterUsage and leaveUsage count r in its namespace; enqueue and dequeue call them.
func (m *Machine) enterUsage(r *row) {}
func (m *Machine) leaveUsage(r *row) {}

// tickNamespaces is the Tick's part: it cancels what runs in namespaces in PURGING. nextNamespace says when it has something to do:
// the present, or 0.
func (m *Machine) tickNamespaces()     {}
func (m *Machine) nextNamespace() Time { return 0 }
