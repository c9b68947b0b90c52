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
	err = s.index.Check(func(h handle) bool { return met[h] }, len(met))
	c.expect(err == nil, "%v", err)
	c.arena(met)
}

// rowTable verifies that exactly the rows of tasks are used, and that every extra has a row.
func (c *checker) rowTable(met map[handle]bool) {
	s, t := c.m.store, &c.m.store.rows
	err := t.slab.Check(func(page int) bool { return !s.cells.Has(page) })
	c.expect(err == nil, "rows: %v", err)
	used, extras := 0, 0
	for h, r := range t.slab.All {
		used++
		c.expect(met[h] && r.id == h, "row %d: of no task", h)
		if r.more != 0 {
			extras++
			c.expect(t.extras[r.more-1] != nil, "row %d: its extra is gone", h)
		}
	}
	c.expect(used == len(met), "%d rows for %d tasks", used, len(met))
	c.expect(extras+len(t.spare) == len(t.extras), "%d extras, %d of them spare, recounted %d", len(t.extras), len(t.spare), extras)
}

// arena verifies what is alive and dead, record by record, that what is read of each packs to the same bytes, and how
// often names are named. That each is found by its key the walk over the tasks verifies.
func (c *checker) arena(met map[handle]bool) {
	s, live := c.m.store, 0
	packed := func(yield func(*cell) bool) {
		for h := range met { // order-free: it only adds up
			if cell := s.cell(h); cell.record&refLive == 0 && !yield(cell) {
				return
			}
		}
	}
	for h := range met { // order-free: any violation will do
		cell := s.cell(h)
		if cell.record&refLive != 0 {
			live++
			continue
		}
		record := s.arena.Record(cell.record)
		c.expect(behaviorNumber(record) == uint64(s.rows.row(h).behavior), "row %d: behavior of its record", h)
		c.expect(s.owner(cell.record, record) == s.rows.row(h), "row %d: its record is not known as its own", h)
		c.packed(s.view.task(cell), record)
	}
	err := s.arena.Check(func(yield func(ref) bool) {
		for cell := range packed {
			if !yield(cell.record) {
				return
			}
		}
	})
	c.expect(err == nil, "arena: %v", err)
	err = s.names.Check(func(yield func(uint64) bool) {
		for cell := range packed {
			for n := range namesOf(s.arena.Record(cell.record)) {
				if !yield(n) {
					return
				}
			}
		}
	})
	c.expect(err == nil, "%v", err)
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
