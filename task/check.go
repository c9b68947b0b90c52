package task

import (
	"errors"
	"fmt"
	"slices"

	"github.com/taskrt/taskrt/task/queue"
)

// check verifies SPEC T2 and what else is true of every record by itself.
func (t *Task) check() error {
	wrong := func(what string) error { return fmt.Errorf("task %s/%s (%s): %s", t.Namespace, t.ID, t.Status, what) }
	outcome := t.Result.Encoding != None || t.Error != nil
	switch {
	case t.Status < Created || t.Status > Failure:
		return wrong("unknown status")
	case t.Status == Created && (t.NotBefore == 0 || outcome || t.Lease != nil):
		return wrong("T2: CREATED has not_before and no result, error or lease")
	case t.Status == Running && (t.StartedAt == 0 || t.Lease == nil || outcome || t.NotBefore != 0):
		return wrong("T2: RUNNING has started_at and a lease, no result, error or not_before")
	case t.Status == Success && (t.Error != nil || t.Lease != nil):
		return wrong("T2: SUCCESS has no error and no lease")
	case t.Status == Failure && (t.Error == nil || t.Lease != nil || t.Result.Encoding != None):
		return wrong("T2: FAILURE has an error, no result and no lease")
	case t.NotBefore < 0 || t.Deadline < 0 || t.Resubmit < 0:
		return wrong("negative time")
	case t.DueSince != 0 && (t.NotBefore == 0 || t.DueSince <= t.NotBefore):
		return wrong("T4: due since a time that is not after its not_before")
	case t.Excess && (!t.Final() || t.Role != RoleNone):
		return wrong("T9: only what is final, and of no operation, can be too many")
	case t.Suspect && t.Bound != 0:
		return wrong("L5: a cleanup runs where it is bound to, and nowhere alone")
	case t.Status != Running && (t.Resubmit != 0 || t.CancelCode != ""):
		return wrong("I3, L8: only a running task has a resubmit flag or is being cancelled")
	case t.CancelCode != "" && t.Resubmit != 0:
		return wrong("L8: a cancel clears the resubmit flag")
	case t.CancelCode != "" && t.CancelCode != CodeCancelled && t.CancelCode != CodeDeadlineExceeded:
		return wrong("unknown cancel code")
	case t.Lease != nil && !t.Lease.valid():
		return wrong("L2: a lease is a session's or an external one")
	case t.Lease != nil && t.Lease.GraceEnd != 0 && t.CancelCode == "":
		return wrong("L8: only a cancelled run has a grace")
	case t.Status == Running && t.Version == "":
		return wrong("B2: RUNNING is pinned to a version")
	case t.Status == Running && t.Ended != nil:
		return wrong("L3: a lease clears the memory of the former one")
	case len(t.History) > MaxHistory:
		return wrong("history too long")
	case slices.ContainsFunc(t.History, func(a Attempt) bool { _, why := used{Fuel: a.Fuel, Pages: a.Pages}.Wrong(false); return why != "" }):
		return wrong("an attempt's fuel is 0 to 2^53, its memory 0 to 2^37 pages")
	case t.CreatedRev == 0 || t.Rev < t.CreatedRev:
		return wrong("rev before created rev")
	case t.Attempt < 0 || t.Failures < 0 || t.LostCount < 0 || t.Failures > t.Attempt || t.LostCount > t.Attempt:
		return wrong("T8: counts")
	case t.Priority < 0 || t.Priority > 9:
		return wrong("priority")
	case t.Role > RoleCleanup || (t.Role == RoleCleanup) != (t.Bound != 0):
		return wrong("O3: cleanups and nothing else are bound to a session")
	case t.Role != RoleNone && (t.Version == "" || t.Resubmit != 0 || t.Deadline != 0 || t.Lease != nil && t.Lease.External()):
		return wrong("O1: a task of an operation is pinned, and has no deadline")
	}
	return nil
}

// valid reports whether the fields fit the kind of the lease (SPEC L2).
func (l *Lease) valid() bool {
	if l.External() {
		return l.Seq == 0 && l.Node == "" && l.Worker != "" && l.TTL > 0
	}
	return l.TTL == 0 && l.Expires == 0 && l.Request == "" && l.GraceEnd == 0
}

// checker compares what the machine holds with a recount.
type checker struct {
	*queue.Recount

	m      *Machine
	errs   []error
	sum    uint64
	counts Counts
	pins   map[*behaviorRow]map[string]int64
	leases map[uint64]int
	tokens map[uint64]bool

	behavior  map[*behaviorRow]*recount
	isolating int64
	acceptors map[string]int64
	requests  int

	spaces map[string]*namespaceRow        // recounted: usage and finals
	fanout map[*operationRow]*operationRow // recounted: counts, tasks, running
}

