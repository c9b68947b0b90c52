package table

import (
	"cmp"
	"fmt"
)

// Pos is where an item is in a heap: its position + 1. The zero value says that it is in none.
type Pos int32

// Untold is the Place of an item that is not told where it is.
type Untold struct{}

// Place is where a heap notes the position of an item: a *Pos, so that the item can be removed from the middle, or
// Untold.
type Place interface{ *Pos | Untold }

// Node is an item and its order: by Key, then by Tie. Tie is unique within a heap if the order of two items must not
// depend on history. Place points into the item, so that a node can be moved without knowing the item's type.
type Node[P Place, T cmp.Ordered, I any] struct {
	Item  I // Item and Place come first: in this place a type without size takes no room
	Place P
	Key   int64
	Tie   T
}

func (a *Node[P, T, I]) less(b *Node[P, T, I]) bool {
	return a.Key < b.Key || a.Key == b.Key && a.Tie < b.Tie
}

// Heap is a 4-ary min-heap of items by (Key, Tie). With places it is indexed: items are removed from the middle, so
// that nothing in it is ever stale. Four children per node halve the depth of a binary heap and share a cache line or
// two (docs/architecture.md#the-due-heap). The zero value is an empty heap.
type Heap[P Place, T cmp.Ordered, I any] struct{ nodes []Node[P, T, I] }

const arity = 4

// Len returns the number of items.
func (h *Heap[P, T, I]) Len() int { return len(h.nodes) }

// Head returns the least node, or nil.
func (h *Heap[P, T, I]) Head() *Node[P, T, I] {
	if len(h.nodes) == 0 {
		return nil
	}
	return &h.nodes[0]
}

// At returns the node at a position, or nil if none is there.
func (h *Heap[P, T, I]) At(pos Pos) *Node[P, T, I] {
	if pos <= 0 || int(pos) > len(h.nodes) {
		return nil
	}
	return &h.nodes[pos-1]
}

// Push enters an item.
func (h *Heap[P, T, I]) Push(key int64, tie T, place P, item I) {
	h.nodes = append(h.nodes, Node[P, T, I]{item, place, key, tie})
	h.up(len(h.nodes) - 1)
}

// Remove takes the node that *pos names out of the heap.
func (h *Heap[P, T, I]) Remove(pos *Pos) {
	i := int(*pos) - 1
	*pos = 0
	h.take(i)
}

// Pop takes the head out of a heap of Untold items and returns it.
func (h *Heap[P, T, I]) Pop() Node[P, T, I] {
	head := h.nodes[0]
	h.take(0)
	return head
}

// take closes the gap that the node at i leaves.
func (h *Heap[P, T, I]) take(i int) {
	last := len(h.nodes) - 1
	moved := h.nodes[last]
	h.nodes[last] = Node[P, T, I]{}
	h.nodes = h.nodes[:last]
	if i == last {
		return
	}
	h.set(i, moved)
	if h.down(i) == i {
		h.up(i)
	}
}

// Sink puts the head where it belongs. Its order must not have become earlier.
func (h *Heap[P, T, I]) Sink() { h.down(0) }

// Rekey gives every item the key that f returns.
func (h *Heap[P, T, I]) Rekey(f func(item I) int64) {
	for i := range h.nodes {
		h.nodes[i].Key = f(h.nodes[i].Item)
	}
	h.order()
}

// Keep drops the nodes of Untold items for which f returns false, and the memory that they took.
func (h *Heap[P, T, I]) Keep(f func(key int64, tie T) bool) {
	var kept []Node[P, T, I]
	for i := range h.nodes {
		if f(h.nodes[i].Key, h.nodes[i].Tie) {
			kept = append(kept, h.nodes[i])
		}
	}
	h.nodes = kept
	h.order()
}

// order makes a heap of nodes that stand in any order.
func (h *Heap[P, T, I]) order() {
	for i := (len(h.nodes)+arity-2)/arity - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h *Heap[P, T, I]) set(i int, n Node[P, T, I]) {
	h.nodes[i] = n
	if pos, ok := any(n.Place).(*Pos); ok {
		*pos = Pos(i + 1)
	}
}

func (h *Heap[P, T, I]) up(i int) {
	n := h.nodes[i]
	for i > 0 {
		parent := (i - 1) / arity
		if !n.less(&h.nodes[parent]) {
			break
		}
		h.set(i, h.nodes[parent])
		i = parent
	}
	h.set(i, n)
}

func (h *Heap[P, T, I]) down(i int) int {
	n := h.nodes[i]
	for {
		first := i*arity + 1
		if first >= len(h.nodes) {
			break
		}
		least := first
		for c := first + 1; c < min(first+arity, len(h.nodes)); c++ {
			if h.nodes[c].less(&h.nodes[least]) {
				least = c
			}
		}
		if !h.nodes[least].less(&n) {
			break
		}
		h.set(i, h.nodes[least])
		i = least
	}
	h.set(i, n)
	return i
}

// All yields the items in no meaningful order.
func (h *Heap[P, T, I]) All(yield func(I) bool) {
	for i := range h.nodes {
		if !yield(h.nodes[i].Item) {
			return
		}
	}
}

// Check verifies the order, which the places rely on, and the places.
func (h *Heap[P, T, I]) Check() error {
	for i := range h.nodes {
		if pos, ok := any(h.nodes[i].Place).(*Pos); ok && int(*pos) != i+1 {
			return fmt.Errorf("heap: node %d does not know its place", i)
		}
		if i > 0 && h.nodes[i].less(&h.nodes[(i-1)/arity]) {
			return fmt.Errorf("heap: order at %d", i)
		}
	}
	return nil
}

// Cursor walks a heap in order without changing it. k steps cost O(k log k), whatever the heap's size.
type Cursor[P Place, T cmp.Ordered, I any] struct {
	h        *Heap[P, T, I]
	frontier Heap[Untold, T, int] // positions of nodes whose parents were passed
}

// Cursor returns a cursor that stands at the head.
func (h *Heap[P, T, I]) Cursor() Cursor[P, T, I] {
	c := Cursor[P, T, I]{h: h}
	c.reach(0)
	return c
}

// reach adds the node at i to the frontier, if there is one.
func (c *Cursor[P, T, I]) reach(i int) {
	if i < len(c.h.nodes) {
		c.frontier.Push(c.h.nodes[i].Key, c.h.nodes[i].Tie, Untold{}, i)
	}
}

// Node returns the current node, or nil at the end.
func (c *Cursor[P, T, I]) Node() *Node[P, T, I] {
	n := c.frontier.Head()
	if n == nil {
		return nil
	}
	return &c.h.nodes[n.Item]
}

// Next moves on to the next node in order.
func (c *Cursor[P, T, I]) Next() {
	first := c.frontier.Pop().Item*arity + 1
	for i := first; i < first+arity; i++ {
		c.reach(i)
	}
}
