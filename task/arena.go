package task

// arena holds packed records in chunks that are only appended to: what was written stays as it is, for Frozens and for the
// payloads of tasks that were handed out, which point into it. A record that was given up is dead. When much is dead, what
// is alive in the emptiest chunks is written again and the chunks are let go.
type arena struct {
	use   []chunkUse // of view.chunks
	gone  []uint32   // numbers of chunks that are nil
	open  int        // the chunk that is appended to; -1: none
	hand  int        // where compact looks on
	alive int        // bytes, in all chunks
	dead  int
}

type chunkUse struct{ end, alive int }

// chunkBytes: a payload that somebody keeps keeps its chunk in memory, so they are not large.
const chunkBytes = 64 << 10

// leastChunk is the length of the first one: there are machines with few tasks.
const leastChunk = 1 << 10

// longRecord is the length from which a record has a chunk of its own: no chunk has more than a small part unused.
const longRecord = chunkBytes / 16

// deadBytes may be dead before compact does anything.
const deadBytes = 256 << 10

func newArena() arena { return arena{open: -1} }

// ref says where a record is: in the arena, or among those that run.
type ref uint64

const refLive ref = 1 << 63

func liveRef(i uint32) ref { return refLive | ref(i) }

// live returns the place among those that run, if it is there.
func (r ref) live() (uint32, bool) { return uint32(r), r&refLive != 0 }

func chunkRef(chunk, at int) ref { return ref(chunk)<<32 | ref(at) }

func (r ref) chunk() (chunk, at int) { return int(r >> 32), int(uint32(r)) }

// write appends a record to the arena.
func (s *store) write(record []byte) ref {
	a := &s.arena
	chunk := a.open
	switch {
	case len(record) >= longRecord:
		chunk = s.addChunk(len(record))
	case chunk < 0 || a.use[chunk].end+len(record) > len(s.chunks[chunk]):
		chunk = s.addChunk(max(min(chunkBytes, a.alive), len(record), leastChunk))
		if former := a.open; former >= 0 && a.use[former].alive == 0 {
			s.dropChunk(former)
		}
		a.open = chunk
	}
	use := &a.use[chunk]
	at := use.end
	copy(s.chunks[chunk][at:], record)
	use.end += len(record)
	use.alive += len(record)
	a.alive += len(record)
	return chunkRef(chunk, at)
}

func (s *store) addChunk(length int) int {
	a := &s.arena
	if last := len(a.gone) - 1; last >= 0 {
		i := a.gone[last]
		a.gone = a.gone[:last]
		s.chunks[i], a.use[i] = make([]byte, length), chunkUse{}
		return int(i)
	}
	s.chunks, a.use = append(s.chunks, make([]byte, length)), append(a.use, chunkUse{})
	return len(s.chunks) - 1
}

// free makes a record dead.
func (s *store) free(at ref) {
	a := &s.arena
	record, whole := s.record(at)
	s.names.drop(record)
	chunk, _ := at.chunk()
	use := &a.use[chunk]
	use.alive -= whole
	a.alive -= whole
	a.dead += whole
	if use.alive == 0 && chunk != a.open {
		s.dropChunk(chunk)
	}
}

func (s *store) dropChunk(chunk int) {
	a := &s.arena
	a.dead -= a.use[chunk].end - a.use[chunk].alive
	s.chunks[chunk], a.use[chunk] = nil, chunkUse{}
	a.gone = append(a.gone, uint32(chunk))
}

// compactLooks bounds the chunks that one call of compact looks at.
const compactLooks = 64

// compact writes what is alive in one chunk again if more than a quarter as much is dead as is alive.
func (s *store) compact() {
	a := &s.arena
	if a.dead <= a.alive/4+deadBytes {
		return
	}
	for range compactLooks {
		if a.hand++; a.hand >= len(s.chunks) {
			a.hand = 0
		}
		if use := a.use[a.hand]; s.chunks[a.hand] != nil && a.hand != a.open && 5*use.alive < 4*use.end {
			s.evacuate(a.hand)
			return
		}
	}
}

// evacuate writes the records that are alive in a chunk elsewhere. Which they are the index tells: a record is alive if
// the task of its key has it.
func (s *store) evacuate(chunk int) {
	end := s.arena.use[chunk].end
	for at := 0; at < end; {
		record, whole := s.record(chunkRef(chunk, at))
		if r := s.owner(chunkRef(chunk, at), record); r != nil {
			moved := s.write(s.chunks[chunk][at : at+whole])
			s.writableCell(r.id).record = moved
			s.arena.use[chunk].alive -= whole
			s.arena.alive -= whole
			s.arena.dead += whole
		}
		at += whole
	}
	s.dropChunk(chunk)
}

// owner returns the row whose record is at a place, or nil if it is dead.
func (s *store) owner(at ref, record []byte) *row {
	b := s.behaviors[behaviorNumber(record)]
	if b == nil {
		return nil
	}
	k := Key{b.namespace, recordID(record)}
	r := s.find(hashKey(k.Namespace, k.ID), k)
	if r == nil || s.cell(r.id).record != at {
		return nil
	}
	return r
}