func (c *checker) expect(ok bool, format string, args ...any) {
	if !ok && len(c.errs) < 20 {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

// Check verifies every invariant: SPEC T2 for each record, the sum of the digest, and every derived structure against a recount. O(n).
func (m *Machine) Check() error {
	c := checker{
		m: m, pins: map[*behaviorRow]map[string]int64{},
		leases: map[uint64]int{}, tokens: map[uint64]bool{},
		behavior: map[*behaviorRow]*recount{}, acceptors: map[string]int64{}, spaces: map[string]*namespaceRow{},
		fanout: map[*operationRow]*operationRow{},
	}
	c.Recount = m.board.Recount(c.expect)
	for r := range m.store.From(0) {
		c.task(r)
	}
	c.behaviors()
	c.sessions()
	c.external()
	c.expect(m.roster.Sum() == m.roster.Recount(), "the sum of the roster is wrong")
	c.records()
	c.namespaces()
	c.operations()
	c.instances()
	c.blobs()
	c.maintenance()
	err := errors.Join(m.store.Check(), m.expiries.Check(), m.answers.Check(keptForm{&Machine{}}, int64(m.leaseNow)), m.access.Check(m.rev), m.audit.Check(m.index), m.jobs.Check(m.index, m.rev))
	c.expect(err == nil, "%v", err)
	c.Heap("deadlines", &m.deadlines)
	c.expect(c.counts == m.counts, "counts %+v, recounted %+v", m.counts, c.counts)
	c.expect(c.sum == m.sum, "the sum over the machine's own records is %x, recounted %x", m.sum, c.sum)
	return errors.Join(c.errs...)
}

func (c *checker) task(r *row) {
	m := c.m
	t := m.task(r)
	if err := t.check(); err != nil {
		c.expect(false, "%w", err)
		return
	}
	c.sum += hashTask(t)
	*c.counts.of(t)++
	if m.find(t.Key()) != r {
		c.expect(false, "%s/%s: the page and the index disagree", t.Namespace, t.ID)
		return
	}
	c.expect(r.Priority == t.Priority, "%s: priority", t.ID)
	c.expect(t.Rev <= m.rev, "%s: rev %d after %d", t.ID, t.Rev, m.rev)
	c.expect(m.of(r) == m.behaviors[behaviorName{t.Namespace, t.Behavior}], "%s: behavior row", t.ID)
	if deadline := m.store.Rows.Look(r).Deadline; awaitsDeadline(t) {
		c.At(&m.deadlines, deadline, r, int64(t.Deadline), t.CreatedRev, "%s: place among the deadlines", t.ID)
	} else {
		c.expect(deadline == 0, "%s: among the deadlines", t.ID)
	}
	if t.Version != "" {
		if c.pins[m.of(r)] == nil {
			c.pins[m.of(r)] = map[string]int64{}
		}
		c.pins[m.of(r)][t.Version]++
	}
	c.usage(t)
	c.part(r)
	c.queue(r)
	if t.Lease != nil {
		c.lease(r)
	}
}

func (c *checker) behaviors() {
	m := c.m
	c.expect(len(m.byName) == len(m.behaviors), "behaviors by name")
	for i, b := range m.byName {
		c.expect(m.behaviors[b.behaviorName] == b, "behavior %s", b.name)
		c.expect(i == 0 || m.byName[i-1].namespace < b.namespace ||
			m.byName[i-1].namespace == b.namespace && m.byName[i-1].name < b.name, "order of behaviors")
		c.expect(len(b.pins) == len(c.pins[b]), "%s: pins", b.name)
		for v, n := range c.pins[b] { // order-free: any violation will do
			c.expect(b.pins[v] == n && m.version(b, v) != nil, "B2: %s: %d tasks pinned to version %q, recounted %d", b.name, b.pins[v], v, n)
		}
		c.queues(b)
		if b.behavior == nil {
			continue
		}
		c.sum += hashBehavior(b.behavior)
		if b.live() != nil {
			c.counts.Behaviors++
		}
		v, ok := b.behavior.Find("")
		c.expect(ok == !b.behavior.Deleted && (!ok || (v.Module == "") == b.behavior.External), "B2, B7: %s: the active version", b.name)
		c.expect(!b.behavior.Deleted || b.behavior.Active == "" && !b.behavior.Paused, "B8: %s is half deleted", b.name)
		c.expect(!b.behavior.Deleted || b.needed(), "B8: %s is deleted, and nothing of it is left", b.name)
		c.expect(b.behavior.Deleted || !b.behavior.Purge, "B8: %s is purged but not deleted", b.name)
		for i := range b.behavior.Versions {
			module := b.behavior.Versions[i].Module
			c.expect(module == "" || Native(module) || m.modules[module] != nil, "%s: a version's module is not there", b.name)
		}
	}
	for _, x := range m.modules { // order-free: the sum commutes
		c.sum += hashModule(x)
		c.counts.Modules++
	}
	c.Done()
}

func (c *checker) sessions() {
	m := c.m
	c.expect(len(m.workers) == len(m.sessions) && m.expiries.Len() == len(m.sessions), "sessions")
	for id, s := range m.sessions { // order-free: any violation will do
		c.sum += hashSession(s.session)
		c.counts.Sessions++
		if m.isolates(s.session) {
			c.isolating++
		}
		c.expect(s.session.ID == id && m.workers[s.session.Worker] == s && id <= m.sessionID, "session %d", id)
		c.expect(len(s.leases) == c.leases[id] && int64(len(s.leases)) <= max(s.session.Slots, 0),
			"session %d: %d leases, recounted %d, %d slots", id, len(s.leases), c.leases[id], s.session.Slots)
		c.expect(s.session.Acked <= s.session.Seq, "session %d: acked", id)
		for i, h := range s.leases {
			l := m.task(h.row).Lease
			c.expect(l != nil && l.Session == id && l.Seq == h.seq && (i == 0 || s.leases[i-1].seq < l.Seq), "session %d: lease %d", id, i)
		}
		c.bound(s)
		n := m.expiries.At(s.expiry)
		c.expect(n != nil && n.Item == s && n.Key == int64(s.session.Expires), "session %d: expiry", id)
	}
	c.expect(m.isolating == c.isolating, "L5: %d sessions isolate, recounted %d", m.isolating, c.isolating)
}
