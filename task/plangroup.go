package task

import (
	"cmp"
	"math"
)

// planGroup is what a plan knows of one namespace.
type planGroup struct {
	space *namespaceRow
	left  int64       // tasks that max_running still lets start
	held  int64       // slots of sessions that it holds, with what is planned
	spent int64       // of Shares
	lanes []*planLane // a binary min-heap by current task
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
	for _, g := range p.groupOf { // order-free: less is a total order
		if len(g.lanes) > 0 && g.left > 0 {
			p.groups = append(p.groups, g)
		}
	}
	if p.shares != nil {
		p.shares.advance(p.m, p.groups, p.left)
	}
	for i := len(p.groups)/2 - 1; i >= 0; i-- {
		p.downGroup(i)
	}
}

// settle puts the first group, which has moved on, in its place.
func (p *planner) settle() {
	if g := p.groups[0]; len(g.lanes) == 0 || g.left <= 0 {
		last := len(p.groups) - 1
		p.groups[0] = p.groups[last]
		p.groups = p.groups[:last]
	}
	if len(p.groups) > 1 {
		p.downGroup(0)
	}
}

// less orders groups by what they have had of the slots for their weight (SPEC N2).
func (g *planGroup) less(o *planGroup) bool {
	a, b := g.spent+g.space.part(g.held*int64(shareHorizon)), o.spent+o.space.part(o.held*int64(shareHorizon))
	return cmp.Or(cmp.Compare(a, b), cmp.Compare(g.space.space.Name, o.space.space.Name)) < 0
}

func (p *planner) downGroup(i int) { down(p.groups, i, (*planGroup).less) }

// addLane takes up a lane.
func (g *planGroup) addLane(l *planLane) {
	g.lanes = append(g.lanes, l)
	for i := len(g.lanes) - 1; i > 0; { // sift up
		parent := (i - 1) / 2
		if !g.lanes[i].less(g.lanes[parent]) {
			break
		}
		g.lanes[i], g.lanes[parent] = g.lanes[parent], g.lanes[i]
		i = parent
	}
}

func (l *planLane) less(o *planLane) bool { return l.cursor.spot.less(o.cursor.spot) }

// dropLane takes the first lane out.
func (g *planGroup) dropLane() {
	last := len(g.lanes) - 1
	g.lanes[0] = g.lanes[last]
	g.lanes = g.lanes[:last]
	if last > 0 {
		g.down(0)
	}
}

func (g *planGroup) down(i int) { down(g.lanes, i, (*planLane).less) }

// down moves the element at i to its place in a binary min-heap.
func down[T any](heap []T, i int, less func(T, T) bool) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && less(heap[child+1], heap[child]) {
			child++
		}
		if !less(heap[child], heap[i]) {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}
