package task

import (
	"cmp"
	"slices"
)

// ring holds the acceptors of one behavior in a plan. The one that waits longest gets the next task and goes to the end,
// as long as it wants more: when tasks are fewer than wanted, everybody gets one before somebody gets two.
type ring struct {
	behavior *behaviorRow
	seats    []seat
}

type seat struct {
	acceptor *Acceptor
	slots    int64
	order    uint64
}

// addAcceptors takes up the acceptors whose behavior may start a task and has one waiting, and returns how many tasks
// each of them wants. Those of other behaviors cost one look.
func (p *planner) addAcceptors(free []Free) (wanted []int64) {
	var name behaviorName
	var b *behaviorRow // of that name: acceptors of one behavior often stand together
	for i := range free {
		f := &free[i]
		if f.External == nil || f.Slots <= 0 {
			continue
		}
		if n := (behaviorName{f.Namespace, f.Behavior}); n != name {
			name, b = n, p.m.behaviors[n]
		}
		if b == nil || !b.mayStart() || b.Due.Len()+b.Future.Len() == 0 {
			continue
		}
		r := p.ringOf[b]
		if r == nil {
			if p.ringOf == nil {
				p.ringOf = map[*behaviorRow]*ring{}
			}
			r = &ring{behavior: b}
			p.ringOf[b] = r
			p.rings = append(p.rings, r)
		}
		r.seats = append(r.seats, seat{f.External, int64(f.Slots), f.Order})
		wanted = append(wanted, int64(f.Slots))
	}
	for _, r := range p.rings {
		slices.SortFunc(r.seats, func(a, b seat) int { return cmp.Compare(a.order, b.order) })
	}
	slices.SortFunc(p.rings, func(a, b *ring) int { return cmp.Compare(a.seats[0].order, b.seats[0].order) })
	return wanted
}

// next returns who gets the next task, or nil.
func (r *ring) next() *Acceptor {
	if len(r.seats) == 0 {
		return nil
	}
	s := r.seats[0]
	r.seats = r.seats[1:]
	if s.slots--; s.slots > 0 {
		r.seats = append(r.seats, s)
	}
	return s.acceptor
}

// waits reports whether somebody in the ring takes tasks that are due at that time; those who do not, leave: later ones
// are not for them either.
func (r *ring) waits(at Time) bool {
	for len(r.seats) > 0 && r.seats[0].acceptor.MaxNotBefore < at {
		r.seats = r.seats[1:]
	}
	return len(r.seats) > 0
}

// earlyLooks bounds how many tasks that cannot be taken early a plan looks at per behavior, so that its cost does not
// grow with them. What lies behind them is found when they are taken or due.
const earlyLooks = 256

// early gives acceptors what they take before its time (SPEC J2), by not_before, when everything due has been given.
func (p *planner) early() {
	for _, r := range p.rings {
		if p.left > 0 {
			p.earlyOf(r)
		}
	}
}

func (p *planner) earlyOf(r *ring) {
	b, m := r.behavior, p.m
	budget := p.budget(b)
	g := p.group(b)
	taken := map[earlyKey]int64{}
	looks := 0
	for c := b.Future.Cursor(); c.Node() != nil && looks < earlyLooks && p.left > 0 && g.left > 0; c.Next() {
		t := m.task(c.Node().Item)
		if !r.waits(t.NotBefore) || budget != nil && *budget <= 0 {
			return
		}
		x := facts(t)
		k := earlyKey{t.ConcurrencyKey, b.Holds(&x)}
		v := m.version(b, t.Version)
		if v == nil || v.Module != "" || !m.eligible(t, t.NotBefore) || b.Spare(&x) <= taken[k] {
			looks++
			continue
		}
		if b.Counts(&x) {
			taken[k]++
		}
		p.assign(Assign{Key: t.Key(), Rev: t.Rev, External: r.next()}, g, budget)
	}
}

// earlyKey names slots that tasks taken early have in common.
type earlyKey struct {
	key   string
	holds bool
}
