package query

import (
	"strings"

	"github.com/taskrt/taskrt/task"
)

// where says who runs a task, or ran its last attempt.
type where struct{ worker, node string }

func whereOf(t *task.Task) (w where) {
	w.worker, w.node = task.RunBy(t)
	return w
}

// noPlace is the place of a task that never ran. anyPlace is the place of a worker or node for which there was no number.
const noPlace, anyPlace = 0, 1<<16 - 1

// places gives numbers to workers.
type places struct {
	rows   []placed
	number map[where]uint16
	free   []uint16

	without int // tasks at anyPlace
}

type placed struct {
	where
	tasks int
}

func newPlaces() places { return places{rows: make([]placed, 1), number: map[where]uint16{}} }

// join returns the number of w for one more task, whose number was from.
func (x *places) join(w where, from uint16) uint16 {
	if from != noPlace && from != anyPlace && x.rows[from].where == w {
		return from
	}
	x.leave(from)
	if w == (where{}) {
		return noPlace
	}
	n, known := x.number[w]
	switch last := len(x.free) - 1; {
	case known:
	case last >= 0:
		n, x.free = x.free[last], x.free[:last]
	case len(x.rows) < anyPlace:
		n = uint16(len(x.rows))
		x.rows = append(x.rows, placed{})
	default:
		x.without++
		return anyPlace
	}
	if !known {
		w = where{strings.Clone(w.worker), strings.Clone(w.node)} // they may be parts of a record
		x.rows[n] = placed{where: w}
		x.number[w] = n
	}
	x.rows[n].tasks++
	return n
}

// leave undoes a join.
func (x *places) leave(n uint16) {
	switch n {
	case anyPlace:
		x.without--
		return
	case noPlace:
		return
	}
	p := &x.rows[n]
	if p.tasks--; p.tasks == 0 {
		delete(x.number, p.where)
		x.free = append(x.free, n)
	}
}
