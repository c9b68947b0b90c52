package task

import (
	"math"

	"github.com/taskrt/taskrt/task/plan"
)

// namespaceRow is what the machine holds for one namespace: its record, and what it derives from the namespace's contents.
type namespaceRow struct {
	space  *Namespace
	usage  Usage
	finals int64 // final tasks that belong to no operation: Limit.Finals bounds them
	use    plan.Use
}

// exists reports whether tasks can be in the namespace. A nil row means that there is no namespace.
func (n *namespaceRow) exists() bool { return n != nil && n.space.Status != NamespaceIsPurged }

// Share tells package plan the namespace's share of the slots.
func (n *namespaceRow) Share(at int64) plan.Share {
	s := plan.Share{Name: n.space.Name, Weight: n.space.Weight, Slots: n.use.Slots, Held: n.use.Held(at), Left: math.MaxInt64}
	if limit := n.space.MaxRunning; limit > 0 {
		s.Left = limit - n.usage.Running
	}
	return s
}

// full reports whether no further task of the namespace may start.
func (n *namespaceRow) full() bool {
	return n.space.MaxRunning > 0 && n.usage.Running >= n.space.MaxRunning
}

// newNamespaces returns the namespaces that exist from the start.
func newNamespaces() map[string]*namespaceRow {
	rows := map[string]*namespaceRow{}
	for _, name := range [...]string{DefaultNamespace, SystemNamespace} {
		rows[name] = &namespaceRow{space: &Namespace{Name: name, Status: NamespaceIsActive}}
	}
	return rows
}

// putSpace makes next the record of n. Every change of a namespace that has a rev passes here.
func (m *Machine) putSpace(n *namespaceRow, next *Namespace) {
	m.rev++
	next.Rev = m.rev
	m.replaceSpace(n, next)
	m.emit(Event{Kind: NamespaceChanged, Space: next})
}

// replaceSpace is putSpace without a rev and an event, for the bucket of submits_per_second.
func (m *Machine) replaceSpace(n *namespaceRow, next *Namespace) {
	m.sum -= hashNamespace(n.space)
	m.sum += hashNamespace(next)
	n.space = next
}

// writable refuses a namespace that is not there or is being purged (SPEC N1). Reports, cancels and removals do not ask, because they help a purge.
func (m *Machine) writable(namespace string) (Result, bool) {
	return m.namespaces[namespace].writable()
}

func (n *namespaceRow) writable() (Result, bool) {
	if !n.exists() {
		return noNamespace(), false
	}
	if n.space.Status == NamespaceIsPurging {
		return Result{Code: NamespacePurging, Field: "namespace", Message: "the namespace " + n.space.Name + " is being purged"}, false
	}
	return Result{}, true
}

// accepting also refuses new work in a namespace that is INACTIVE (SPEC N1).
func (m *Machine) accepting(namespace string) (Result, bool) {
	n := m.namespaces[namespace]
	if r, ok := n.writable(); !ok {
		return r, false
	}
	if n.space.Status != NamespaceIsActive {
		return Result{Code: NamespaceInactive, Field: "namespace", Message: "the namespace " + namespace + " is inactive: it takes no new work"}, false
	}
	return Result{}, true
}

// purging reports whether the namespace is being purged: nothing in it goes on by itself.
func (m *Machine) purging(namespace string) bool {
	n := m.namespaces[namespace]
	return n != nil && n.space.Status == NamespaceIsPurging
}

// missing answers a command about a task that is not there.
func (m *Machine) missing(k Key) Result {
	if !m.NamespaceExists(k.Namespace) {
		return noNamespace()
	}
	return noTask()
}

// behaviorsIn returns the behaviors of a namespace by name.
func (m *Machine) behaviorsIn(namespace string) []*behaviorRow {
	from, _ := m.findBehavior(behaviorName{namespace: namespace})
	to, _ := m.findBehavior(behaviorName{namespace: namespace + "\x00"})
	return m.byName[from:to]
}

// enterDoomed lets a Tick find a run that a purge must cancel. leaveDoomed undoes this.
func (m *Machine) enterDoomed(r *row) {
	if t := m.task(r); t.CancelCode == "" && m.store.Rows.Look(r).Doomed == 0 && m.of(r).space.space.Status == NamespaceIsPurging {
		m.doomed.Push(int64(t.Lease.Token), t.Lease.Token, &m.store.Rows.Extra(r).Doomed, r)
	}
}

func (m *Machine) leaveDoomed(r *row) {
	if m.store.Rows.Look(r).Doomed != 0 {
		m.doomed.Remove(&m.store.Rows.Extra(r).Doomed)
	}
}

// tickNamespaces does the Tick's part: it cancels running tasks of namespaces in PURGING, in the order of their leases.
func (m *Machine) tickNamespaces() {
	for range m.limits.StrikesATick {
		n := m.doomed.Head()
		if n == nil {
			return
		}
		m.cancelRunning(n.Item, CodeCancelled)
		m.tickChange = true
	}
}
