package task

import (
	"cmp"
	"slices"
)

// queue verifies that a task is in the one queue where its record says that it belongs, and in no other.
func (c *checker) queue(r *row) {
	m := c.m
	t, b := m.task(r), m.of(r)
	want := inDue
	switch {
	case t.Status == Running:
		want = inRuns
		c.at(&m.overruns, r.pos, r, int64(m.overrunAt(r)), t.Lease.Token, "%s: position or order among the runs", t.ID)
	case t.Final():
		want = inFinals
		c.expect(r.at == int64(t.FinishedAt), "%s: when it finished", t.ID)
		if m.part(t) == nil {
			c.in(m.finalQueue(t, b), r, "%s: position among the final tasks", t.ID)
		}
	case t.NotBefore <= m.now:
		c.expect(r.at == int64(t.dueSince()), "%s: when it was due", t.ID)
		c.in(&b.due, r, "%s: position among the due tasks", t.ID)
	default:
		want = inFuture
		c.at(&b.future, r.pos, r, int64(t.NotBefore), t.CreatedRev, "%s: position or order among the later tasks", t.ID)
	}
	c.expect(r.queue == want, "%s: wrong queue", t.ID)
	c.expect((r.inLane || r.place != 0) == (want == inDue), "%s: in a lane, but not due", t.ID)
	if want == inDue {
		c.due(r)
	}
	if want == inFuture && t.Status == Failure {
		c.of(b).retrying++
	}
	c.of(b).tasks++
	if t.Status == Running {
		c.of(b).running++
	}
	key := m.store.rows.look(r).key
	if a := b.allowance(); a.keyed(t) && (t.Status == Running || want == inDue || a.holds(t)) {
		c.expect(key != nil && b.keys[t.ConcurrencyKey] == key, "L11: %s: key", t.ID)
		c.of(b).keys[t.ConcurrencyKey] = append(c.of(b).keys[t.ConcurrencyKey], r)
	} else {
		c.expect(key == nil, "L11: %s: a key without a limit", t.ID)
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
	n := h.At(pos)
	c.expect(n != nil && n.Item == r && n.Key == key && n.Tie == tie, format, args...)
	c.queued[h]++
}

// due verifies where a due task waits: in the lane of its version, or behind its key.
func (c *checker) due(r *row) {
	m := c.m
	t, b, e := m.task(r), m.of(r), m.store.rows.look(r)
	if t.Bound != 0 {
		if s := c.m.sessions[t.Bound]; s != nil {
			c.at(&s.due, r.place, r, order(t), t.CreatedRev, "O3: %s: place among the due cleanups of its session", t.ID)
		}
		c.expect(!r.inLane, "O3: %s: anybody may take it", t.ID)
		return
	}
	keyed := b.limits.keyed(t)
	if !r.inLane {
		if !keyed || e.key == nil {
			c.expect(false, "%s: no lane", t.ID)
			return
		}
		team := e.key.team(b.limits.holds(t))
		c.at(&team.waiting, r.place, r, order(t), t.CreatedRev, "L11: %s: place behind its key", t.ID)
		return
	}
	l := b.lanes[laneOf(t)]
	if l == nil {
		c.expect(false, "%s: its lane is not there", t.ID)
		return
	}
	c.in(&l.queue, r, "%s: place in its lane", t.ID)
	if keyed && e.key != nil {
		team := e.key.team(b.limits.holds(t))
		c.at(&team.promoted, e.side, r, -order(t), ^t.CreatedRev, "L11: %s: place among the promoted", t.ID)
	}
}

// queues verifies what a behavior's tasks add up to.
func (c *checker) queues(b *behaviorRow) {
	n := c.of(b)
	c.expect(b.limits == b.allowance(), "L11: %s: limits %+v, should be %+v", b.name, b.limits, b.allowance())
	c.expect(b.tasks == n.tasks && b.running == n.running && b.retrying == n.retrying, "%s: tasks, running or retrying ones", b.name)
	c.expect(b.future.Len() == c.queued[&b.future], "%s: %d later tasks, recounted %d", b.name, b.future.Len(), c.queued[&b.future])
	checkHeap(c, b.name, &b.future)
	for _, l := range [...]*line{&b.due, &b.success, &b.failure, &b.excess} {
		c.line(b.name, l)
	}
	head := b.future.Head()
	c.expect((b.ahead != 0) == (head != nil), "%s: next task", b.name)
	if b.ahead != 0 && head != nil {
		n := c.m.futures.At(b.ahead)
		c.expect(n != nil && n.Item == b && n.Key == head.Key && n.Tie == head.Tie, "%s: time of the next task", b.name)
		c.ahead++
	}
	for v, l := range b.lanes { // order-free: any violation will do
		c.expect(l.laneName == v && l.behavior == b && l.queue.t4, "%s: lane %v", b.name, v)
		c.line("lane", &l.queue)
		if l.queue.len() > 0 {
			c.lanes++
			if l.suspects {
				c.suspects++
			}
			c.expect(l.index < len(c.m.lanes) && c.m.lanes[l.index] == l, "%s: lane %v is not listed", b.name, v)
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
	m := c.m
	slices.SortFunc(rows, func(x, y *row) int {
		return cmp.Or(cmp.Compare(order(m.task(x)), order(m.task(y))), cmp.Compare(m.task(x).CreatedRev, m.task(y).CreatedRev))
	})
	running, held := int64(0), int64(0)
	for _, r := range rows {
		if m.task(r).Status == Running {
			running++
		} else if b.limits.holds(m.task(r)) {
			held++
		}
	}
	c.expect(k.running == running && k.held == held, "L11: %s: key %q: %d running, %d held", b.name, k.name, running, held)
	free := max(b.limits.perKey-running, 0)
	left := map[bool]int64{true: free, false: max(free-held, 0)}
	for _, r := range rows {
		if r.queue != inDue {
			continue
		}
		holds := b.limits.holds(m.task(r))
		c.expect(r.inLane == (left[holds] > 0), "L11: %s: key %q: %s is wrongly in a lane, or not", b.name, k.name, m.task(r).ID)
		left[holds]--
	}
	for _, t := range [...]*team{&k.holders, &k.others} {
		c.expect(t.waiting.Len() == c.queued[&t.waiting] && t.promoted.Len() == c.queued[&t.promoted], "L11: key %q: teams", k.name)
		checkHeap(c, "waiting", &t.waiting)
		checkHeap(c, "promoted", &t.promoted)
	}
}

// lease verifies a running task's lease and what is derived for who holds it.
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
	c.at(&m.losses, m.store.rows.look(r).side, r, int64(m.LeaseEnd(t)), l.Token, "L4: %s: end of its lease", t.ID)
	c.acceptors[l.Worker]++
	if l.Request != "" {
		c.requests++
		c.expect(slices.Contains(m.LeasesOf(t.Namespace, t.Behavior, l.Worker, l.Request), t), "J2: %s: request", t.ID)
	}
}

// external verifies the sums over all external leases.
func (c *checker) external() {
	m := c.m
	c.expect(m.losses.Len() == c.queued[&m.losses], "%d external leases, recounted %d", m.losses.Len(), c.queued[&m.losses])
	c.expect(m.overruns.Len() == c.queued[&m.overruns], "%d overruns, recounted %d", m.overruns.Len(), c.queued[&m.overruns])
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
	checkHeap(c, "losses", &m.losses)
	checkHeap(c, "overruns", &m.overruns)
	c.expect(m.futures.Len() == c.ahead, "%d behaviors with later tasks, recounted %d", m.futures.Len(), c.ahead)
	checkHeap(c, "futures", &m.futures)
}
