package watch

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// TestTheRingKeepsChangesWhole: a change that is read from the ring equals the change that went in, with every field of
// its record and with its own progress. TestRandomReaders checks the rest.
func TestTheRingKeepsChangesWhole(t *testing.T) {
	payload := func(s string) task.Payload {
		return task.Payload{Encoding: task.JSON, Data: []byte(s), Blobs: &task.Blobs{Content: "c" + s, Size: 3, Named: []string{"x", "y"}}}
	}
	full := &task.Task{
		Namespace: "default", ID: "one", Behavior: behavior, Version: "v", Status: task.Running,
		Params: payload("1"), Result: payload("2"), Progress: payload("3"), Checkpoint: payload("4"),
		Error:     &task.Error{Code: "c", Message: "m", Retryable: true, Details: payload("5")},
		NotBefore: 1, Deadline: 2, Attempt: 3, Failures: 4, LostCount: 5,
		Lease: &task.Lease{Token: 1, Session: 2, Seq: 3, Worker: "w", Node: "n", Report: 4, Given: 5, TTL: 6, Expires: 7, Request: "r", GraceEnd: 8},
		Ended: &task.Ended{Token: 1, Finish: 2, Session: 3}, Resubmit: 6, CancelCode: "x",
		Rev: 7, CreatedRev: 8, CreatedAt: 9, StartedAt: 10, FinishedAt: 11,
		History: []task.Attempt{{Number: 1, Token: 2, Worker: "w", Node: "n", StartedAt: 3, FinishedAt: 4, Outcome: "LOST", Fuel: 5}},
		Parent:  "par", Partition: "p", Labels: []task.Label{{Name: "a", Value: "b"}}, Priority: 9, ConcurrencyKey: "k",
		Role: task.RolePartition, Bound: 12,
	}
	small := &task.Task{Namespace: "other", ID: "two", Behavior: "b.two", Status: task.Created, Rev: 13, CreatedRev: 13}
	r := newRing(10, 1<<20)
	for i, c := range []Change{
		{Kind: Task, Rev: 7, Task: full},
		{Kind: Task, Rev: 13, Task: small},
		{Kind: Progress, Rev: 14, Task: full, Progress: payload("6")},
		{Kind: Progress, Rev: 14, Task: small},
		{Kind: Removed, Rev: 15, Task: full},
	} {
		n := r.next
		r.add(&c, mark{})
		if got := r.change(r.at(n)); !reflect.DeepEqual(got, &c) {
			t.Errorf("%d: %+v of %+v, want %+v", i, got, got.Task, c)
		}
		for f, want := range map[*Filter]bool{
			{Namespace: c.Task.Namespace}: true,
			{Namespace: "others"}:         false,
			{Namespace: c.Task.Namespace, IDs: []string{"x", "one"}, Status: task.Running}:     c.Task == full,
			{Namespace: c.Task.Namespace, Behavior: behavior, Parent: "par"}:                   c.Task == full,
			{Namespace: c.Task.Namespace, Parent: "pa"}:                                        false,
			{Namespace: c.Task.Namespace, Behavior: c.Task.Behavior, Status: task.Failure}:     false,
			{Namespace: c.Task.Namespace, Behavior: c.Task.Behavior, IDs: []string{c.Task.ID}}: true,
		} {
			if got := r.matches(f, r.at(n)); got != want || f.matches(c.Task) != want {
				t.Errorf("%d, %+v: %v, want %v", i, f, got, want)
			}
		}
	}
	stored := Change{Kind: Progress, Rev: 16, Task: full, Progress: full.Progress}
	r.add(&stored, mark{stored: true})
	if got := r.change(r.at(r.next - 1)); !reflect.DeepEqual(got, &stored) {
		t.Errorf("%+v of %+v, want %+v", got, got.Task, stored)
	}
}

// TestWhatNobodyLooksAtCostsNoGarbage: every node keeps the changes, and nearly always nobody looks at them.
func TestWhatNobodyLooksAtCostsNoGarbage(t *testing.T) {
	b := newBed(t, Config{Bytes: 256 << 10})
	for i := range 1000 {
		b.submit(fmt.Sprintf("t%03d", i), behavior)
	}
	evs := b.waiting
	b.waiting = nil
	round := func() {
		for i := range evs {
			evs[i].Rev += uint64(len(evs))
		}
		b.feed.Ingest(evs)
	}
	for range 10 {
		round()
	}
	if n := testing.AllocsPerRun(10, round); n > 10 {
		t.Errorf("%v allocations for 1000 changes", n)
	}
	if n := len(b.feed.shelf.changes); n > 0 {
		t.Errorf("%d changes are on the shelf", n)
	}
}

// TestWhatIsLookedAtIsBounded: the shelf keeps no more than its part. It keeps nothing when the last subscriber has
// gone.
func TestWhatIsLookedAtIsBounded(t *testing.T) {
	b := newBed(t, Config{Bytes: 1 << 20})
	s := b.subscribe(Filter{}, b.m.Rev())
	named := b.subscribe(Filter{IDs: []string{"t001"}}, b.m.Rev())
	for i := range 1000 {
		b.submit(fmt.Sprintf("t%03d", i), behavior)
		b.flush()
		if i%3 == 0 {
			b.drain(s)
		}
		if n := b.feed.shelf.bytes; n > 1<<18 {
			t.Fatalf("%d bytes on the shelf", n)
		}
	}
	sum, x := 0, &b.feed.shelf
	for _, c := range x.changes {
		sum += c.cost()
	}
	if sum != x.bytes || len(x.order) != len(x.changes) || len(x.order) < 100 {
		t.Errorf("%d bytes counted, %d there; %d and %d changes", x.bytes, sum, len(x.order), len(x.changes))
	}
	b.drain(named)
	s.Close()
	named.Close()
	if x.bytes != 0 || len(x.changes) != 0 || len(x.order) != 0 {
		t.Errorf("%d bytes, %d changes are left", x.bytes, len(x.changes))
	}
}

// TestWhoIsWokenGetsTheChangeAsItIs: a change is not decoded again for a subscriber that waits for it.
func TestWhoIsWokenGetsTheChangeAsItIs(t *testing.T) {
	b := newBed(t, Config{})
	s := b.subscribe(Filter{}, b.m.Rev())
	rec := b.submit("one", behavior)
	b.flush()
	n := b.feed.ring.next - 1
	if x := b.feed.shelf.changes[n]; x == nil || x.change.Task != rec {
		t.Errorf("%+v", x)
	}
	want(t, b.drain(s), fmt.Sprintf("task one CREATED @%d", b.m.Rev()))
}
