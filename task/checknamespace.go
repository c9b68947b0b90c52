package task

import (
	"slices"

	"github.com/taskrt/taskrt/task/table"
)

// space returns the recount of a namespace.
func (c *checker) space(name string) *namespaceRow {
	n := c.spaces[name]
	if n == nil {
		n = &namespaceRow{}
		c.spaces[name] = n
	}
	return n
}

// usage counts a task in its namespace.
func (c *checker) usage(t *Task) {
	n, m := c.space(t.Namespace), c.m
	n.usage.Tasks++
	n.usage.Bytes += m.taskSize(t)
	switch {
	case !t.Final() || t.Role != RoleNone:
	case m.behaviors[behaviorName{t.Namespace, t.Behavior}].keeps(t):
		n.usage.Forever++
	default:
		n.finals++
	}
	if t.Excess {
		n.usage.Excess++
	}
	if t.Status != Running {
		return
	}
	n.usage.Running++
	if !t.Lease.External() {
		n.use.Slots++
	}
	r := m.find(t.Key())
	doomed := m.store.Rows.Look(r).Doomed
	if m.purging(t.Namespace) && t.CancelCode == "" {
		c.At(&m.doomed, doomed, r, int64(t.Lease.Token), t.Lease.Token, "N1: %s: runs in a namespace in PURGING", t.ID)
	} else {
		c.expect(doomed == 0, "N1: %s: will be cancelled for no reason", t.ID)
	}
}

// namespaces verifies every namespace against what was recounted, and that nothing is left of those that are PURGED. It
// follows the recount of tasks and records.
func (c *checker) namespaces() {
	m := c.m
	for _, b := range m.byName {
		c.expect(b.space != nil && b.space == m.namespaces[b.namespace], "behavior %s/%s is in no namespace", b.namespace, b.name)
		if b.behavior != nil {
			c.space(b.namespace).usage.Behaviors++
		}
	}
	for k, o := range m.operations { // order-free: it only adds up
		u := &c.space(k.Namespace).usage
		u.Operations++
		u.Bytes += m.operationSize(o.operation)
		u.Owed += o.operation.owed()
	}
	crowded := 0
	for name, n := range m.namespaces { // order-free: the sum commutes, and any violation will do
		c.namespace(name, n)
		if n.finals > m.limits.Finals {
			crowded++
			c.expect(slices.Contains(m.crowded, n), "T9: %s has too many final tasks, and nobody knows", name)
		}
	}
	c.expect(crowded == len(m.crowded), "T9: %d namespaces with too many final tasks, recounted %d", len(m.crowded), crowded)
	c.expect(table.InOrder(m.crowded, spaceName), "T9: order of namespaces")
	c.Heap("doomed", &m.doomed)
	for name := range c.spaces { // order-free: any violation will do
		c.expect(m.namespaces[name] != nil, "records in the unknown namespace %s", name)
	}
}

func (c *checker) namespace(name string, n *namespaceRow) {
	m, x, counted := c.m, n.space, c.space(name)
	c.sum += hashNamespace(x)
	c.expect(x.Name == name, "namespace %s is called %s", name, x.Name)
	c.expect(x.Status >= NamespaceIsActive && x.Status <= NamespaceIsPurged, "N1: namespace %s: status %d", name, x.Status)
	c.expect(x.Rev <= m.rev, "namespace %s: rev %d after %d", name, x.Rev, m.rev)
	c.expect(n.usage == counted.usage, "N1: %s: usage %+v, recounted %+v", name, n.usage, counted.usage)
	c.expect(n.use.Slots == counted.use.Slots, "N2: %s holds %d slots, recounted %d", name, n.use.Slots, counted.use.Slots)
	c.expect(x.Weight >= 0 && x.Weight <= MaxWeight && x.MaxRunning >= 0, "N2: %s: weight %d, max_running %d", name, x.Weight, x.MaxRunning)
	c.expect(n.finals == counted.finals, "%d final tasks in %s, recounted %d", n.finals, name, counted.finals)
	c.expect(x.Bucket >= 0 && x.Bucket <= 1000*x.Quota.SubmitsPerSecond, "N1: %s: bucket %d", name, x.Bucket)
	if x.Status != NamespaceIsPurged {
		return
	}
	c.expect(n.usage == Usage{} && len(m.behaviorsIn(name)) == 0 && m.records[name] == nil, "N1: the namespace %s is PURGED, and something of it is left", name)
	for _, x := range m.instances.Rows {
		c.expect(x.Namespace != name, "N1: the namespace %s is PURGED, and numbers its operations", name)
	}
}
