package query

import (
	"cmp"
	"math"
	"slices"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/match"
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

	classes verdicts // by number; 0, of what was removed, is nobody's
	places  verdicts
	placed  bool   // a worker or a node is asked for
	worst   *Place // of those that a walk in the order of a time keeps

	attributes []uint64 // of labels and the parent
	mask, bits uint32   // of the signature
	ranges     [clocks]match.Range
	timed      []int // the clocks with a range
}

// verdicts are what was decided of a number when it was met first: whether a task that has it can be what is asked for. A number may be given to
// others while a walk goes on. This hides no task: if a worker or node has kept its number since the walk began, the decision was about it.
type verdicts []verdict

type verdict uint8

const (
	open verdict = iota
	yes
	no
)

// of returns what was decided of a number.
func (v verdicts) of(n int) verdict {
	if n < len(v) {
		return v[n]
	}
	return open
}

func (v *verdicts) decide(n int, fits bool) bool {
	for n >= len(*v) {
		*v = append(*v, open)
	}
	(*v)[n] = no
	if fits {
		(*v)[n] = yes
	}
	return fits
}

// ofClass decides of a class.
func (x *Index) ofClass(sc *scan, class uint32) bool {
	if v := sc.classes.of(int(class)); v != open {
		return v == yes
	}
	return sc.classes.decide(int(class), sc.filter.ofClass(&x.classes.rows[class].Class))
}

// atPlace decides of a worker.
func (x *Index) atPlace(sc *scan, place uint16) bool {
	if place == noPlace || place == anyPlace {
		return place == anyPlace
	}
	if v := sc.places.of(int(place)); v != open {
		return v == yes
	}
	w, f := x.places.rows[place].where, sc.filter
	fits := (f.Worker == "" || f.Worker == w.worker) && (f.Node == "" || f.Node == w.node)
	return sc.places.decide(int(place), fits)
}

// none reports whether no task can be what is asked for, judged by what tasks share.
func (x *Index) none(sc *scan) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return !x.anyClass(sc) || sc.placed && x.places.without == 0 && !x.anyPlace(sc)
}

func (x *Index) anyClass(sc *scan) bool {
	for n := range x.classes.rows {
		if x.classes.rows[n].tasks > 0 && x.ofClass(sc, uint32(n)) {
			return true
		}
	}
	return false
}

func (x *Index) anyPlace(sc *scan) bool {
	for n := range x.places.rows {
		if x.places.rows[n].tasks > 0 && x.atPlace(sc, uint16(n)) {
			return true
		}
	}
	return false
}

func newScan(f *Filter, desc bool, after Place) *scan {
	sc := &scan{filter: f, desc: desc, by: f.by(), after: after, classes: verdicts{no}, placed: f.Worker != "" || f.Node != "", ranges: f.ranges()}
	for _, l := range f.Labels {
		sc.attributes = append(sc.attributes, labelHash(f.Namespace, task.Label(l)))
	}
	if f.Parent != "" {
		sc.attributes = append(sc.attributes, parentHash(f.Namespace, f.Parent))
	}
	sc.mask, sc.bits = prefixMask(f.IDPrefix)
	for i, r := range sc.ranges {
		if r.Given() {
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

// behind calls look for each segment with tasks behind a creation rev, in order, until it returns false. Between two of them others have the index: a segment
// is found by its tasks, not by its number.
func (x *Index) behind(rev uint64, desc bool, look func(s *segment, low, high int) bool) {
	if desc && rev == 0 {
		rev = math.MaxUint64
	}
	next := func() bool {
		x.mu.RLock()
		defer x.mu.RUnlock()
		s := x.beside(rev, desc)
		if s == nil {
			return false
		}
		low, high := s.rest(rev, desc)
		rev = s.end(desc)
		return s.live == 0 || look(s, low, high)
	}
	for next() {
	}
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

// inOrder returns up to n places in the order of creation.
func (x *Index) inOrder(sc *scan, n int) (found []Place) {
	x.behind(sc.after.Rev, sc.desc, func(s *segment, low, high int) bool {
		return sc.each(s, low, high, func(slot int) bool {
			if x.selects(sc, s, slot) {
				found = append(found, Place{Rev: s.base + uint64(s.revs[slot])})
			}
			return len(found) < n
		})
	})
	return found
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
	if sc.classes.of(int(class)) == no || !x.ofClass(sc, class) || s.ids[slot]&sc.mask != sc.bits {
		return false
	}
	for _, c := range sc.timed {
		if at, r := s.times[c].get(slot), &sc.ranges[c]; at == 0 || at < r.From || r.To != 0 && at >= r.To {
			return false
		}
	}
	return !sc.placed || x.atPlace(sc, s.place[slot])
}

// best returns the first n places in the order of a time.
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
	// Late tasks end late: in either direction the best are found soon, and the rest is passed over.
	x.behind(0, sc.desc, func(s *segment, low, high int) bool {
		return !sc.mayHave(s) || sc.each(s, low, high, func(slot int) bool {
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
	})
	keep()
	return found
}

// mayHave reports whether a segment can have a time in the range that is better than the times that are kept.
func (sc *scan) mayHave(s *segment) bool {
	c, r := &s.times[sc.by], sc.ranges[sc.by]
	if c.max < r.From || r.To != 0 && c.min >= r.To {
		return false
	}
	if sc.after != (Place{}) && (sc.desc && c.min > sc.after.Time || !sc.desc && c.max < sc.after.Time) {
		return false
	}
	return sc.worst == nil || sc.desc && c.max >= sc.worst.Time || !sc.desc && c.min <= sc.worst.Time
}
