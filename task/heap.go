package task

// heapPos is where an item is in a heap: its position + 1; the zero value is "in none".
type heapPos int32

// heapNode is an item with its order. pos points into the item, so that moving a node need not know the item's type.
type heapNode[T any] struct {
	key  int64
	tie  uint64 // unique within a heap: the order of two items never depends on history
	pos  *heapPos
	item T
}

func (a *heapNode[T]) less(b *heapNode[T]) bool {
	return a.key < b.key || a.key == b.key && a.tie < b.tie
}

// heap is an indexed 4-ary min-heap by (key, tie): exact removal from the middle, so that nothing in it is ever stale.
// Four children per node halve the depth of a binary heap and share a cache line or two (facts/raft.md section 4).
type heap[T any] struct{ nodes []heapNode[T] }

const heapArity = 4

func (h *heap[T]) len() int { return len(h.nodes) }

// head returns the smallest node, or nil.
func (h *heap[T]) head() *heapNode[T] {
	if len(h.nodes) == 0 {
		return nil
	}
	return &h.nodes[0]
}

func (h *heap[T]) push(key int64, tie uint64, pos *heapPos, item T) {
	h.nodes = append(h.nodes, heapNode[T]{key, tie, pos, item})
	h.up(len(h.nodes) - 1)
}

// remove takes the node that *pos names out of the heap.
func (h *heap[T]) remove(pos *heapPos) {
	i, last := int(*pos)-1, len(h.nodes)-1
	*pos = 0
	moved := h.nodes[last]
	h.nodes[last] = heapNode[T]{}
	h.nodes = h.nodes[:last]
	if i == last {
		return
	}
	h.set(i, moved)
	if h.down(i) == i {
		h.up(i)
	}
}

func (h *heap[T]) set(i int, n heapNode[T]) {
	h.nodes[i] = n
	*n.pos = heapPos(i + 1)
}

func (h *heap[T]) up(i int) {
	n := h.nodes[i]
	for i > 0 {
		parent := (i - 1) / heapArity
		if !n.less(&h.nodes[parent]) {
			break
		}
		h.set(i, h.nodes[parent])
		i = parent
	}
	h.set(i, n)
}

func (h *heap[T]) down(i int) int {
	n := h.nodes[i]
	for {
		first := i*heapArity + 1
		if first >= len(h.nodes) {
			break
		}
		least := first
		for c := first + 1; c < min(first+heapArity, len(h.nodes)); c++ {
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

// heapCursor walks a heap in order without changing it: k steps cost O(k log k), whatever the heap's size.
type heapCursor[T any] struct {
	h        *heap[T]
	frontier []int // indexes of nodes whose parents were passed, a binary min-heap by node order
}

func (h *heap[T]) cursor() heapCursor[T] {
	c := heapCursor[T]{h: h}
	if len(h.nodes) > 0 {
		c.frontier = append(c.frontier, 0)
	}
	return c
}

// node returns the current node, or nil at the end.
func (c *heapCursor[T]) node() *heapNode[T] {
	if len(c.frontier) == 0 {
		return nil
	}
	return &c.h.nodes[c.frontier[0]]
}

func (c *heapCursor[T]) less(a, b int) bool {
	return c.h.nodes[c.frontier[a]].less(&c.h.nodes[c.frontier[b]])
}

// next moves on to the next node in order.
func (c *heapCursor[T]) next() {
	passed, last := c.frontier[0], len(c.frontier)-1
	c.frontier[0] = c.frontier[last]
	c.frontier = c.frontier[:last]
	for i := 0; ; { // sift down
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && c.less(child+1, child) {
			child++
		}
		if !c.less(child, i) {
			break
		}
		c.frontier[i], c.frontier[child] = c.frontier[child], c.frontier[i]
		i = child
	}
	first := passed*heapArity + 1
	for n := first; n < min(first+heapArity, len(c.h.nodes)); n++ {
		c.frontier = append(c.frontier, n)
		for i := len(c.frontier) - 1; i > 0; { // sift up
			parent := (i - 1) / 2
			if !c.less(i, parent) {
				break
			}
			c.frontier[i], c.frontier[parent] = c.frontier[parent], c.frontier[i]
			i = parent
		}
	}
}
