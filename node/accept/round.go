package accept

import (
	"slices"

	"github.com/taskrt/taskrt/task"
)

// Free appends to free the waiters that could be assigned a task now, at most limit for each behavior, longest wait
// first. Behaviors without a task cost nothing.
func (t *Table) Free(m *task.Machine, free []task.Free, limit int) []task.Free {
	t.round = map[*task.Acceptor]*waiter{}
	order := uint64(0)
	for n, q := range t.queues { // order-free: nobody competes with those of another behavior
		s := m.BehaviorStats(n.namespace, n.behavior)
		due, early := s.Due > 0, s.Delayed+s.Retrying > 0
		if !due && !early {
			continue
		}
		left := limit
		for _, w := range q {
			if !due && w.want.MaxNotBefore == 0 {
				continue
			}
			if left--; left < 0 {
				break
			}
			order++
			free = append(free, task.Free{
				Slots: w.max, External: &w.want, Namespace: n.namespace, Behavior: n.behavior, Order: order,
			})
			t.round[&w.want] = w
		}
	}
	return free
}

// Of returns the acceptors that wait for tasks of one behavior, as Free does, and leaves the round as it is.
func (t *Table) Of(namespace, behavior string) []task.Free {
	var all []task.Free
	for i, w := range t.queues[name{namespace, behavior}] {
		all = append(all, task.Free{Slots: w.max, External: &w.want, Namespace: namespace, Behavior: behavior, Order: uint64(i)})
	}
	return all
}

// Planned notes what Plan made of the round. It answers with nothing the calls that wait no longer and get nothing.
// full means that Plan stopped at its own bound. A waiter that was not offered to Plan, or that Plan did not reach, has
// its turn in the next round, after these assignments.
func (t *Table) Planned(assigns []task.Assign, full bool) {
	served := map[name]bool{}
	for i := range assigns {
		if w := t.round[assigns[i].External]; w != nil {
			w.flying = true
			served[w.name()] = true
		}
	}
	for w := range t.settling { // order-free: each gets an answer of its own
		offered := t.round[&w.want] != nil
		if !w.flying && !full && (offered || !served[w.name()]) {
			t.settle(w)
		}
	}
}

// settle answers with nothing those calls of a waiter that wait no longer.
func (t *Table) settle(w *waiter) {
	delete(t.settling, w)
	w.calls = slices.DeleteFunc(w.calls, func(c waiting) bool {
		if c.settle {
			delete(t.calls, c.call)
			c.to.Reply(Answer{Call: c.call})
		}
		return c.settle
	})
	if len(w.calls) == 0 {
		t.remove(w)
	}
}

// Landed hands out what was assigned. It returns the leases that nobody waits for any longer.
func (t *Table) Landed(m *task.Machine, clock Clock, assigns []task.Assign, results []task.Result) []Back {
	given := map[*waiter][]*task.Task{}
	for i := range results {
		w := t.round[assigns[i].External]
		if w != nil && results[i].Code == task.OK && results[i].Task != nil {
			given[w] = append(given[w], results[i].Task)
		}
	}
	var back []Back
	for _, w := range t.round { // order-free: each gets an answer of its own
		if !w.flying {
			continue
		}
		w.flying = false
		ts, left := given[w], w.left
		w.left = nil
		switch {
		case len(ts) == 0:
			leave(left)
			if len(w.calls) == 0 {
				t.remove(w)
			}
			continue // refused: the waiter waits on
		case len(w.calls) > 0:
			for _, c := range w.calls {
				c.to.Reply(granted(m, clock.Lease, c.call, ts))
			}
			leave(left)
		case len(left) > 0:
			back = append(back, t.giveBack(w.key, ts, left))
		default: // its link has ended: its node asks again or abandons it, under this leader or the next
		}
		t.remove(w)
	}
	t.round = nil
	return back
}

// Lost forgets everything, because nobody knows what became of the round's assignments. It closes all links: the nodes
// ask again, and find in the machine what was committed.
func (t *Table) Lost() {
	ends := map[Replier]struct{}{}
	for _, w := range t.waiters {
		for _, c := range append(w.calls, w.left...) {
			ends[c.to] = struct{}{}
		}
	}
	for _, ps := range t.backs {
		for _, p := range ps {
			ends[p.to] = struct{}{}
		}
	}
	repeats := t.repeats
	*t = *NewTable()
	t.repeats = repeats
	for to := range ends { // order-free
		to.Close()
	}
}

func leave(left []waiting) {
	for _, c := range left {
		c.to.Reply(Answer{Call: c.call, Abandoned: true})
	}
}

// granted makes the answer to a call: its leases, each with the time that is left by the leader's lease clock.
func granted(m *task.Machine, now task.LeaseTime, call uint64, ts []*task.Task) Answer {
	a := Answer{Call: call, Index: m.Index()}
	for _, x := range ts {
		a.Grants = append(a.Grants, Grant{ID: x.ID, Token: x.Lease.Token, Left: max(0, int64(m.LeaseEnd(x)-now))})
	}
	return a
}

// repeats remembers the last call of each accept that a client asked for more than once. So an answer that could not be
// delivered to an earlier call takes nothing away from the last one. It keeps the latest maxRepeats accepts. The leases
// of an accept that it has forgotten are given back, and the worker that has them gets a halt.
type repeats struct {
	calls map[Key]uint64
	order []Key
}

const maxRepeats = 10_000

func (r *repeats) note(k Key, call uint64) {
	if r.calls == nil {
		r.calls = map[Key]uint64{}
	}
	if _, known := r.calls[k]; !known {
		if len(r.order) >= maxRepeats {
			delete(r.calls, r.order[0])
			r.order = r.order[1:]
		}
		r.order = append(r.order, k)
	}
	r.calls[k] = call
}

func (r *repeats) last(k Key) (uint64, bool) {
	call, ok := r.calls[k]
	return call, ok
}
