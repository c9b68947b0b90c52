package store

import "github.com/taskrt/taskrt/task/table"

const (
	aheadMost  = 64      // keys that are looked up at a time: what this reads has to stay in the processor's caches
	aheadLeast = 4       // for fewer keys it does not pay
	aheadFew   = 1 << 14 // so many records are in the caches anyway
)

// Ahead reads what Get and Record will read for n keys, for all of them at once, so that they find it in the processor's caches. An empty ID is no key.
// found is how many keys probably have a record. Nothing depends on it. If there are few records or keys, Ahead does nothing.
func (s *Store[T]) Ahead(n int, key func(i int) (namespace, id string)) (found int) {
	if s.Len() <= aheadFew || n < aheadLeast {
		return 0
	}
	var hashes [aheadMost]uint64
	filled := 0
	for i := range n {
		if namespace, id := key(i); id != "" {
			hashes[filled] = hashKey(namespace, id)
			filled++
		}
		if filled == aheadMost || i == n-1 {
			found += s.touch(hashes[:filled])
			filled = 0
		}
	}
	return found
}

// touch reads what is kept of the keys with these hashes, one kind of place after the other.
func (s *Store[T]) touch(hashes []uint64) (found int) {
	var rows [aheadMost]table.Handle
	var refs [aheadMost]table.Ref
	s.seen += s.index.Ahead(hashes, rows[:len(hashes)])
	for i, h := range rows[:len(hashes)] {
		if h != 0 {
			found++
			refs[i] = s.cell(h).record
			s.seen += s.Rows.Row(h).Behavior
		}
	}
	for i, h := range rows[:len(hashes)] {
		if _, live := isLive(refs[i]); h != 0 && !live {
			s.seen += uint32(s.arena.Record(refs[i])[0])
		}
	}
	return found
}
