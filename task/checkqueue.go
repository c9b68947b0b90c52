package task

import (
	"cmp"
	"slices"

	"github.com/taskrt/taskrt/task/queue"
)

// queue verifies that a task is in the one queue where its record says that it belongs, and in no other.
func (c *checker) queue(r *row) {
	m := c.m
	t, b := m.task(r), m.of(r)
	x := facts(t)
	n := c.of(b)
	n.tasks++
	switch {
	case t.Status == Running:
		n.running++
		c.Row(&b.Queues, r, x, queue.Runs, 0, t.ID)
		c.At(&m.overruns, r.Pos, r, int64(m.overrunAt(r)), t.Lease.Token, "%s: position or order among the runs", t.ID)
	case t.Final():
		c.Row(&b.Queues, r, x, queue.Final, int64(t.FinishedAt), t.ID)
		if m.part(t) == nil {
			c.In(m.finalQueue(t, b), r, "%s: position among the final tasks", t.ID)
		}
	case t.NotBefore > m.now:
		c.Row(&b.Queues, r, x, queue.Future, int64(t.NotBefore), t.ID)
	default:
		c.Row(&b.Queues, r, x, queue.Due, int64(t.dueSince()), t.ID)
		if s := m.sessions[t.Bound]; s != nil {
			c.At(&s.due, r.Place, r, r.Order(), t.CreatedRev, "O3: %s: place among the due cleanups of its session", t.ID)
		}
	}
}

// recount is what a walk over the tasks finds for one behavior.
type recount struct{ tasks, running int64 }

func (c *checker) of(b *behaviorRow) *recount {
	n := c.behavior[b]
	if n == nil {
		n = &recount{}
		c.behavior[b] = n
	}
	return n
}

// queues verifies what a behavior's tasks add up to.
func (c *checker) queues(b *behaviorRow) {
	n := c.of(b)
	c.expect(b.limits == b.allowance(), "L11: %s: limits %+v, should be %+v", b.name, b.limits, b.allowance())
	c.expect(b.tasks == n.tasks && b.running == n.running, "%s: tasks or running ones", b.name)
	c.Queues(b.name, &b.Queues, b.limits.Limits)
}

// lease verifies a running task's lease and what is derived for its holder.
func (c *checker) lease(r *row) {
	m := c.m
	t := m.task(r)
	l := t.Lease
	c.expect(!c.tokens[l.Token] && l.Token <= m.token, "%s: token %d", t.ID, l.Token)
	c.tokens[l.Token] = true
	c.expect(l.Given <= m.leaseNow, "L7: %s: its lease was given in the future", t.ID)
	if !l.External() {
		s := m.sessions[l.Session]
		c.expect(s != nil && s.session.Worker == l.Worker && s.session.Node == l.Node && l.Seq <= s.session.Seq,
			"%s: lease of session %d", t.ID, l.Session)
		c.leases[l.Session]++
		return
	}
	c.At(&m.losses, m.store.Rows.Look(r).Side, r, int64(m.LeaseEnd(t)), l.Token, "L4: %s: end of its lease", t.ID)
	c.acceptors[l.Worker]++
	if l.Request != "" {
		c.requests++
		c.expect(slices.Contains(m.LeasesOf(t.Namespace, t.Behavior, l.Worker, l.Request), t), "J2: %s: request", t.ID)
	}
}

// external verifies the sums over all external leases.
func (c *checker) external() {
	m := c.m
	c.Heap("external leases", &m.losses)
	c.Heap("overruns", &m.overruns)
	c.expect(len(m.acceptors) == len(c.acceptors), "external workers")
	for w, n := range c.acceptors { // order-free: any violation will do
		c.expect(m.acceptors[w] == n, "worker %s: %d external leases, recounted %d", w, m.acceptors[w], n)
	}
	requests := 0
	for name, rows := range m.accepts { // order-free: any violation will do
		c.expect(len(rows) > 0, "J2: request %v without a lease", name)
		c.expect(slices.IsSortedFunc(rows, func(a, b *row) int { return cmp.Compare(m.task(a).Lease.Token, m.task(b).Lease.Token) }),
			"J2: order of request %v", name)
		requests += len(rows)
	}
	c.expect(requests == c.requests, "J2: %d leases by request, recounted %d", requests, c.requests)
}
