package query

import (
	"cmp"
	"math"
	"slices"
)

// Place is where a task stands in the order of a search: its time, 0 in the order of creation, and its creation rev.
type Place struct {
	Time int64
	Rev  uint64
}

func (p Place) compare(q Place) int {
	return cmp.Or(cmp.Compare(p.Time, q.Time), cmp.Compare(p.Rev, q.Rev))
}

// scan is one walk over the columns.
type scan struct {
	filter *Filter
	desc   bool
	by     int
	after  Place // the zero Place: the walk begins at an end

	classes verdicts // by number
	places  verdicts
	placed  bool   // a worker or a node is asked for
	worst   *Place // of those that a walk in the order of a time keeps

	attributes []uint64 // of labels and the parent
	mask, bits uint32   // of the signature
	ranges     [clocks]Range
	timed      []int // the clocks with a range
}

// verdicts are what was decided of a number when it was met first: whether a task that has it can be what is asked for. A number may be given to others
// while a walk goes on. That hides no task: whoever has kept a number since the walk began is who it was decided for.
type verdicts []verdict

type verdict uint8

const (
	open verdict = iota
	yes
	no
)

func (v *verdicts) decide(n int, fits bool) verdict {
	for n >= len(*v) {
		*v = append(*v, open)
	}
	(*v)[n] = no
	if fits {
		(*v)[n] = yes
	}
	return (*v)[n]
}

// ofClass decides of a class.
func (x *Index) ofClass(sc *scan, class uint32) bool {
	if int(class) < len(sc.classes) && sc.classes[class] != open {
		return sc.classes[class] == yes
	}
	return sc.classes.decide(int(class), sc.filter.ofClass(&x.classes.rows[class].Class)) == yes
}

// atPlace decides of a worker.
func (x *Index) atPlace(sc *scan, place uint16) bool {
	if place == noPlace || place == anyPlace {
		return place == anyPlace
	}
	if int(place) < len(sc.places) && sc.places[place] != open {
		return sc.places[place] == yes
	}
	w, f := x.places.rows[place].where, sc.filter
	fits := (f.Worker == "" || f.Worker == w.worker) && (f.Node == "" || f.Node == w.node)
	return sc.places.decide(int(place), fits) == yes
}

// none reports whether there is no task that can be what is asked for, as far as what tasks share says.
func (x *Index) none(sc *scan) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if !slices.ContainsFunc(x.classes.rows, func(c class) bool { return c.tasks > 0 && sc.filter.ofClass(&c.Class) }) {
		return true
	}
	if !sc.placed || x.places.without > 0 {
		return false
	}
	for n := range x.places.rows {
		if x.places.rows[n].tasks > 0 && x.atPlace(sc, uint16(n)) {
			return false
		}
	}
	return true
}

func newScan(f *Filter, desc bool, after Place) *scan {
	sc := &scan{filter: f, desc: desc, by: f.by(), after: after, placed: f.Worker != "" || f.Node != "", ranges: f.ranges()}
	for _, l := range f.Labels {
		sc.attributes = append(sc.attributes, labelHash(f.Namespace, l))
	}
	if f.Parent != "" {
		sc.attributes = append(sc.attributes, parentHash(f.Namespace, f.Parent))
	}
	sc.mask, sc.bits = prefixMask(f.IDPrefix)
	for i, r := range sc.ranges {
		if r.given() {
			sc.timed = append(sc.timed, i)
		}
	}
	return sc
}

// candidates returns the places of up to n tasks, behind the last ones, that the columns select. Fewer than n are the last.
func (x *Index) candidates(sc *scan, n int) []Place {
	var found []Place
	if sc.by == createdAt {
		found = x.inOrder(sc, n)
	} else {
		found = x.best(sc, n)
	}
	if len(found) > 0 {
		sc.after = found[len(found)-1]
	}
	return found
}

// inOrder walks in the order of creation. Between two segments others have the index: a segment is found by its tasks, not by its number.
func (x *Index) inOrder(sc *scan, n int) (found []Place) {
	at := sc.after.Rev
	if sc.desc && at == 0 {
		at = math.MaxUint64
	}
	for len(found) < n {
		s := func() *segment {
			x.mu.RLock()
			defer x.mu.RUnlock()
			s := x.beside(at, sc.desc)
			if s != nil {
				found, at = x.walk(sc, s, at, found, n)
			}
			return s
		}()
		if s == nil {
			break
		}
	}
	return found
}

