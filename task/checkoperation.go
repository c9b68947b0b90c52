package task

import (
	"fmt"
	"strings"

	"github.com/taskrt/taskrt/task/exclusive"
	"github.com/taskrt/taskrt/task/table"
)

// part says what is wrong with t as a task of its operation o, or nothing. An imported task has yet to take its version.
func (o *Operation) part(t *Task) string {
	switch t.Role {
	case RolePartition:
		i := PartitionOf(t)
		if i < 0 || i >= o.Made || o.Names != nil && i >= int64(len(o.Names)) || t.Key() != o.partitionKey(i) || t.Partition != o.partitionName(i) || t.Behavior != o.Behavior {
			return "is none of the operation's partitions"
		}
	case RoleCompletion:
		if t.Key() != o.completionKey() || t.Behavior != o.Policy.Complete || !t.Final() && o.Status != OperationCompleting && !o.Removing {
			return "is not the operation's completion"
		}
	case RoleCleanup:
		if !strings.HasPrefix(t.ID, o.taskID("cleanup:")) || t.Behavior != o.Policy.Cleanup || t.Bound == 0 {
			return "is no cleanup of the operation"
		}
	}
	return ""
}

// part verifies that a task's operation is there and may have the task. Restore asks the same.
func (m *Machine) part(t *Task) error {
	if t.Role == RoleNone {
		return nil
	}
	o := m.operations[t.operation()]
	if o == nil {
		return fmt.Errorf("task %s/%s is of the operation %s, which is not there", t.Namespace, t.ID, t.Parent)
	}
	if wrong := o.operation.part(t); wrong != "" {
		return fmt.Errorf("task %s/%s %s", t.Namespace, t.ID, wrong)
	}
	if t.Version != o.operation.Version {
		return fmt.Errorf("task %s/%s has another version than its operation", t.Namespace, t.ID)
	}
	if !t.Final() && t.Bound != 0 && m.sessions[t.Bound] == nil {
		return fmt.Errorf("task %s/%s is bound to session %d, which is not there", t.Namespace, t.ID, t.Bound)
	}
	return nil
}

// part counts a task in its operation and its session.
func (c *checker) part(r *row) {
	t, e := c.m.task(r), c.m.store.Rows.Look(r)
	if t.Role == RoleNone {
		c.expect(e.Part == 0 && e.Bound == 0, "%s: stands in an operation", t.ID)
		return
	}
	if err := c.m.part(t); err != nil {
		c.expect(false, "%w", err)
		return
	}
	o := c.m.operations[t.operation()]
	n := c.operation(o)
	n.tasks++
	if t.Status == Running {
		n.running++
	}
	if t.Role == RolePartition {
		*n.counts.of(t)++
	}
	if in, key := o.queueOf(t); in != nil {
		c.At(in, e.Part, r, key, t.CreatedRev, "%s: place in its operation", t.ID)
	} else {
		c.expect(e.Part == 0, "%s: stands in a queue of its operation", t.ID)
	}
	if t.Bound == 0 || t.Final() {
		c.expect(e.Bound == 0, "%s: stands in a session", t.ID)
		return
	}
	c.At(&c.m.sessions[t.Bound].cleanups, e.Bound, r, 0, t.CreatedRev, "%s: place among the cleanups of its session", t.ID)
}

func (c *checker) operation(o *operationRow) *operationRow {
	n := c.fanout[o]
	if n == nil {
		n = &operationRow{}
		c.fanout[o] = n
	}
	return n
}

