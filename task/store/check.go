package store

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/taskrt/taskrt/task/queue"
	"github.com/taskrt/taskrt/task/table"
)

// Check verifies how records are kept: the order of creation, rows, cells, the index, the arena. The user verifies that each record is found by its
// key.
func (s *Store[T]) Check() error {
	met := map[table.Handle]bool{}
	if err := s.order.Check(func(free *table.Handle) bool { return *free == 0 }); err != nil {
		return fmt.Errorf("order of creation: %w", err)
	}
	for h := range s.order.All {
		if met[*h] || s.Rows.Row(*h).ID != *h {
			return fmt.Errorf("row %d: twice, or not there", *h)
		}
		met[*h] = true
	}
	if err := s.Rows.Check(met, func(page int) bool { return !s.cells.Has(page) }); err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	if err := s.index.Check(func(h table.Handle) bool { return met[h] }, len(met)); err != nil {
		return err
	}
	return s.checkRecords(met)
}

// checkRecords verifies, record by record, what is alive and dead, that each record packs to the same bytes after it was read, and how often each
// name is used.
func (s *Store[T]) checkRecords(met map[table.Handle]bool) error {
	var packed []table.Ref
	for h := range met { // order-free: any violation will do
		c := s.cell(h)
		if c.record&refLive != 0 {
			continue
		}
		packed = append(packed, c.record)
		if err := s.checkRecord(s.Rows.Row(h), c); err != nil {
			return fmt.Errorf("row %d: %w", h, err)
		}
	}
	err := s.arena.Check(func(yield func(table.Ref) bool) {
		for _, at := range packed {
			if !yield(at) {
				return
			}
		}
	})
	if err != nil {
		return fmt.Errorf("arena: %w", err)
	}
	err = s.names.Check(func(yield func(uint64) bool) {
		for _, at := range packed {
			for n := range namesOf(s.arena.Record(at)).All {
				if !yield(n) {
					return
				}
			}
		}
	})
	if runs := len(met) - len(packed); err == nil && runs+len(s.spare) != pageRows*s.live.Len() {
		err = fmt.Errorf("%d tasks run, and %d places of %d are free", runs, len(s.spare), pageRows*s.live.Len())
	}
	return err
}

// checkRecord verifies a packed record against what is read of it. The names are numbers, which are counted elsewhere.
func (s *Store[T]) checkRecord(r *queue.Row, c *cell) error {
	record := s.arena.Record(c.record)
	switch {
	case ownerOf(record) != uint64(r.Behavior):
		return errors.New("whose its record is")
	case s.owner(c.record, record) != r:
		return errors.New("its record is not known as its own")
	}
	t := s.record(c)
	_, id := s.form.Key(t)
	if !s.form.Packs(t) || s.form.Created(t) != c.created || !bytes.HasPrefix(record, appendID(nil, id)) || !bytes.HasSuffix(record, s.form.AppendBody(nil, t)) {
		return errors.New("what is packed is not what is read")
	}
	return nil
}

// Packed returns the bytes of the record of r in memory, which fault injection damages; nil if it is not packed.
func (s *Store[T]) Packed(r *queue.Row) []byte {
	if c := s.cell(r.ID); c.record&refLive == 0 {
		return s.arena.Record(c.record)
	}
	return nil
}
