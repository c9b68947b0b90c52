package task

import "bytes"

// store verifies how tasks are kept: the order of creation, rows, cells, the index, the arena.
func (c *checker) store() {
	s, met := c.m.store, map[handle]bool{}
	err := s.order.Check(func(free *handle) bool { return *free == 0 })
	c.expect(err == nil, "order of creation: %v", err)
	for h := range s.order.All {
		c.expect(!met[*h] && s.rows.row(*h).id == *h, "row %d: twice, or not there", *h)
		met[*h] = true
	}
	c.rowTable(met)
	c.index(met)
	c.arena(met)
}

// rowTable verifies that exactly the rows of tasks are used, and that every extra has a row.
func (c *checker) rowTable(met map[handle]bool) {
	t := &c.m.store.rows
	used, extras, open, gone, empty := 0, 0, 0, 0, 0
	for no, p := range t.pages {
		if p == nil {
			gone++
			c.expect(!c.m.store.cells.Has(no), "cells of page %d, which is gone", no)
			continue
		}
		n := 0
		for i := range p.rows {
			r := &p.rows[i]
			if r.id == 0 {
				continue
			}
			n++
			if !met[r.id] || r.id != handle(no*pageRows+i) {
				c.expect(false, "row %d: of no task", r.id)
			}
			if r.more != 0 {
				extras++
				c.expect(t.extras[r.more-1] != nil, "row %d: its extra is gone", r.id)
			}
		}
		c.expect(n == p.used, "page %d: %d rows, recounted %d", no, p.used, n)
		c.expect((p.open != 0) == (n < pageRows), "page %d: has room, and nobody knows, or the other way round", no)
		if p.open != 0 {
			open++
			c.expect(p.open <= len(t.open) && t.open[p.open-1] == uint32(no), "page %d: place among those with room", no)
		}
		free := 0
		for i := p.free; i != 0; i = p.rows[i-1].more {
			free++
		}
		c.expect(free+n+pageRows-p.fresh == pageRows, "page %d: %d rows are lost", no, p.fresh-free-n)
		used += n
		if n == 0 {
			empty++
		}
	}
	c.expect(empty <= 1, "%d pages of rows are empty", empty)
	c.expect(used == len(met) && open == len(t.open) && gone == len(t.gone)+1, "rows: %d for %d tasks, %d pages with room, %d gone", used, len(met), open, gone)
	c.expect(extras+len(t.spare) == len(t.extras), "%d extras, %d of them spare, recounted %d", len(t.extras), len(t.spare), extras)
}

// index verifies that it has every row once; that each is found by its key the walk over the tasks verifies.
func (c *checker) index(met map[handle]bool) {
	rows := map[handle]bool{}
	for i := range c.m.store.index.shards {
		x := &c.m.store.index.shards[i]
		n := 0
		for j, t := range x.tags {
			if t != 0 {
				n++
				c.expect(met[x.rows[j]] && !rows[x.rows[j]], "index: row %d of no task, or twice", x.rows[j])
				rows[x.rows[j]] = true
			}
		}
		c.expect(n == x.n && len(x.tags) == len(x.rows) && (n == 0 || n < len(x.tags)), "index: shard %d: %d, recounted %d", i, x.n, n)
	}
	c.expect(len(rows) == len(met) && c.m.store.index.n == len(met), "index: %d rows for %d tasks", len(rows), len(met))
}

