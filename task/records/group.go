package records

import (
	"fmt"
	"slices"
	"sort"

	"github.com/taskrt/taskrt/task/table"
)

// group knows which of its records are available. It is derived from the rows.
type group struct {
	name      string
	n         int
	chunks    []chunk // by ID; none empty
	available fenwick // how many are noted as available, per chunk
	// future holds the records that were not available when they were added, by time. Immutable records need not be removed from
	// the middle: an ID that is gone is passed over when its time comes. When most are gone, they are sorted out.
	future table.Heap[table.Untold, uint64, struct{}]
}

const (
	chunkEntries = 256
	chunkMerge   = chunkEntries / 4
)

// chunk is a run of IDs: they are appended at the end of the last chunk, and removed anywhere.
type chunk struct {
	entries []entry
	open    int // entries that are noted as available
}

// entry is an ID. Its lowest bit says that the record is noted as available; a noted record stays available.
type entry uint64

func (e entry) id() uint64 { return uint64(e >> 1) }
func (e entry) open() bool { return e&1 != 0 }

// add adds an ID that is greater than all others.
func (g *group) add(id uint64, available, now int64) {
	last := len(g.chunks) - 1
	if last < 0 || len(g.chunks[last].entries) == chunkEntries {
		g.chunks = append(g.chunks, chunk{})
		g.available.grow()
		last++
	}
	c := &g.chunks[last]
	c.entries = append(c.entries, entry(id<<1))
	g.n++
	if available > now {
		g.future.Push(available, id, table.Untold{}, struct{}{})
		return
	}
	c.entries[len(c.entries)-1] |= 1
	g.change(last, 1)
}

// locate returns the place of an ID that is there.
func (g *group) locate(id uint64) (chunkIndex, at int) {
	i := sort.Search(len(g.chunks), func(i int) bool { return g.chunks[i].entries[0].id() > id }) - 1
	entries := g.chunks[i].entries
	return i, sort.Search(len(entries), func(j int) bool { return entries[j].id() >= id })
}

func (g *group) change(chunkIndex, by int) {
	g.chunks[chunkIndex].open += by
	g.available.add(chunkIndex, by)
}

// note marks an ID that is there as available.
func (g *group) note(id uint64) {
	i, j := g.locate(id)
	g.chunks[i].entries[j] |= 1
	g.change(i, 1)
}

// remove takes out an ID that is there.
func (g *group) remove(id uint64) {
	i, j := g.locate(id)
	c := &g.chunks[i]
	if c.entries[j].open() {
		g.change(i, -1)
	}
	c.entries = slices.Delete(c.entries, j, j+1)
	g.n--
	g.shrink(i)
}

// shrink does for chunks what table.Sorted does for its pages: it drops chunk i if it is empty, and merges it with a
// neighbor if both together fill at most half a chunk.
func (g *group) shrink(i int) {
	n := func(i int) int { return len(g.chunks[i].entries) }
	switch {
	case n(i) == 0:
	case n(i) >= chunkMerge:
		return
	case i > 0 && n(i-1)+n(i) <= chunkEntries/2:
		g.merge(i - 1)
	case i+1 < len(g.chunks) && n(i)+n(i+1) <= chunkEntries/2:
		g.merge(i)
		i++
	default:
		return
	}
	g.chunks = slices.Delete(g.chunks, i, i+1)
	g.available.reset(len(g.chunks), func(i int) int { return g.chunks[i].open })
}

func (g *group) merge(i int) {
	to, from := &g.chunks[i], &g.chunks[i+1]
	to.entries = append(to.entries, from.entries...)
	to.open += from.open
}

// pick returns the k-th ID that is noted as available.
func (g *group) pick(k int) uint64 {
	i, k := g.available.find(k)
	for _, e := range g.chunks[i].entries {
		if !e.open() {
			continue
		}
		if k == 0 {
			return e.id()
		}
		k--
	}
	panic(fmt.Sprintf("records: %d records of chunk %d of %q are available, too few", g.chunks[i].open, i, g.name))
}

// stale reports whether it is worth it to sort out future.
func (g *group) stale() bool { return g.future.Len() > 2*(g.n-g.available.total)+chunkEntries }

func (g *group) check(n int, row func(uint64) *row) error {
	waiting := map[uint64]int64{}
	for i := range g.future.Len() {
		d := g.future.At(table.Pos(i + 1))
		waiting[d.Tie] = d.Key
	}
	counted, open, last := 0, 0, uint64(0)
	for i := range g.chunks {
		c, here := &g.chunks[i], 0
		for _, e := range c.entries {
			r := row(e.id())
			if r == nil || r.group != g || e.id() <= last {
				return fmt.Errorf("records: group %q: %d is out of order or not there", g.name, e.id())
			}
			if at, ok := waiting[e.id()]; !e.open() && (!ok || at != r.available) {
				return fmt.Errorf("records: group %q: %d waits for no time", g.name, e.id())
			}
			if e.open() {
				here++
			}
			last = e.id()
		}
		if len(c.entries) == 0 || here != c.open {
			return fmt.Errorf("records: group %q: chunk %d: %d available, counted %d", g.name, i, here, c.open)
		}
		counted += len(c.entries)
		open += here
		if j, k := g.available.find(open - 1); here > 0 && (j != i || k != here-1) {
			return fmt.Errorf("records: group %q: the last available of chunk %d is looked for in %d", g.name, i, j)
		}
	}
	if counted != n || g.n != n || open != g.available.total {
		return fmt.Errorf("records: group %q: %d records, %d of them available; counted %d, %d", g.name, n, open, counted, g.available.total)
	}
	if err := g.future.Check(); err != nil {
		return fmt.Errorf("records: group %q: times: %w", g.name, err)
	}
	return nil
}
