package table

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Arena holds records, which are bytes with their length in front, in chunks that are only appended to. Written bytes stay as they are: a frozen
// arena reads them, and so does a caller that was handed a part of a record. A record that was given up is dead. When much is dead, the live records
// of the emptiest chunks are written again, and the chunks are let go. Records that stay have chunks of their own. So most of the other chunks die as
// a whole, and nothing has to be written again.
type Arena struct {
	chunks [][]byte   // nil: no chunk has this number
	use    []chunkUse // of chunks; nil in a frozen arena, which is only read
	gone   []uint32   // numbers of chunks that are nil
	open   [2]int     // the chunks that are appended to, of records that pass and of records that stay; -1: none
	hand   int        // where Compact goes on looking
	alive  int        // bytes of records in all chunks
	dead   int
}

type chunkUse struct{ end, alive int }

// ChunkBytes is the length of a chunk. Chunks are not large, because a part of a record that somebody keeps keeps its
// chunk in memory.
const ChunkBytes = 64 << 10

// leastChunk is the length of the first chunk. It is small because there are machines with few tasks.
const leastChunk = 1 << 10

// LongRecord is the length from which on a record has a chunk of its own. So no chunk has more than a small part
// unused.
const LongRecord = ChunkBytes / 16

// DeadBytes is how many bytes may be dead before Compact does anything.
const DeadBytes = 256 << 10

// NewArena returns an empty arena.
func NewArena() Arena { return Arena{open: [...]int{-1, -1}} }

// These are the kinds of records. Most records that pass are given up in the order in which they were written. Records that stay are given up late.
const (
	passes = iota
	stays
)

// Ref says where a record is. Its highest bit is never set: users may give it a meaning of their own.
type Ref uint64

func chunkRef(chunk, at int) Ref { return Ref(chunk)<<32 | Ref(at) }

func (r Ref) chunk() (chunk, at int) { return int(r >> 32), int(uint32(r)) }

// Record returns a record without its length.
func (a *Arena) Record(at Ref) []byte {
	record, _ := a.record(at)
	return record
}

// record returns a record, and how many bytes it takes with its length.
func (a *Arena) record(at Ref) (record []byte, whole int) {
	chunk, i := at.chunk()
	b := a.chunks[chunk][i:]
	length, n := binary.Uvarint(b)
	whole = n + int(length)
	return b[n:whole:whole], whole
}

