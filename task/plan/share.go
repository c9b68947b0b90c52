package plan

import "github.com/taskrt/taskrt/task/table"

// Space is a namespace that waits.
type Space interface{ Share(at int64) Share }

// Share is what a namespace has, and may have, of the slots at an instant of the lease clock.
type Share struct {
	Name   string
	Weight int64 // 0: the default
	Slots  int64 // slots of sessions that it holds
	Held   int64 // for how long it has held slots, in milliseconds of one slot, since any instant
	Left   int64 // tasks of it that may still start
}

// Group is what a plan knows of one namespace. Left goes down with what is planned.
type Group struct {
	Share
	space Space
	held  int64                                   // Slots, with what is planned
	spent int64                                   // of Shares
	lanes table.Heap[table.Untold, uint64, *lane] // by current task
}

// groups are the groups whose lanes have tasks, by share and name.
type groups = table.Heap[table.Untold, string, *Group]

// Group returns the group of a namespace.
func (p *Plan) Group(s Space) *Group {
	g := p.groupOf[s]
	if g == nil {
		if p.groupOf == nil {
			p.groupOf = map[Space]*Group{}
		}
		g = &Group{space: s, Share: s.Share(p.at)}
		g.held = g.Slots
		p.groupOf[s] = g
	}
	return g
}

// rank puts the groups that wait into a heap.
func (p *Plan) rank() {
	for _, g := range p.groupOf { // order-free: the heap has a total order
		if g.lanes.Len() > 0 && g.Left > 0 {
			p.groups.Push(0, g.Name, table.Untold{}, g)
		}
	}
	if p.shares != nil {
		p.shares.advance(&p.groups, p.Left)
	}
	p.groups.Rekey((*Group).share)
}

// settle puts the first group into its new place after it has moved on.
func (p *Plan) settle() {
	n := p.groups.Head()
	if g := n.Item; g.lanes.Len() == 0 || g.Left <= 0 {
		p.groups.Pop()
		return
	}
	n.Key = n.Item.share()
	p.groups.Sink()
}

// share is how much of the slots the group has had, divided by its weight (SPEC N2).
func (g *Group) share() int64 { return g.spent + g.part(g.held*shareHorizon) }

// Shares is what a leader remembers to share the workers' slots between namespaces by their weights (SPEC N2): how long each namespace has held slots
// while others waited. It is not part of the state: a leader that begins without it shares fairly from then on. The zero Shares is ready. One
// goroutine uses it.
type Shares struct {
	of map[Space]had // namespaces that waited for slots at the last plan
}

// had is how much a namespace has had.
type had struct {
	held int64 // Share.Held at the last plan
	part int64 // see part
}

// A namespace's part is the time for which it held slots, in thousandths of a millisecond of one slot, divided by its weight. Slots that it holds now
// count as if it held them for shareHorizon more. So differences of less than a slot even out over a few slots. No namespace is ahead of others by
// more than all slots for shareMemory. So a namespace that held many slots while others waited need not wait for as long.
const (
	shareScale   = 1000
	shareHorizon = 100  // milliseconds
	shareMemory  = 1000 // milliseconds

	defaultWeight = 10
)

// part returns a namespace's part for slots held for so long, in milliseconds of one slot.
func (s *Share) part(held int64) int64 {
	weight := s.Weight
	if weight == 0 {
		weight = defaultWeight
	}
	return held * shareScale / weight
}

// advance lets time pass up to now for the namespaces that wait. A namespace that did not wait before begins where the namespace is that has had
// least, so it has saved nothing up. free is how many slots nobody holds.
func (s *Shares) advance(waiting *groups, free int64) {
	next := make(map[Space]had, waiting.Len())
	least, slots := int64(-1), free
	for g := range waiting.All {
		slots += g.Slots
		x, known := s.of[g.space]
		if !known {
			continue
		}
		x.part += g.part(g.Held - x.held)
		x.held = g.Held
		next[g.space] = x
		if least < 0 || x.part < least {
			least = x.part
		}
	}
	least = max(least, 0)
	for g := range waiting.All {
		x, known := next[g.space]
		if !known {
			x = had{held: g.Held, part: least}
		}
		x.part = min(x.part-least, g.part(slots*shareMemory))
		next[g.space] = x
		g.spent = x.part
	}
	s.of = next
}
