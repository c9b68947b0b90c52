package table

import "fmt"

// Handle is the number of a row. 0 means no row.
type Handle uint32

// Index finds rows by a hash of their keys: open addressing with linear probing, in shards that grow one by one, so
// that no command waits until all of them have grown. A small index is one shard. A slot is half of the hash and a
// handle; the keys themselves are elsewhere.
type Index struct {
	shards []indexShard
	n      int
}

const (
	indexShards = 1024
	indexSmall  = 4096 // up to so many rows are in one shard
	shardLeast  = 16
)

type indexShard struct {
	tags []uint32 // 0: the slot is free
	rows []Handle
	n    int
}

// NewIndex returns an empty index.
func NewIndex() Index { return Index{shards: make([]indexShard, 1)} }

func (x *Index) shard(hash uint64) *indexShard { return &x.shards[hash%uint64(len(x.shards))] }

// tagOf uses other bits of the hash than shard does.
func tagOf(hash uint64) uint32 { return uint32(hash>>32) | 1 }

// home returns where the search for a tag begins.
func (x *indexShard) home(tag uint32) int { return int(uint64(tag) * uint64(len(x.tags)) >> 32) }

func (x *indexShard) next(i int) int {
	if i++; i == len(x.tags) {
		return 0
	}
	return i
}

// Find returns the row with this hash for which is returns true, or 0.
func (x *Index) Find(hash uint64, is func(h Handle) bool) Handle {
	s := x.shard(hash)
	if s.n == 0 {
		return 0
	}
	tag := tagOf(hash)
	for i := s.home(tag); s.tags[i] != 0; i = s.next(i) {
		if s.tags[i] == tag && is(s.rows[i]) {
			return s.rows[i]
		}
	}
	return 0
}

// Insert enters a row that is not there. hashOf returns the hash of a row that is there.
func (x *Index) Insert(hash uint64, h Handle, hashOf func(h Handle) uint64) {
	if x.n++; x.n > indexSmall && len(x.shards) == 1 {
		x.split(hashOf)
	}
	s := x.shard(hash)
	if 5*(s.n+1) > 4*len(s.tags) {
		s.resize(max(len(s.tags)*5/4, shardLeast))
	}
	s.put(tagOf(hash), h)
}

func (x *indexShard) put(tag uint32, h Handle) {
	i := x.home(tag)
	for x.tags[i] != 0 {
		i = x.next(i)
	}
	x.tags[i], x.rows[i] = tag, h
	x.n++
}

// split makes many shards of one.
func (x *Index) split(hashOf func(h Handle) uint64) {
	former := x.shards[0]
	x.shards = make([]indexShard, indexShards)
	for i, t := range former.tags {
		if t != 0 {
			x.n--
			x.Insert(hashOf(former.rows[i]), former.rows[i], hashOf)
		}
	}
}

// resize moves a shard into one of another length.
func (x *indexShard) resize(length int) {
	former := *x
	*x = indexShard{tags: make([]uint32, length), rows: make([]Handle, length)}
	for i, tag := range former.tags {
		if tag != 0 {
			x.put(tag, former.rows[i])
		}
	}
}

// Delete takes out a row that is there, and moves back the rows that it has displaced.
func (x *Index) Delete(hash uint64, h Handle) {
	s := x.shard(hash)
	gap := s.home(tagOf(hash))
	for s.rows[gap] != h || s.tags[gap] == 0 {
		gap = s.next(gap)
	}
	for i := s.next(gap); s.tags[i] != 0; i = s.next(i) {
		home := s.home(s.tags[i])
		if (i-home+len(s.tags))%len(s.tags) >= (i-gap+len(s.tags))%len(s.tags) {
			s.tags[gap], s.rows[gap] = s.tags[i], s.rows[i]
			gap = i
		}
	}
	s.tags[gap], s.rows[gap] = 0, 0
	x.n--
	if s.n--; s.n == 0 {
		*s = indexShard{}
	} else if len(s.tags) > shardLeast && 3*s.n < len(s.tags) {
		s.resize(max(2*s.n, shardLeast))
	}
}

// Check verifies that the index has every row once. is reports whether there is such a row, and n is how many rows
// there are. The user verifies that each row is found by its key.
func (x *Index) Check(is func(h Handle) bool, n int) error {
	rows := map[Handle]bool{}
	for i := range x.shards {
		s, count := &x.shards[i], 0
		for j, t := range s.tags {
			if t == 0 {
				continue
			}
			if count++; !is(s.rows[j]) || rows[s.rows[j]] {
				return fmt.Errorf("index: row %d of nobody, or twice", s.rows[j])
			}
			rows[s.rows[j]] = true
		}
		if count != s.n || len(s.tags) != len(s.rows) || count > 0 && count == len(s.tags) {
			return fmt.Errorf("index: shard %d: %d, recounted %d", i, s.n, count)
		}
	}
	if len(rows) != n || x.n != n {
		return fmt.Errorf("index: %d rows, recounted %d, for %d", x.n, len(rows), n)
	}
	return nil
}
