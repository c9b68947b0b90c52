package queue

import "github.com/taskrt/taskrt/task/table"

// Line is a queue of rows by time that nearly always grows at its end: tasks become due, and final, in order. Rows that come in order stand in a run,
// four bytes each, and their keys are in the rows. All other rows are in a heap beside the run.
type Line struct {
	t4     bool     // by Row.Order, else by Row.At
	chunks []*chunk // nil: nobody in it is left
	base   uint64   // number of the first place of chunks[0]
	front  uint64   // of the first row of the run
	end    uint64   // after the last place that was given
	last   Spot     // of the row at which the run ended
	alive  int      // rows in the run
	rest   Heap
}

const (
	chunkRows = 142
	lineShift = 32      // places that a row is moved forward at most before it goes into the heap
	lineLoose = 1 << 16 // a run of so many places in which little is left is written again
)

type chunk struct {
	n    int
	rows [chunkRows]table.Handle
}

// Spot is the place of a row in an order.
type Spot struct {
	Key int64
	Tie uint64
}

// Less reports whether a comes before b.
func (a Spot) Less(b Spot) bool { return a.Key < b.Key || a.Key == b.Key && a.Tie < b.Tie }

// placeBits are the bits of a place's number that a row of the run keeps in its Pos, which is -1 less the number.
const placeBits = 1<<31 - 1

func placeOf(n uint64) table.Pos { return -1 - table.Pos(n&placeBits) }

func (l *Line) number(pos table.Pos) uint64 { return l.base + (uint64(-1-pos)-l.base)&placeBits }

// Len returns the number of rows.
func (l *Line) Len() int { return l.alive + l.rest.Len() }

// Spot returns where r belongs.
func (l *Line) Spot(t *Rows, r *Row) Spot { return Spot{l.key(r), t.created(r.ID)} }

func (l *Line) key(r *Row) int64 {
	if l.t4 {
		return r.Order()
	}
	return r.At
}

func (l *Line) at(n uint64) table.Handle {
	i := n - l.base
	return l.chunks[i/chunkRows].rows[i%chunkRows]
}

func (l *Line) row(t *Rows, n uint64) *Row { return t.Row(l.at(n)) }

// pos returns where a row keeps its position in the line.
func (l *Line) pos(r *Row) *table.Pos {
	if l.t4 {
		return &r.Place
	}
	return &r.Pos
}

// Push enters r. created is when its task was created.
func (l *Line) Push(t *Rows, r *Row, created uint64) {
	at := Spot{l.key(r), created}
	if l.alive == 0 {
		l.front, l.last = l.end, Spot{}
		l.trim()
	}
	switch {
	case l.alive == 0 || l.last.Less(at):
		if l.alive == 0 {
			l.front = l.end
		}
		l.put(l.grow(), r)
		l.alive++
		l.last = at
	case !l.insert(t, r, at):
		l.rest.Push(at.Key, at.Tie, l.pos(r), r)
	}
}

// grow makes a place at the end.
func (l *Line) grow() uint64 {
	if (l.end-l.base)/chunkRows == uint64(len(l.chunks)) {
		l.chunks = append(l.chunks, &chunk{})
	}
	l.end++
	return l.end - 1
}

// put takes a place that is free.
func (l *Line) put(n uint64, r *Row) {
	i := n - l.base
	c := l.chunks[i/chunkRows]
	c.rows[i%chunkRows] = r.ID
	c.n++
	*l.pos(r) = placeOf(n)
}

// clear frees a place.
func (l *Line) clear(n uint64) {
	i := n - l.base
	c := l.chunks[i/chunkRows]
	c.rows[i%chunkRows] = 0
	c.n--
}

// insert puts r before the last few rows of the run, and reports whether this was enough. Tasks that end in one entry do not end in the order of
// their creation.
func (l *Line) insert(t *Rows, r *Row, at Spot) bool {
	to := l.end
	for ; ; to-- {
		if to == l.front || l.end-to == lineShift || l.chunks[(to-1-l.base)/chunkRows] == nil {
			return false
		}
		if h := l.at(to - 1); h != 0 && l.Spot(t, t.Row(h)).Less(at) {
			break
		}
	}
	for n := l.grow(); n > to; n-- {
		if h := l.at(n - 1); h != 0 {
			l.clear(n - 1)
			l.put(n, t.Row(h))
		}
	}
	l.put(to, r)
	l.alive++
	return true
}

