package table

import (
	"fmt"
	"slices"
)

// List holds rows in order of their keys in one array. It is for few rows, or for rows that seldom change.
type List[K, V any] struct {
	Rows    []V // to be read
	key     func(V) K
	compare func(a, b K) int
}

// NewList returns an empty list. No two rows have the same key.
func NewList[K, V any](key func(V) K, compare func(a, b K) int) List[K, V] {
	return List[K, V]{key: key, compare: compare}
}

// Find returns the place of a key, and whether its row is there.
func (l *List[K, V]) Find(k K) (int, bool) {
	return slices.BinarySearchFunc(l.Rows, k, func(row V, k K) int { return l.compare(l.key(row), k) })
}

// Get returns the row of a key, or the zero row if there is none.
func (l *List[K, V]) Get(k K) (row V) {
	if i, ok := l.Find(k); ok {
		return l.Rows[i]
	}
	return row
}

// Put adds a row, or lets it take the place of the row with its key.
func (l *List[K, V]) Put(row V) {
	if i, ok := l.Find(l.key(row)); ok {
		l.Rows[i] = row
	} else {
		l.Rows = slices.Insert(l.Rows, i, row)
	}
}

// Cut removes the rows from one key up to another, and returns them.
func (l *List[K, V]) Cut(from, to K) []V {
	i, _ := l.Find(from)
	j, _ := l.Find(to)
	cut := slices.Clone(l.Rows[i:j])
	l.Rows = slices.Delete(l.Rows, i, j)
	return cut
}

// Check verifies the order.
func (l *List[K, V]) Check() error {
	for i := 1; i < len(l.Rows); i++ {
		if l.compare(l.key(l.Rows[i-1]), l.key(l.Rows[i])) >= 0 {
			return fmt.Errorf("list: order at %d", i)
		}
	}
	return nil
}