// arena verifies what is alive and dead, record by record, that what is read of each packs to the same bytes, and how
// often names are named.
func (c *checker) arena(met map[handle]bool) {
	s := c.m.store
	alive, live := map[int]int{}, 0
	refs := make([]uint32, len(s.names.refs))
	for h := range met { // order-free: it only adds up
		cell := s.cell(h)
		if _, ok := cell.record.live(); ok {
			live++
			continue
		}
		record, whole := s.record(cell.record)
		chunk, _ := cell.record.chunk()
		alive[chunk] += whole
		names := unpacker{b: record[idLength(record):]}
		for range names.uint() {
			refs[names.uint()]++
		}
		c.expect(behaviorNumber(record) == uint64(s.rows.row(h).behavior), "row %d: behavior of its record", h)
		c.expect(s.owner(cell.record, record) == s.rows.row(h), "row %d: its record is not known as its own", h)
		c.packed(s.view.task(cell), record)
	}
	all, dead, gone := 0, 0, 0
	for i, use := range s.arena.use {
		if s.chunks[i] == nil {
			gone++
			continue
		}
		all += use.alive
		dead += use.end - use.alive
		c.expect(use.alive == alive[i] && use.end <= len(s.chunks[i]), "chunk %d: %d bytes alive, recounted %d", i, use.alive, alive[i])
		c.expect(use.alive > 0 || i == s.arena.open, "chunk %d is dead", i)
	}
	c.expect(all == s.arena.alive && dead == s.arena.dead && gone == len(s.arena.gone), "arena: %d bytes alive, %d dead, recounted %d, %d", s.arena.alive, s.arena.dead, all, dead)
	for n, want := range refs {
		c.expect(s.names.refs[n] == want, "name %d: named %d times, recounted %d", n, s.names.refs[n], want)
	}
	for text, n := range s.names.numbers { // order-free: any violation will do
		c.expect(s.names.text(uint64(n)) == text && refs[n] > 0, "name %q", text)
	}
	c.expect(len(s.names.numbers)+len(s.names.gone) == len(refs), "names: %d, %d gone, of %d", len(s.names.numbers), len(s.names.gone), len(refs))
	c.expect(live+len(s.spare) == pageRows*s.live.Len(), "%d tasks run, and %d places of %d are free", live, len(s.spare), pageRows*s.live.Len())
}

// packed verifies a packed record against what was read of it. The names are numbers, which the walk above has counted.
func (c *checker) packed(t *Task, record []byte) {
	p := packer{since: int64(t.CreatedAt)}
	p.id(t.ID)
	c.expect(packs(t) && bytes.HasPrefix(record, p.b), "%s: its ID, or what cannot be packed", t.ID)
	p.b = p.b[:0]
	p.fields(t, fieldsOf(t))
	c.expect(bytes.HasSuffix(record, p.b), "%s: what is packed is not what is read", t.ID)
}

// in verifies that a line holds r.
func (c *checker) in(l *line, r *row, format string, args ...any) {
	s := c.m.store
	c.lined[l]++
	pos, at := *l.pos(r), l.spot(s, r)
	if pos > 0 {
		n := l.rest.At(pos)
		c.expect(n != nil && n.Item == r && n.Key == at.key && n.Tie == at.tie, format, args...)
		return
	}
	n := l.number(pos)
	ok := pos != 0 && n >= l.front && n < l.end && l.chunks[(n-l.base)/chunkRows] != nil
	c.expect(ok && l.at(n) == r.id, format, args...)
}

// line verifies the order of a line, and that it holds nothing but what was met.
func (c *checker) line(name string, l *line) {
	s := c.m.store
	c.expect(l.len() == c.lined[l], "%s: %d queued, recounted %d", name, l.len(), c.lined[l])
	checkHeap(c, name, &l.rest)
	n, last := 0, spot{}
	for r := range l.run(s) {
		at := l.spot(s, r)
		c.expect(n == 0 || last.less(at), "%s: order of the run at %d", name, n)
		n, last = n+1, at
	}
	c.expect(n == l.alive && (n == 0 || l.at(l.front) != 0 && !l.last.less(last)), "%s: %d in the run, recounted %d", name, l.alive, n)
	for i, x := range l.chunks {
		if x == nil {
			continue
		}
		taken := 0
		for _, h := range x.rows {
			if h != 0 {
				taken++
			}
		}
		c.expect(taken == x.n, "%s: chunk %d of the run", name, i)
	}
}
