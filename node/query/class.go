package query

import (
	"strings"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/match"
)

// Class is what tasks have in common.
type Class struct {
	Namespace, Behavior string
	Version             string // the pinned one
	Code                string // of its error
	State               match.State
}

// otherCode stands for the codes and versions that have no class of their own: guests give codes, and could give each task one.
const otherCode = "\x00other"

// maxClasses bounds the classes. There is one for each behavior, version, state and code that tasks have now.
const maxClasses = 50_000

func classOf(t *task.Task) Class {
	c := Class{Namespace: t.Namespace, Behavior: t.Behavior, Version: t.Version, State: task.StateOf(t)}
	if t.Error != nil {
		c.Code = t.Error.Code
	}
	return c
}

// class is a row of the table of classes.
type class struct {
	Class
	tasks int
	moves [match.NumStates]uint32 // the number that a task of this class was given last, by state: most go the same way

	// Of failures, which of the class failed first and last, unless one of them was lost (SPEC Q2).
	first, last Place
	lost        bool
}

// classes gives numbers to classes. Number 0 is nobody's.
type classes struct {
	rows   []class
	number map[Class]uint32
	free   []uint32
	max    int
	last   uint32 // given to a new task
}

func newClasses(most int) classes {
	return classes{rows: make([]class, 1), number: map[Class]uint32{}, max: most}
}

// of returns the number of c. from is a number that probably leads to it.
func (x *classes) of(c Class, from uint32) uint32 {
	guess := x.rows[from].moves[c.State]
	if guess != 0 && x.rows[guess].tasks > 0 && x.rows[guess].Class == c {
		return guess
	}
	n := x.find(c)
	x.rows[from].moves[c.State] = n
	return n
}

func (x *classes) find(c Class) uint32 {
	if n := x.number[c]; n != 0 {
		return n
	}
	if len(x.number) >= x.max && c.Code != otherCode {
		c.Code, c.Version = otherCode, ""
		return x.find(c)
	}
	n := uint32(len(x.rows))
	if last := len(x.free) - 1; last >= 0 {
		n, x.free = x.free[last], x.free[:last]
	} else {
		x.rows = append(x.rows, class{})
	}
	c = Class{strings.Clone(c.Namespace), strings.Clone(c.Behavior), strings.Clone(c.Version), strings.Clone(c.Code), c.State} // they may be parts of a record
	x.rows[n] = class{Class: c}
	x.number[c] = n
	return n
}

// join counts a task, whose last outcome was at a place.
func (x *classes) join(n uint32, at Place) {
	c := &x.rows[n]
	c.tasks++
	if failures.Has(c.State) {
		c.meet(at)
	}
}

// leave undoes join. The number is free when nobody is left.
func (x *classes) leave(n uint32, at Place) {
	c := &x.rows[n]
	if c.tasks--; c.tasks == 0 {
		delete(x.number, c.Class)
		x.free = append(x.free, n)
		return
	}
	if failures.Has(c.State) {
		c.forget(at)
	}
}