// Write appends a record. The first MaxLength bytes of b are room for the record's length. stay says that the record is to outlive most others. If
// this turns out to be wrong, only memory is lost, until Compact gets it back.
func (a *Arena) Write(b []byte, stay bool) Ref {
	var head [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(head[:], uint64(len(b)-MaxLength))
	whole := b[MaxLength-n:]
	copy(whole, head[:n])
	if stay {
		return a.write(whole, stays)
	}
	return a.write(whole, passes)
}

// MaxLength is the most bytes that the length of a record takes.
const MaxLength = binary.MaxVarintLen32

// write appends a record with its length.
func (a *Arena) write(whole []byte, kind int) Ref {
	chunk := a.open[kind]
	switch {
	case len(whole) >= LongRecord:
		chunk = a.addChunk(len(whole))
	case chunk < 0 || a.use[chunk].end+len(whole) > len(a.chunks[chunk]):
		chunk = a.addChunk(max(min(ChunkBytes, a.alive), len(whole), leastChunk))
		if former := a.open[kind]; former >= 0 && a.use[former].alive == 0 {
			a.dropChunk(former)
		}
		a.open[kind] = chunk
	}
	use := &a.use[chunk]
	at := use.end
	copy(a.chunks[chunk][at:], whole)
	use.end += len(whole)
	use.alive += len(whole)
	a.alive += len(whole)
	return chunkRef(chunk, at)
}

func (a *Arena) addChunk(length int) int {
	if last := len(a.gone) - 1; last >= 0 {
		i := a.gone[last]
		a.gone = a.gone[:last]
		a.chunks[i], a.use[i] = make([]byte, length), chunkUse{}
		return int(i)
	}
	a.chunks, a.use = append(a.chunks, make([]byte, length)), append(a.use, chunkUse{})
	return len(a.chunks) - 1
}

// Free makes a record dead.
func (a *Arena) Free(at Ref) {
	_, whole := a.record(at)
	chunk, _ := at.chunk()
	use := &a.use[chunk]
	use.alive -= whole
	a.alive -= whole
	a.dead += whole
	if use.alive == 0 && !a.isOpen(chunk) {
		a.dropChunk(chunk)
	}
}

func (a *Arena) isOpen(chunk int) bool { return chunk == a.open[passes] || chunk == a.open[stays] }

func (a *Arena) dropChunk(chunk int) {
	a.dead -= a.use[chunk].end - a.use[chunk].alive
	a.chunks[chunk], a.use[chunk] = nil, chunkUse{}
	a.gone = append(a.gone, uint32(chunk))
}

// compactLooks bounds the chunks that one call of Compact looks at.
const compactLooks = 64

// Compact writes again the live records of one chunk, if the dead bytes exceed a quarter of the live bytes by more than
// DeadBytes. owner returns where the owner of a record keeps its Ref, which Compact overwrites. It returns nil if the
// record is dead.
func (a *Arena) Compact(owner func(at Ref, record []byte) *Ref) {
	if a.dead <= a.alive/4+DeadBytes {
		return
	}
	for range compactLooks {
		if a.hand++; a.hand >= len(a.chunks) {
			a.hand = 0
		}
		if use := a.use[a.hand]; a.chunks[a.hand] != nil && !a.isOpen(a.hand) && 5*use.alive < 4*use.end {
			a.evacuate(a.hand, owner)
			return
		}
	}
}

// evacuate writes the live records of a chunk elsewhere, as records that stay: they are still there when the others have gone.
func (a *Arena) evacuate(chunk int, owner func(at Ref, record []byte) *Ref) {
	end := a.use[chunk].end
	for at := 0; at < end; {
		record, whole := a.record(chunkRef(chunk, at))
		if kept := owner(chunkRef(chunk, at), record); kept != nil {
			*kept = a.write(a.chunks[chunk][at:at+whole], stays)
			a.use[chunk].alive -= whole
			a.alive -= whole
			a.dead += whole
		}
		at += whole
	}
	a.dropChunk(chunk)
}

// Bytes returns how many bytes of records are alive and dead.
func (a *Arena) Bytes() (alive, dead int) { return a.alive, a.dead }

// Freeze returns an arena for reading, with the records as they are and will stay.
func (a *Arena) Freeze() Arena { return Arena{chunks: slices.Clone(a.chunks)} }

// Check recounts what is alive and dead, given the records that are alive.
func (a *Arena) Check(records func(yield func(Ref) bool)) error {
	alive := map[int]int{}
	for at := range records {
		chunk, _ := at.chunk()
		_, whole := a.record(at)
		alive[chunk] += whole
	}
	all, dead, gone := 0, 0, 0
	for i, use := range a.use {
		if a.chunks[i] == nil {
			gone++
			continue
		}
		all += use.alive
		dead += use.end - use.alive
		if use.alive != alive[i] || use.end > len(a.chunks[i]) {
			return fmt.Errorf("chunk %d: %d bytes alive, recounted %d", i, use.alive, alive[i])
		}
		if use.alive == 0 && !a.isOpen(i) {
			return fmt.Errorf("chunk %d is dead", i)
		}
	}
	if all != a.alive || dead != a.dead || gone != len(a.gone) {
		return fmt.Errorf("%d bytes alive, %d dead, recounted %d, %d; %d chunks gone, recounted %d", a.alive, a.dead, all, dead, len(a.gone), gone)
	}
	return nil
}
