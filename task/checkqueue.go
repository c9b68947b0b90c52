package task

import (
	"cmp"
	"slices"
)

// queue verifies that a task is in the one queue where its record says that it belongs, and in no other.
func (c *checker) queue(r *row) {
	t, b, m := r.task, r.behavior, c.m
	want, key, tie := &b.future, int64(t.NotBefore), t.CreatedRev
	switch {
	case t.Status == Running:
		want, key, tie = &m.overruns, int64(m.overrunAt(r)), t.Lease.Token
	case t.Final():
		want, key = &heap[*row]{}, int64(t.FinishedAt)
		if m.part(t) == nil {
			want = m.finalQueue(t, b)
		}
	case t.NotBefore <= m.now:
		want = &b.due
	}
	c.expect(r.queue == want, "%s: wrong queue", t.ID)
	c.at(want, r.pos, r, key, tie, "%s: position or order in its queue", t.ID)
	c.expect((r.lane != nil || r.place != 0) == (want == &b.due), "%s: in a lane, but not due", t.ID)
	if want == &b.due {
		c.due(r)
	}
	if want == &b.future && t.Status == Failure {
		c.of(b).retrying++
	}
	c.of(b).tasks++
	if t.Status == Running {
		c.of(b).running++
	}
	if a := b.allowance(); a.keyed(t) && (t.Status == Running || want == &b.due || a.holds(t)) {
		c.expect(r.key != nil && b.keys[t.ConcurrencyKey] == r.key, "L11: %s: key", t.ID)
		c.of(b).keys[t.ConcurrencyKey] = append(c.of(b).keys[t.ConcurrencyKey], r)
	} else {
		c.expect(r.key == nil, "L11: %s: a key without a limit", t.ID)
	}
}

// recount is what a walk over the tasks finds for one behavior.
type recount struct {
	tasks, running, retrying int64
	keys                     map[string][]*row // rows that count in a key
}

func (c *checker) of(b *behaviorRow) *recount {
	n := c.behavior[b]
	if n == nil {
		n = &recount{keys: map[string][]*row{}}
		c.behavior[b] = n
	}
	return n
}

// at verifies that a heap holds r at pos under that order.
func (c *checker) at(h *heap[*row], pos heapPos, r *row, key int64, tie uint64, format string, args ...any) {
	i := int(pos) - 1
	c.expect(i >= 0 && i < h.len() && h.nodes[i].item == r && h.nodes[i].key == key && h.nodes[i].tie == tie, format, args...)
	c.queued[h]++
}

// due verifies where a due task waits: in the lane of its version, or behind its key.
func (c *checker) due(r *row) {
	t, b := r.task, r.behavior
	if t.Bound != 0 {
		if s := c.m.sessions[t.Bound]; s != nil {
			c.at(&s.due, r.place, r, order(t), t.CreatedRev, "O3: %s: place among the due cleanups of its session", t.ID)
		}
		c.expect(r.lane == nil, "O3: %s: anybody may take it", t.ID)
		return
	}
	keyed := b.limits.keyed(t)
	if r.lane == nil {
		if !keyed || r.key == nil {
			c.expect(false, "%s: no lane", t.ID)
			return
		}
		team := r.key.team(b.limits.holds(t))
		c.at(&team.waiting, r.place, r, order(t), t.CreatedRev, "L11: %s: place behind its key", t.ID)
		return
	}
	c.expect(r.lane == b.lanes[t.Version], "%s: wrong lane", t.ID)
	c.at(&r.lane.queue, r.place, r, order(t), t.CreatedRev, "%s: place in its lane", t.ID)
	if keyed && r.key != nil {
		team := r.key.team(b.limits.holds(t))
		c.at(&team.promoted, r.side, r, -order(t), ^t.CreatedRev, "L11: %s: place among the promoted", t.ID)
	}
}

