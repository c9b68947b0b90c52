package task

import (
	"math"

	"github.com/taskrt/taskrt/task/table"
)

// planGroups are those whose lanes have tasks, by share and name.
type planGroups = table.Heap[table.Untold, string, *planGroup]

// planGroup is what a plan knows of one namespace.
type planGroup struct {
	space *namespaceRow
	left  int64                                       // tasks that max_running still lets start
	held  int64                                       // slots of sessions that it holds, with what is planned
	spent int64                                       // of Shares
	lanes table.Heap[table.Untold, uint64, *planLane] // by current task
}

// group returns the group of b's namespace.
func (p *planner) group(b *behaviorRow) *planGroup {
	g := p.groupOf[b.space]
	if g == nil {
		if p.groupOf == nil {
			p.groupOf = map[*namespaceRow]*planGroup{}
		}
		g = &planGroup{space: b.space, left: math.MaxInt64, held: b.space.slots}
		if limit := b.space.space.MaxRunning; limit > 0 {
			g.left = limit - b.space.usage.Running
		}
		p.groupOf[b.space] = g
	}
	return g
}

// rank makes the heap of the groups that wait.
func (p *planner) rank() {
	for _, g := range p.groupOf { // order-free: the heap has a total order
		if g.lanes.Len() > 0 && g.left > 0 {
			p.groups.Push(0, g.space.space.Name, table.Untold{}, g)
		}
	}
	if p.shares != nil {
		p.shares.advance(p.m, &p.groups, p.left)
	}
	p.groups.Rekey((*planGroup).share)
}

// settle puts the first group, which has moved on, in its place.
func (p *planner) settle() {
	n := p.groups.Head()
	if g := n.Item; g.lanes.Len() == 0 || g.left <= 0 {
		p.groups.Pop()
		return
	}
	n.Key = n.Item.share()
	p.groups.Sink()
}

// share is what the group has had of the slots for its weight (SPEC N2).
func (g *planGroup) share() int64 { return g.spent + g.space.part(g.held*int64(shareHorizon)) }
