package table

import (
	"cmp"
	"maps"
	"slices"
)

// The functions of this file keep a short list in order. Rows are ordered by a number or a name that never changes.

// place returns the place of the row of a key, or where it would stand.
func place[V any, K cmp.Ordered](rows []V, key K, of func(V) K) (int, bool) {
	return slices.BinarySearchFunc(rows, key, func(row V, key K) int { return cmp.Compare(of(row), key) })
}

// Put puts a row into its place in a list, unless a row with its key stands there.
func Put[V any, K cmp.Ordered](rows []V, row V, of func(V) K) []V {
	i, there := place(rows, of(row), of)
	if there {
		return rows
	}
	return slices.Insert(rows, i, row)
}

// Drop removes the row of a key from a list.
func Drop[V any, K cmp.Ordered](rows []V, key K, of func(V) K) []V {
	switch i, there := place(rows, key, of); {
	case !there:
		return rows
	case i == 0: // the first row mostly goes first
		clear(rows[:1])
		return rows[1:]
	default:
		return slices.Delete(rows, i, i+1)
	}
}

// After returns the place of the first row of a list whose key is greater.
func After[V any, K cmp.Ordered](rows []V, key K, of func(V) K) int {
	i, there := place(rows, key, of)
	if there {
		i++
	}
	return i
}

// InOrder reports whether the rows of a list are in order.
func InOrder[V any, K cmp.Ordered](rows []V, of func(V) K) bool {
	return slices.IsSortedFunc(rows, func(a, b V) int { return cmp.Compare(of(a), of(b)) })
}

// Values returns the values of a map in order.
func Values[V any, K cmp.Ordered](m map[K]V, of func(V) K) []V {
	return slices.SortedFunc(maps.Values(m), func(a, b V) int { return cmp.Compare(of(a), of(b)) })
}

// Each returns what f makes of each item.
func Each[A, B any](items []A, f func(A) B) []B {
	all := make([]B, len(items))
	for i, x := range items {
		all[i] = f(x)
	}
	return all
}
