package task

// idIndex finds rows by key: open addressing with linear probing, in shards that grow one by one, so that no command waits
// for all of it; a small one is one shard. A slot is half of the hash and a handle: keys themselves are in the records.
type idIndex struct {
	shards []indexShard
	n      int
}

const (
	indexShards = 1024
	indexSmall  = 4096 // up to so many rows are in one shard
	shardLeast  = 16
)

type indexShard struct {
	tags []uint32 // 0: free
	rows []handle
	n    int
}

// hashKey is not part of any contract: it orders nothing that anybody sees.
func hashKey(namespace, id string) uint64 {
	h := newHasher(0)
	h.str(id)
	h.str(namespace)
	return h.sum()
}

func (x *idIndex) shard(hash uint64) *indexShard { return &x.shards[hash%uint64(len(x.shards))] }

// tagOf uses other bits of the hash than shard.
func tagOf(hash uint64) uint32 { return uint32(hash>>32) | 1 }

// home returns where the search for a tag begins.
func (x *indexShard) home(tag uint32) int { return int(uint64(tag) * uint64(len(x.tags)) >> 32) }

func (x *indexShard) next(i int) int {
	if i++; i == len(x.tags) {
		return 0
	}
	return i
}

// find returns the row of k, whose hash is given, or nil.
func (s *store) find(hash uint64, k Key) *row {
	x := s.index.shard(hash)
	if x.n == 0 {
		return nil
	}
	tag := tagOf(hash)
	for i := x.home(tag); x.tags[i] != 0; i = x.next(i) {
		if x.tags[i] != tag {
			continue
		}
		r := s.rows.row(x.rows[i])
		if s.hasID(s.cell(r.id).record, k.ID) && s.behaviors[r.behavior].namespace == k.Namespace {
			return r
		}
	}
	return nil
}

// insert enters a row whose key is not there.
func (s *store) insert(hash uint64, h handle) {
	if s.index.n++; s.index.n > indexSmall && len(s.index.shards) == 1 {
		s.split()
	}
	x := s.index.shard(hash)
	if 5*(x.n+1) > 4*len(x.tags) {
		x.resize(max(len(x.tags)*5/4, shardLeast))
	}
	x.put(tagOf(hash), h)
}

func (x *indexShard) put(tag uint32, h handle) {
	i := x.home(tag)
	for x.tags[i] != 0 {
		i = x.next(i)
	}
	x.tags[i], x.rows[i] = tag, h
	x.n++
}

// split makes many shards of one.
func (s *store) split() {
	former := s.index.shards[0]
	s.index.shards = make([]indexShard, indexShards)
	for i, t := range former.tags {
		if t != 0 {
			s.index.n--
			s.insert(s.hashOf(former.rows[i]), former.rows[i])
		}
	}
}

// resize moves a shard into one of another length.
func (x *indexShard) resize(length int) {
	former := *x
	*x = indexShard{tags: make([]uint32, length), rows: make([]handle, length)}
	for i, tag := range former.tags {
		if tag != 0 {
			x.put(tag, former.rows[i])
		}
	}
}

// hashOf returns the hash of the key of a row.
func (s *store) hashOf(h handle) uint64 {
	x := newHasher(0)
	s.hashID(&x, s.cell(h).record)
	x.str(s.behaviors[s.rows.row(h).behavior].namespace)
	return x.sum()
}

// delete takes out a row that is there, and moves those back that were displaced by it.
func (s *store) delete(hash uint64, h handle) {
	x := s.index.shard(hash)
	gap := x.home(tagOf(hash))
	for x.rows[gap] != h || x.tags[gap] == 0 {
		gap = x.next(gap)
	}
	for i := x.next(gap); x.tags[i] != 0; i = x.next(i) {
		home := x.home(x.tags[i])
		if (i-home+len(x.tags))%len(x.tags) >= (i-gap+len(x.tags))%len(x.tags) {
			x.tags[gap], x.rows[gap] = x.tags[i], x.rows[i]
			gap = i
		}
	}
	x.tags[gap], x.rows[gap] = 0, 0
	s.index.n--
	if x.n--; x.n == 0 {
		*x = indexShard{}
	} else if len(x.tags) > shardLeast && 3*x.n < len(x.tags) {
		x.resize(max(2*x.n, shardLeast))
	}
}