// operations verifies every operation, and the lists that it stands in, against the recount.
func (c *checker) operations() {
	m, x := c.m, &c.m.fanout
	busy, running := 0, exclusive.Table[*operationRow]{}
	held := map[*behaviorRow]map[string]int64{}
	for k, o := range m.operations { // order-free: sums commute, and any violation will do
		c.expect(o.operation.Key() == k, "operation %v is called %v", k, o.operation.Key())
		c.sum += hashOperation(o.operation)
		c.operationRow(o)
		if o.busy != 0 {
			busy++
		}
		for _, b := range m.behaviorsOf(o.operation) {
			if held[b] == nil {
				held[b] = map[string]int64{}
			}
			held[b][o.operation.Version]++
		}
		if !o.operation.Final() {
			running.Enter(o.operation.terms(), o.operation.CreatedRev, o)
		}
	}
	err := x.running.Check(&running)
	c.expect(err == nil, "%v", err)
	c.expect(x.busy.Len() == busy, "%d operations with work, recounted %d", x.busy.Len(), busy)
	err = x.busy.Check()
	c.expect(err == nil, "busy: %v", err)
	c.expect(len(x.ordered) == len(m.operations) && table.InOrder(x.ordered, createdRev), "order of operations")
	spaced := 0
	for ns, rows := range x.spaces { // order-free: any violation will do
		spaced += len(rows)
		c.expect(len(rows) > 0 && table.InOrder(rows, createdRev), "order of the operations of %s", ns)
		for _, o := range rows {
			c.expect(o.operation.Namespace == ns && m.operations[o.operation.Key()] == o, "%s: among the operations of %s", o.operation.ID, ns)
		}
	}
	c.expect(spaced == len(m.operations), "operations by namespace")
	for _, b := range m.byName {
		c.expect(len(b.held) == len(held[b]), "%s: versions that operations hold", b.name)
		for v, n := range held[b] { // order-free: any violation will do
			c.expect(b.held[v] == n && m.version(b, v) != nil, "B2: %s: %d operations hold version %q, recounted %d", b.name, b.held[v], v, n)
		}
	}
}

func (c *checker) operationRow(o *operationRow) {
	m, x, n := c.m, o.operation, c.operation(o)
	wrong := x.wrong()
	c.expect(wrong == "", "operation %s: %s", x.ID, wrong)
	c.expect(m.NamespaceExists(x.Namespace) && x.CreatedRev > 0 && x.Rev >= x.CreatedRev && x.Rev <= m.rev && x.RetryRev <= m.rev, "operation %s: revs", x.ID)
	c.expect(o.counts == n.counts && o.tasks == n.tasks && o.running == n.running,
		"operation %s: %d tasks %+v, recounted %d %+v", x.ID, o.tasks, o.counts, n.tasks, n.counts)
	c.Line(x.ID, &o.finals)
	for _, h := range [...]*heap[*row]{&o.open, &o.failed, &o.cleanups} {
		c.Heap(x.ID, h)
	}
	c.expect((o.busy != 0) == m.hasWork(o), "O1: operation %s: has work, and nobody knows, or the other way round", x.ID)
	last := m.instances.Get(instanceName{x.Namespace, x.Behavior, x.Target})
	c.expect(last != nil && last.Last >= x.Instance, "O2: operation %s: instance %d", x.ID, x.Instance)
	if x.Removing || m.purging(x.Namespace) {
		return
	}
	c.expect(!o.settled(), "O3: operation %s: all partitions are final, and it does not complete", x.ID)
	if partitions := n.counts.all(); partitions == x.Made {
		c.expect(x.Status == OperationRunning || n.counts.Success+n.counts.Failure == x.Partitions, "O3: operation %s is %s before its partitions are final", x.ID, x.Status)
		c.expect(x.Status != OperationSuccess || n.counts.Failure == 0, "O3: operation %s is a success although a partition failed", x.ID)
	} else {
		c.expect(partitions < x.Made, "O1: operation %s: %d partitions, %d made", x.ID, partitions, x.Made)
	}
	completion := m.find(x.completionKey())
	c.expect((x.Status == OperationCompleting) == (completion != nil && !m.task(completion).Final()) || c.imported(o),
		"O3: operation %s is %s, and its completion is not", x.ID, x.Status)
}

// imported reports whether tasks of o are still to be imported: some of the tasks that were made are not there.
func (c *checker) imported(o *operationRow) bool {
	n, x := c.operation(o).counts, o.operation
	return n.all() < x.Made || x.Status == OperationCompleting && c.m.find(x.completionKey()) == nil
}

// bound verifies the cleanups that wait in a session.
func (c *checker) bound(s *sessionRow) {
	c.expect(!s.ending, "session %d is ending", s.session.ID)
	c.expect(int64(s.cleanups.Len()) <= c.m.limits.Cleanups, "O3: session %d: %d cleanups", s.session.ID, s.cleanups.Len())
	for _, h := range [...]*heap[*row]{&s.cleanups, &s.due} {
		c.Heap("cleanups of "+s.session.Worker, h)
	}
}

// instances verifies the last instance number of each target.
func (c *checker) instances() {
	m := c.m
	err := m.instances.Check()
	c.expect(err == nil, "O2: instances: %v", err)
	for _, x := range m.instances.Rows {
		c.sum += hashInstance(x)
		c.expect(x.Last > 0 && x.Rev <= m.rev && m.NamespaceExists(x.Namespace), "O2: instance %v", x.name())
	}
}
