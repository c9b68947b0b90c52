package task

import (
	"slices"
	"sort"
)

// store holds all tasks: found by key, walked in order of creation, frozen without copying them. It is the seam behind
// which records may later become pointer-free rows (ARCHITECTURE section 4): rules use only its methods and never keep
// anything but *row and *Task.
//
// Tasks live in pages in order of CreatedRev. A page that a Frozen can see is cloned before it is written
// (page.epoch < store.epoch), so freezing copies the table of pages and nothing else. Creation only appends, removal
// shrinks a page and merges it with a neighbor when both are nearly empty: on average the pages stay a quarter full, and
// no slot is ever reused.
type store struct {
	spaces map[string]map[string]*row // namespace, then ID
	pages  []*page                    // none empty
	firsts []uint64                   // CreatedRev of each page's first task: searched without touching the pages
	epoch  uint64
	n      int
}

// row is what the machine derives for one task. It is in no snapshot.
type row struct {
	task     *Task
	behavior *behaviorRow
	queue    *heap[*row] // the one it is in by time: its behavior's future, due or final tasks; Machine.overruns while RUNNING
	lane     *lane       // set while it is due and may be assigned
	key      *keyQueue   // set while a limit per key counts it
	pos      heapPos     // in queue
	place    heapPos     // due: in its lane, or waiting behind its key
	side     heapPos     // due: in its key's promoted; RUNNING: in Machine.losses
	deadline heapPos     // in Machine.deadlines
	doomed   heapPos     // RUNNING: in Machine.doomed
	part     heapPos     // of an operation: in its open, failed or cleanups
	bound    heapPos     // a cleanup that is not final: in its session's cleanups
}

const (
	pageTasks = 256
	pageMerge = pageTasks / 4 // a page with fewer tasks looks for a neighbor to merge with
)

type page struct {
	epoch uint64
	n     int
	revs  [pageTasks]uint64 // CreatedRev, so that searching does not touch the tasks
	tasks [pageTasks]*Task
}

func newStore() store {
	return store{spaces: map[string]map[string]*row{DefaultNamespace: {}, SystemNamespace: {}}}
}

// get returns the row of k, or nil.
func (s *store) get(k Key) *row { return s.spaces[k.Namespace][k.ID] }

// page returns page i, writable.
func (s *store) page(i int) *page {
	p := s.pages[i]
	if p.epoch != s.epoch {
		clone := *p
		clone.epoch = s.epoch
		p = &clone
		s.pages[i] = p
	}
	return p
}

// locate returns the page and the slot of the task created at rev; ok is false if there is none, and the place is then
// the one before which it would be.
func (s *store) locate(rev uint64) (pageIndex, slot int, ok bool) {
	i := sort.Search(len(s.firsts), func(i int) bool { return s.firsts[i] > rev }) - 1
	if i < 0 {
		return 0, 0, false
	}
	p := s.pages[i]
	slot, ok = slices.BinarySearch(p.revs[:p.n], rev)
	return i, slot, ok
}

// add appends a task; its CreatedRev is greater than every other.
func (s *store) add(r *row) {
	t := r.task
	s.spaces[t.Namespace][t.ID] = r
	s.n++
	last := len(s.pages) - 1
	if last < 0 || s.pages[last].n == pageTasks {
		s.pages = append(s.pages, &page{epoch: s.epoch})
		s.firsts = append(s.firsts, t.CreatedRev)
		last++
	}
	p := s.page(last)
	p.revs[p.n], p.tasks[p.n] = t.CreatedRev, t
	p.n++
}

// replace makes t the content of r.
func (s *store) replace(r *row, t *Task) {
	i, slot, _ := s.locate(t.CreatedRev)
	s.page(i).tasks[slot] = t
	r.task = t
}

// remove takes the task of r out.
func (s *store) remove(r *row) {
	t := r.task
	delete(s.spaces[t.Namespace], t.ID)
	s.n--
	i, slot, _ := s.locate(t.CreatedRev)
	p := s.page(i)
	copy(p.revs[slot:], p.revs[slot+1:p.n])
	copy(p.tasks[slot:], p.tasks[slot+1:p.n])
	p.n--
	p.revs[p.n], p.tasks[p.n] = 0, nil
	if p.n > 0 {
		s.firsts[i] = p.revs[0]
	}
	s.shrink(i)
}

// shrink drops page i if it is empty and merges it with a neighbor if both together fill at most half a page, so that
// the next removals or appends do not split or merge again at once.
func (s *store) shrink(i int) {
	p := s.pages[i]
	switch {
	case p.n == 0:
	case p.n >= pageMerge:
		return
	case i > 0 && s.pages[i-1].n+p.n <= pageTasks/2:
		s.appendPage(i-1, p)
	case i+1 < len(s.pages) && s.pages[i+1].n+p.n <= pageTasks/2:
		i++
		s.appendPage(i-1, s.pages[i])
	default:
		return
	}
	s.pages = slices.Delete(s.pages, i, i+1)
	s.firsts = slices.Delete(s.firsts, i, i+1)
}

func (s *store) appendPage(i int, from *page) {
	to := s.page(i)
	copy(to.revs[to.n:], from.revs[:from.n])
	copy(to.tasks[to.n:], from.tasks[:from.n])
	to.n += from.n
}

// from yields the tasks created after rev, in order of creation.
func (s *store) from(rev uint64) func(yield func(*Task) bool) {
	return func(yield func(*Task) bool) {
		i, slot, ok := s.locate(rev)
		if ok {
			slot++
		}
		for ; i < len(s.pages); i, slot = i+1, 0 {
			p := s.pages[i]
			for _, t := range p.tasks[min(slot, p.n):p.n] {
				if !yield(t) {
					return
				}
			}
		}
	}
}

// freeze returns the pages as they are and will stay; the store clones a page before it writes it next.
func (s *store) freeze() []*page {
	s.epoch++
	return slices.Clone(s.pages)
}