// queues verifies what a behavior's tasks add up to.
func (c *checker) queues(b *behaviorRow) {
	n := c.of(b)
	c.expect(b.limits == b.allowance(), "L11: %s: limits %+v, should be %+v", b.name, b.limits, b.allowance())
	c.expect(b.tasks == n.tasks && b.running == n.running && b.retrying == n.retrying, "%s: tasks, running or retrying ones", b.name)
	for _, h := range [...]*heap[*row]{&b.future, &b.due, &b.success, &b.failure} {
		c.expect(h.len() == c.queued[h], "%s: %d queued, recounted %d", b.name, h.len(), c.queued[h])
		checkHeap(c, b.name, h)
	}
	head := b.future.head()
	c.expect((b.ahead != 0) == (head != nil), "%s: next task", b.name)
	if i := int(b.ahead) - 1; i >= 0 && head != nil {
		c.expect(i < c.m.futures.len() && c.m.futures.nodes[i].item == b && c.m.futures.nodes[i].key == head.key &&
			c.m.futures.nodes[i].tie == head.tie, "%s: time of the next task", b.name)
		c.ahead++
	}
	for v, l := range b.lanes { // order-free: any violation will do
		c.expect(l.version == v && l.behavior == b && l.queue.len() == c.queued[&l.queue], "%s: lane %q", b.name, v)
		checkHeap(c, "lane", &l.queue)
		if l.queue.len() > 0 {
			c.lanes++
			c.expect(l.index < len(c.m.lanes) && c.m.lanes[l.index] == l, "%s: lane %q is not listed", b.name, v)
		}
	}
	c.expect(len(b.keys) == len(n.keys), "L11: %s: %d keys, recounted %d", b.name, len(b.keys), len(n.keys))
	for name, k := range b.keys { // order-free: any violation will do
		c.key(b, k, n.keys[name])
	}
}

// key verifies that of the due tasks of a key exactly those are in lanes that its slots are for: of those that hold a
// slot the first in T4 order, up to the slots that no running task has; of the others, up to those that nobody holds.
func (c *checker) key(b *behaviorRow, k *keyQueue, rows []*row) {
	slices.SortFunc(rows, func(x, y *row) int {
		return cmp.Or(cmp.Compare(order(x.task), order(y.task)), cmp.Compare(x.task.CreatedRev, y.task.CreatedRev))
	})
	running, held := int64(0), int64(0)
	for _, r := range rows {
		if r.task.Status == Running {
			running++
		} else if b.limits.holds(r.task) {
			held++
		}
	}
	c.expect(k.running == running && k.held == held, "L11: %s: key %q: %d running, %d held", b.name, k.name, running, held)
	free := max(b.limits.perKey-running, 0)
	left := map[bool]int64{true: free, false: max(free-held, 0)}
	for _, r := range rows {
		if r.queue != &b.due {
			continue
		}
		holds := b.limits.holds(r.task)
		c.expect((r.lane != nil) == (left[holds] > 0), "L11: %s: key %q: %s is wrongly in a lane, or not", b.name, k.name, r.task.ID)
		left[holds]--
	}
	for _, t := range [...]*team{&k.holders, &k.others} {
		c.expect(t.waiting.len() == c.queued[&t.waiting] && t.promoted.len() == c.queued[&t.promoted], "L11: key %q: teams", k.name)
		checkHeap(c, "waiting", &t.waiting)
		checkHeap(c, "promoted", &t.promoted)
	}
}

// lease verifies a running task's lease and what is derived for who holds it.
func (c *checker) lease(r *row) {
	m, t := c.m, r.task
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
	c.at(&m.losses, r.side, r, int64(m.LeaseEnd(t)), l.Token, "L4: %s: end of its lease", t.ID)
	c.acceptors[l.Worker]++
	if l.Request != "" {
		c.requests++
		c.expect(slices.Contains(m.LeasesOf(t.Namespace, t.Behavior, l.Worker, l.Request), t), "J2: %s: request", t.ID)
	}
}

// external verifies the sums over all external leases.
func (c *checker) external() {
	m := c.m
	c.expect(m.losses.len() == c.queued[&m.losses], "%d external leases, recounted %d", m.losses.len(), c.queued[&m.losses])
	c.expect(m.overruns.len() == c.queued[&m.overruns], "%d overruns, recounted %d", m.overruns.len(), c.queued[&m.overruns])
	c.expect(len(m.acceptors) == len(c.acceptors), "external workers")
	for w, n := range c.acceptors { // order-free: any violation will do
		c.expect(m.acceptors[w] == n, "worker %s: %d external leases, recounted %d", w, m.acceptors[w], n)
	}
	requests := 0
	for name, rows := range m.accepts { // order-free: any violation will do
		c.expect(len(rows) > 0, "J2: request %v without a lease", name)
		c.expect(slices.IsSortedFunc(rows, func(a, b *row) int { return cmp.Compare(a.task.Lease.Token, b.task.Lease.Token) }),
			"J2: order of request %v", name)
		requests += len(rows)
	}
	c.expect(requests == c.requests, "J2: %d leases by request, recounted %d", requests, c.requests)
	checkHeap(c, "losses", &m.losses)
	checkHeap(c, "overruns", &m.overruns)
	c.expect(m.futures.len() == c.ahead, "%d behaviors with later tasks, recounted %d", m.futures.len(), c.ahead)
	checkHeap(c, "futures", &m.futures)
}