// Remove takes r out.
func (l *Line) Remove(t *Rows, r *Row) {
	pos := l.pos(r)
	if *pos > 0 {
		l.rest.Remove(pos)
		return
	}
	n := l.number(*pos)
	*pos = 0
	l.clear(n)
	l.alive--
	if i := (n - l.base) / chunkRows; l.chunks[i].n == 0 && i+1 < uint64(len(l.chunks)) {
		l.chunks[i] = nil
	}
	if l.alive == 0 {
		return
	}
	if n == l.front {
		l.front, _ = l.next(n+1, true)
		l.trim()
	}
	if span := l.end - l.front; span > lineLoose && span > 8*uint64(l.alive) {
		l.rewrite(t)
	}
}

// trim lets go of the chunks before the front.
func (l *Line) trim() {
	passed := (l.front - l.base) / chunkRows
	clear(l.chunks[:passed])
	l.chunks = l.chunks[passed:]
	l.base += passed * chunkRows
}

// rewrite makes the run dense.
func (l *Line) rewrite(t *Rows) {
	next := Line{t4: l.t4, last: l.last, alive: l.alive, rest: l.rest}
	for r := range l.run(t) {
		next.put(next.grow(), r)
	}
	*l = next
}

// run yields the rows of the run in order.
func (l *Line) run(t *Rows) func(yield func(*Row) bool) {
	return func(yield func(*Row) bool) {
		for n, ok := l.next(l.front, l.alive > 0); ok; n, ok = l.next(n+1, true) {
			if !yield(l.row(t, n)) {
				return
			}
		}
	}
}

// next returns the first place from n on that is taken.
func (l *Line) next(n uint64, more bool) (uint64, bool) {
	for more && n < l.end {
		switch c := l.chunks[(n-l.base)/chunkRows]; {
		case c == nil:
			n += chunkRows - (n-l.base)%chunkRows
		case l.at(n) != 0:
			return n, true
		default:
			n++
		}
	}
	return 0, false
}

// All yields the rows in no order that means something.
func (l *Line) All(t *Rows) func(yield func(*Row) bool) {
	return func(yield func(*Row) bool) {
		for r := range l.run(t) {
			if !yield(r) {
				return
			}
		}
		l.rest.All(yield)
	}
}

// Head returns the first row, or nil.
func (l *Line) Head(t *Rows) *Row {
	var first *Row
	if l.alive > 0 {
		first = l.row(t, l.front)
	}
	if n := l.rest.Head(); n != nil && (first == nil || (Spot{n.Key, n.Tie}).Less(l.Spot(t, first))) {
		return n.Item
	}
	return first
}

// Before returns how many rows come before r, which is in the line. It counts up to most of them.
func (l *Line) Before(t *Rows, r *Row, most int) (n int) {
	for c := l.Cursor(t); c.Row != r && n < most; c.Next() {
		n++
	}
	return n
}

// Cursor walks a line in order without changing it.
type Cursor struct {
	Row  *Row // the current row; nil: the end
	l    *Line
	t    *Rows
	at   uint64
	run  bool // at is the next row of the run
	rest table.Cursor[*table.Pos, uint64, *Row]
}

// Cursor returns a cursor that stands at the head.
func (l *Line) Cursor(t *Rows) Cursor {
	c := Cursor{l: l, t: t, rest: l.rest.Cursor()}
	c.at, c.run = l.next(l.front, l.alive > 0)
	c.choose()
	return c
}

// choose finds the current row: the first of the run or of the heap.
func (c *Cursor) choose() {
	c.Row = nil
	if c.run {
		c.Row = c.l.row(c.t, c.at)
	}
	if n := c.rest.Node(); n != nil && (c.Row == nil || (Spot{n.Key, n.Tie}).Less(c.Spot())) {
		c.Row = n.Item
	}
}

// Spot returns the place of the current row.
func (c *Cursor) Spot() Spot { return c.l.Spot(c.t, c.Row) }

// Next moves on.
func (c *Cursor) Next() {
	if n := c.rest.Node(); n != nil && n.Item == c.Row {
		c.rest.Next()
	} else {
		c.at, c.run = c.l.next(c.at+1, true)
	}
	c.choose()
}