// beside returns the segment with the next task behind rev.
func (x *Index) beside(rev uint64, desc bool) *segment {
	if desc {
		i, _ := slices.BinarySearchFunc(x.segments, rev, func(s *segment, rev uint64) int { return cmp.Compare(s.base, rev) })
		if i == 0 {
			return nil
		}
		return x.segments[i-1] // its base is below rev
	}
	i, _ := slices.BinarySearchFunc(x.segments, rev, func(s *segment, rev uint64) int {
		if s.last() > rev {
			return 1
		}
		return -1
	})
	if i == len(x.segments) {
		return nil
	}
	return x.segments[i]
}

// walk appends what a segment has behind a creation rev. It returns up to where it has looked.
func (x *Index) walk(sc *scan, s *segment, at uint64, found []Place, n int) ([]Place, uint64) {
	take := func(slot int) bool {
		if x.selects(sc, s, slot) {
			found = append(found, Place{Rev: s.base + uint64(s.revs[slot])})
		}
		return len(found) < n
	}
	low, high := s.rest(at, sc.desc)
	if s.live > 0 && !sc.each(s, low, high, take) {
		return found, found[len(found)-1].Rev
	}
	return found, s.end(sc.desc)
}

// each calls take for the slots from low up to high that can be what is asked for, until it returns false.
func (sc *scan) each(s *segment, low, high int, take func(slot int) bool) bool {
	if len(sc.attributes) == 0 {
		for i := low; i < high; i++ {
			slot := i
			if sc.desc {
				slot = high - 1 - (i - low)
			}
			if !take(slot) {
				return false
			}
		}
		return true
	}
	slots := s.posted.all(sc.attributes)
	if sc.desc {
		slices.Reverse(slots)
	}
	for _, slot := range slots {
		if slot >= low && slot < high && !take(slot) {
			return false
		}
	}
	return true
}

// selects reports whether a task can be what is asked for, as far as the columns say.
func (x *Index) selects(sc *scan, s *segment, slot int) bool {
	class := s.class[slot]
	if int(class) < len(sc.classes) && sc.classes[class] == no || class == 0 || !x.ofClass(sc, class) || s.ids[slot]&sc.mask != sc.bits {
		return false
	}
	for _, c := range sc.timed {
		if at, r := s.times[c].get(slot), &sc.ranges[c]; at == 0 || at < int64(r.From) || r.To != 0 && at >= int64(r.To) {
			return false
		}
	}
	return !sc.placed || x.atPlace(sc, s.place[slot])
}

// best walks over all segments and returns the first n places in the order of a time.
func (x *Index) best(sc *scan, n int) []Place {
	first := func(a, b Place) int { return a.compare(b) }
	if sc.desc {
		first = func(a, b Place) int { return b.compare(a) }
	}
	var found []Place
	sc.worst = nil
	keep := func() {
		slices.SortFunc(found, first)
		if found = found[:min(n, len(found))]; len(found) == n {
			sc.worst = &Place{found[n-1].Time, found[n-1].Rev}
		}
	}
	at := uint64(0)
	if sc.desc {
		at = math.MaxUint64 // late tasks end late: the best are found soon, and the rest is passed over
	}
	for {
		s := func() *segment {
			x.mu.RLock()
			defer x.mu.RUnlock()
			s := x.beside(at, sc.desc)
			if s == nil {
				return nil
			}
			low, high := s.rest(at, sc.desc)
			if s.live > 0 && sc.mayHave(s) {
				sc.each(s, low, high, func(slot int) bool {
					if x.selects(sc, s, slot) {
						p := Place{s.times[sc.by].get(slot), s.base + uint64(s.revs[slot])}
						if (sc.after == (Place{}) || first(sc.after, p) < 0) && (sc.worst == nil || first(p, *sc.worst) < 0) {
							found = append(found, p)
						}
					}
					if len(found) >= 2*n+1024 {
						keep()
					}
					return true
				})
			}
			at = s.end(sc.desc)
			return s
		}()
		if s == nil {
			break
		}
	}
	keep()
	return found
}

// mayHave reports whether a segment can have a time in the range, and one that is better than those that are kept.
func (sc *scan) mayHave(s *segment) bool {
	c, r := &s.times[sc.by], sc.ranges[sc.by]
	if c.max < int64(r.From) || r.To != 0 && c.min >= int64(r.To) {
		return false
	}
	if sc.after != (Place{}) && (sc.desc && c.min > sc.after.Time || !sc.desc && c.max < sc.after.Time) {
		return false
	}
	return sc.worst == nil || sc.desc && c.max >= sc.worst.Time || !sc.desc && c.min <= sc.worst.Time
}
