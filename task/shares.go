package task

// Shares is what a leader remembers to share the workers' slots between namespaces by their weights (SPEC N2): how long each has
// held slots while others waited for some. It is no state: a leader that begins without it shares fairly from then on. The zero
// Shares is ready. One goroutine uses it.
type Shares struct {
	of map[*namespaceRow]spent // those that waited for slots at the last plan
}

// spent is what a namespace has had.
type spent struct {
	held int64 // namespaceRow.held at the last plan
	part int64 // see part
}

// A namespace's part is measured in milliseconds of a slot, thousandths of them, divided by its weight. What it holds now counts
// as if it were held for shareHorizon: so what differs by less than a slot evens out over a few of them. Nobody is ahead of others
// by more than all slots for shareMemory: who held many while others waited is not made to wait for as long.
const (
	shareScale          = 1000
	shareHorizon Millis = 100
	shareMemory  Millis = 1000

	defaultWeight = 10
)

// part returns what slots held for so long, in milliseconds of one, are to a namespace.
func (n *namespaceRow) part(held int64) int64 {
	weight := n.space.Weight
	if weight == 0 {
		weight = defaultWeight
	}
	return held * shareScale / weight
}

// Plan is Machine.Plan that makes up for what the plans before it could not share evenly.
func (s *Shares) Plan(m *Machine, free []Free, max int) []Assign {
	p := planner{m: m, shares: s}
	return p.plan(free, max)
}

// advance lets time pass up to now for the namespaces that wait. One that did not wait before begins where the one is that had
// least: nothing is saved up. free is how many slots nobody holds.
func (s *Shares) advance(m *Machine, waiting *planGroups, free int64) {
	next := make(map[*namespaceRow]spent, waiting.Len())
	least, slots := int64(-1), free
	for g := range waiting.All {
		slots += g.space.slots
		x, known := s.of[g.space]
		if !known {
			continue
		}
		held := g.space.held(m.leaseNow)
		x.part += g.space.part(held - x.held)
		x.held = held
		next[g.space] = x
		if least < 0 || x.part < least {
			least = x.part
		}
	}
	least = max(least, 0)
	for g := range waiting.All {
		x, known := next[g.space]
		if !known {
			x = spent{held: g.space.held(m.leaseNow), part: least}
		}
		x.part = min(x.part-least, g.space.part(slots*int64(shareMemory)))
		next[g.space] = x
		g.spent = x.part
	}
	s.of = next
}
