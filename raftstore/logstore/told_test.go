package logstore

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/raft"
)

// childMain appends to the log in dir until it is killed, fails, or has done LOGSTORE_STEPS steps. It says on standard
// output what it is about to do, and when that is durable. Now and then it deletes the log's beginning, or it cuts off
// the log's end and writes it again in a later term.
func childMain(dir string) {
	runtime.LockOSThread() // strace counts the syncs of each thread
	kind := Kind(os.Getenv("LOGSTORE_KIND"))
	steps, _ := strconv.Atoi(os.Getenv("LOGSTORE_STEPS")) // 0, which means for ever, if it is not set
	var err error
	if kind == "" {
		err = migrateMain(dir, steps)
	} else {
		err = workIn(dir, kind, steps)
	}
	if err != nil {
		fmt.Printf("failed %q\n", err)
		os.Exit(3)
	}
}

func workIn(dir string, kind Kind, steps int) error {
	s, err := Open(dir, kind, Options{SegmentBytes: fileBytes})
	if err != nil {
		return err
	}
	if err := work(s, steps); err != nil {
		return err // the log stays as it is
	}
	return s.Close()
}

func work(s Store, steps int) error {
	first, last, err := bounds(s)
	term, err2 := number(s, numberKeys[0])
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	fmt.Println("opened", first, last, term)
	newTerm := func() error {
		term++
		return say(func() error { return s.SetUint64([]byte(numberKeys[0]), term) }, "term", term)
	}
	if err := newTerm(); err != nil {
		return err
	}
	for step := 1; steps == 0 || step <= steps; step++ {
		n := uint64(1 + step%5)
		if step%7 == 0 {
			n = 30
		}
		var es []*raft.Log
		for i := range n {
			es = append(es, want(last+1+i, term))
		}
		last += uint64(len(es))
		if err := say(func() error { return s.StoreLogs(es) }, "append", last, term); err != nil {
			return err
		}
		switch {
		case step%40 == 0:
			first, _, _ := bounds(s)
			err = say(func() error { return s.DeleteRange(first, last-51) }, "begin", last-50)
		case step%30 == 0:
			if err = say(func() error { return s.DeleteRange(last-2, last) }, "cut", last-3); err == nil {
				err = newTerm()
			}
			last -= 3
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// say announces a change, makes it with do, and says "done" when the change is durable.
func say(do func() error, what ...any) error {
	fmt.Println(what...)
	err := do()
	if err == nil {
		fmt.Println("done")
	}
	return err
}

// told is what a child has said: what is durable, and what may be there because a change is under way.
type told struct {
	first uint64   // the first durable entry; 1 for an empty log
	terms []uint64 // the terms of the durable entries, from first on
	term  uint64   // raft's variable

	// These fields say what is under way. They are zero if nothing is.
	begin   uint64   // the entries before it are being deleted
	cut     uint64   // the entries behind it are being deleted
	more    []uint64 // the terms of entries that are being appended
	newTerm uint64

	deleted bool   // the log's beginning was deleted
	failed  string // why the child has given up
	err     error  // the child's words make no sense, or contradict its earlier words
}

func (x *told) last() uint64 { return max(x.first, 1) + uint64(len(x.terms)) - 1 }

func (x *told) hear(line string) {
	word, rest, _ := strings.Cut(line, " ")
	var n [3]uint64
	_, _ = fmt.Sscan(rest, &n[0], &n[1], &n[2])
	switch word {
	case "opened":
		x.err = errors.Join(x.err, x.found(n[0], n[1], n[2]))
	case "append":
		for i := x.last(); i < n[0]; i++ {
			x.more = append(x.more, n[1])
		}
	case "begin":
		x.begin, x.deleted = n[0], true
	case "cut":
		x.cut = n[0]
	case "term":
		x.newTerm = n[0]
	case "done":
		x.done()
	case "failed":
		x.failed = rest
	default:
		x.err = errors.Join(x.err, fmt.Errorf("the child said %q", line))
	}
}

// done notes that the change under way is durable.
func (x *told) done() {
	switch {
	case x.more != nil:
		x.terms = append(slices.Clip(x.terms), x.more...)
	case x.cut > 0:
		x.terms = x.terms[:x.cut-x.first+1]
	case x.begin > 0:
		x.terms, x.first = x.terms[x.begin-x.first:], x.begin
	case x.newTerm > 0:
		x.term = x.newTerm
	}
	x.settle()
}

// settle notes that nothing is under way.
func (x *told) settle() { x.begin, x.cut, x.more, x.newTerm = 0, 0, nil, 0 }

// found notes that somebody has opened the log and has seen these entries. From then on they are durable: the node acts
// on them, as it acknowledges its entries to a leader.
func (x *told) found(first, last, term uint64) error {
	x.first = max(x.first, 1)
	from, least, most := x.first, x.last(), x.last()+uint64(len(x.more))
	if x.begin > 0 {
		from = x.begin
	}
	if x.cut > 0 {
		least = x.cut
	}
	empty := first == 0 && last == 0
	if empty {
		first, last = x.first, x.first-1
	}
	if first < x.first || first > from || last < least || last > most || term != x.term && term != max(x.term, x.newTerm) {
		return fmt.Errorf("entries %d to %d in term %d, but it must begin with %d to %d, end with %d to %d, in term %d or %d",
			first, last, term, x.first, from, least, most, x.term, x.newTerm)
	}
	x.terms = append(slices.Clip(x.terms), x.more...)[first-x.first : last-x.first+1]
	x.first, x.term = first, term
	x.settle()
	return nil
}

// holdsTold demands that the store shows what x knows to be durable. x forgets a change that the store does not show.
func (s *suite) holdsTold(x *told) {
	s.t.Helper()
	first, last, err := bounds(s)
	term, err2 := number(s, numberKeys[0])
	if err := errors.Join(err, err2, x.err); err != nil {
		s.t.Fatal(err)
	}
	if err := x.found(first, last, term); err != nil {
		s.t.Fatal(err)
	}
	s.holds(first, last, func(i uint64) uint64 { return x.terms[i-x.first] })
}

// after checks the log when the child is gone, and checks that the log goes on.
func (s *suite) after(x *told) {
	s.t.Helper()
	s.open()
	s.holdsTold(x)
	last := x.last()
	s.append(last+1, last+3, x.term)
	x.hear(fmt.Sprintln("append", last+3, x.term))
	x.hear("done")
	s.holdsTold(x)
	s.close()
}
