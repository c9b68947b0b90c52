package records

import "math/bits"

// fenwick holds numbers that are not negative. It finds in O(log n) to which number the k-th unit of their sum belongs
// (P. Fenwick, A new data structure for cumulative frequency tables, 1994).
type fenwick struct {
	tree  []int // tree[i-1] is the sum of the i & -i numbers that end with the i-th
	total int
}

// grow appends a 0.
func (f *fenwick) grow() {
	i, sum := len(f.tree)+1, 0
	for j := i - 1; j > i-i&-i; j -= j & -j {
		sum += f.tree[j-1]
	}
	f.tree = append(f.tree, sum)
}

// add adds by to the i-th number, counted from 0.
func (f *fenwick) add(i, by int) {
	f.total += by
	for i++; i <= len(f.tree); i += i & -i {
		f.tree[i-1] += by
	}
}

// reset makes it hold n numbers.
func (f *fenwick) reset(n int, number func(i int) int) {
	f.tree, f.total = f.tree[:0], 0
	for i := range n {
		f.grow()
		f.add(i, number(i))
	}
}

// find returns the number, counted from 0, to which the k-th unit belongs, and which unit of this number it is, from 0. k < total.
func (f *fenwick) find(k int) (i, rest int) {
	for step := 1 << bits.Len(uint(len(f.tree))); step > 0; step >>= 1 {
		if next := i + step; next <= len(f.tree) && f.tree[next-1] <= k {
			i, k = next, k-f.tree[next-1]
		}
	}
	return i, k
}
