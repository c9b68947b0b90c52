package task

import "github.com/taskrt/taskrt/task/table"

// line is a queue of rows by time that nearly always grows at its end: tasks become due, and final, in order. Those that
// do stand in a run, four bytes each, of which the key is in the row; any other is in a heap beside it.
type line struct {
	t4     bool         // by order, else by row.at
	chunks []*lineChunk // nil: nobody in it is left
	base   uint64       // number of the first place of chunks[0]
	front  uint64       // of the first row of the run
	end    uint64       // after the last place that was given
	last   spot         // of the row that the run ended with
	alive  int          // rows in the run
	rest   heap[*row]
}

const (
	chunkRows = 142
	lineShift = 32      // places that a row is moved forward at most before it goes into the heap
	lineLoose = 1 << 16 // places from which a run in which little is left is written again
)

type lineChunk struct {
	n    int
	rows [chunkRows]handle
}

// spot is the place of a row in an order.
type spot struct {
	key int64
	tie uint64
}

func (a spot) less(b spot) bool { return a.key < b.key || a.key == b.key && a.tie < b.tie }

// placeBits are the bits of a place's number that a row of the run keeps in its heapPos, which is -1 less the number.
const placeBits = 1<<31 - 1

func placeOf(n uint64) heapPos { return -1 - heapPos(n&placeBits) }

func (l *line) number(pos heapPos) uint64 { return l.base + (uint64(-1-pos)-l.base)&placeBits }

func (l *line) len() int { return l.alive + l.rest.Len() }

// spot returns where r belongs.
func (l *line) spot(s *store, r *row) spot {
	key := r.at
	if l.t4 {
		key = orderOf(key, r.priority)
	}
	return spot{key, s.cell(r.id).created}
}

func (l *line) at(n uint64) handle {
	i := n - l.base
	return l.chunks[i/chunkRows].rows[i%chunkRows]
}

func (l *line) row(s *store, n uint64) *row { return s.rows.row(l.at(n)) }

// pos returns where a row keeps its position in the line.
func (l *line) pos(r *row) *heapPos {
	if l.t4 {
		return &r.place
	}
	return &r.pos
}

// push enters r, whose key is known.
func (l *line) push(s *store, r *row) {
	at := l.spot(s, r)
	if l.alive == 0 {
		l.front, l.last = l.end, spot{}
		l.trim()
	}
	switch {
	case l.alive == 0 || l.last.less(at):
		if l.alive == 0 {
			l.front = l.end
		}
		l.put(l.grow(), r)
		l.alive++
		l.last = at
	case !l.insert(s, r, at):
		l.rest.Push(at.key, at.tie, l.pos(r), r)
	}
}

// grow makes a place at the end.
func (l *line) grow() uint64 {
	if (l.end-l.base)/chunkRows == uint64(len(l.chunks)) {
		l.chunks = append(l.chunks, &lineChunk{})
	}
	l.end++
	return l.end - 1
}

// put takes a place that is free.
func (l *line) put(n uint64, r *row) {
	i := n - l.base
	c := l.chunks[i/chunkRows]
	c.rows[i%chunkRows] = r.id
	c.n++
	*l.pos(r) = placeOf(n)
}

// clear frees a place.
func (l *line) clear(n uint64) {
	i := n - l.base
	c := l.chunks[i/chunkRows]
	c.rows[i%chunkRows] = 0
	c.n--
}

// insert puts r before the last few of the run, and reports whether that was enough. Tasks that end in one entry do not in
// order of creation.
func (l *line) insert(s *store, r *row, at spot) bool {
	to := l.end
	for ; ; to-- {
		if to == l.front || l.end-to == lineShift || l.chunks[(to-1-l.base)/chunkRows] == nil {
			return false
		}
		if h := l.at(to - 1); h != 0 && l.spot(s, s.rows.row(h)).less(at) {
			break
		}
	}
	for n := l.grow(); n > to; n-- {
		if h := l.at(n - 1); h != 0 {
			l.clear(n - 1)
			l.put(n, s.rows.row(h))
		}
	}
	l.put(to, r)
	l.alive++
	return true
}

// remove takes r out.
func (l *line) remove(s *store, r *row) {
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
		l.rewrite(s)
	}
}

// trim lets go of the chunks before the front.
func (l *line) trim() {
	passed := (l.front - l.base) / chunkRows
	clear(l.chunks[:passed])
	l.chunks = l.chunks[passed:]
	l.base += passed * chunkRows
}

// rewrite makes the run dense.
func (l *line) rewrite(s *store) {
	next := line{t4: l.t4, last: l.last, alive: l.alive, rest: l.rest}
	for r := range l.run(s) {
		next.put(next.grow(), r)
	}
	*l = next
}

// run yields the rows of the run in order.
func (l *line) run(s *store) func(yield func(*row) bool) {
	return func(yield func(*row) bool) {
		for n, ok := l.next(l.front, l.alive > 0); ok; n, ok = l.next(n+1, true) {
			if !yield(l.row(s, n)) {
				return
			}
		}
	}
}

// next returns the first place from n on that is taken.
func (l *line) next(n uint64, more bool) (uint64, bool) {
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

// all yields the rows in no order that means something.
func (l *line) all(s *store) func(yield func(*row) bool) {
	return func(yield func(*row) bool) {
		for r := range l.run(s) {
			if !yield(r) {
				return
			}
		}
		l.rest.All(yield)
	}
}

// head returns the first row, or nil.
func (l *line) head(s *store) *row {
	var first *row
	if l.alive > 0 {
		first = l.row(s, l.front)
	}
	if n := l.rest.Head(); n != nil && (first == nil || (spot{n.Key, n.Tie}).less(l.spot(s, first))) {
		return n.Item
	}
	return first
}

// lineCursor walks a line in order without changing it.
type lineCursor struct {
	l    *line
	s    *store
	row  *row // the current one; nil: the end
	at   uint64
	run  bool // at is the next one of the run
	rest table.Cursor[*table.Pos, uint64, *row]
}

func (l *line) cursor(s *store) lineCursor {
	c := lineCursor{l: l, s: s, rest: l.rest.Cursor()}
	c.at, c.run = l.next(l.front, l.alive > 0)
	c.choose()
	return c
}

// choose finds the current row: the first of the run or of the heap.
func (c *lineCursor) choose() {
	c.row = nil
	if c.run {
		c.row = c.l.row(c.s, c.at)
	}
	if n := c.rest.Node(); n != nil && (c.row == nil || (spot{n.Key, n.Tie}).less(c.spot())) {
		c.row = n.Item
	}
}

// spot returns the place of the current row.
func (c *lineCursor) spot() spot { return c.l.spot(c.s, c.row) }

// next moves on.
func (c *lineCursor) next() {
	if n := c.rest.Node(); n != nil && n.Item == c.row {
		c.rest.Next()
	} else {
		c.at, c.run = c.l.next(c.at+1, true)
	}
	c.choose()
}
