package task

import "bytes"

// store verifies how tasks are kept: the order of creation, rows, cells, the index, the arena.
func (c *checker) store() {
	s, met := c.m.store, map[handle]bool{}
	err := s.order.Check(func(free *handle) bool { return *free == 0 })
	c.expect(err == nil, "order of creation: %v", err)
	for h := range s.order.All {
		c.expect(!met[*h] && s.rows.Row(*h).ID == *h, "row %d: twice, or not there", *h)
		met[*h] = true
	}
	err = s.rows.Check(met, func(page int) bool { return !s.cells.Has(page) })
	c.expect(err == nil, "rows: %v", err)
	err = s.index.Check(func(h handle) bool { return met[h] }, len(met))
	c.expect(err == nil, "%v", err)
	c.arena(met)
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
		c.expect(behaviorNumber(record) == uint64(s.rows.Row(h).Behavior), "row %d: behavior of its record", h)
		c.expect(s.owner(cell.record, record) == s.rows.Row(h), "row %d: its record is not known as its own", h)
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
