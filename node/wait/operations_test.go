package wait

import (
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// TestOperationWaits: a wait begins with a state and ends with an event after it, in whatever order the events and the
// state arrive.
func TestOperationWaits(t *testing.T) {
	record := func(created, rev uint64, s task.OperationStatus) *task.Operation {
		return &task.Operation{Namespace: "default", ID: "op1", CreatedRev: created, Rev: rev, Status: s}
	}
	const running, completing, success = task.OperationRunning, task.OperationCompleting, task.OperationSuccess
	changed := func(o *task.Operation) task.Event { return task.Event{Kind: task.OperationChanged, Operation: o} }
	removing := record(1, 9, running)
	removing.Removing = true
	for name, c := range map[string]struct {
		until         string
		before, after []task.Event // before and after the start
		start         *task.Operation
		over          bool
		rev           uint64 // the rev that ended the wait; 0 is a removal
	}{
		"final from the start": {start: record(1, 5, success), over: true, rev: 5},
		"goes on":              {start: record(1, 5, running), after: []task.Event{changed(record(1, 6, completing))}},
		"final":                {start: record(1, 5, running), after: []task.Event{changed(record(1, 6, completing)), changed(record(1, 7, success))}, over: true, rev: 7},
		"final, then retried":  {start: record(1, 5, running), after: []task.Event{changed(record(1, 7, success)), changed(record(1, 8, running))}, over: true, rev: 7},
		"completing":           {until: "completing", start: record(1, 5, running), after: []task.Event{changed(record(1, 6, completing))}, over: true, rev: 6},
		"completing passed":    {until: "completing", start: record(1, 5, running), after: []task.Event{changed(record(1, 6, success))}, over: true, rev: 6},
		"rev":                  {until: "rev:6", start: record(1, 5, running), after: []task.Event{changed(record(1, 6, running))}, over: true, rev: 6},
		"rev not yet":          {until: "rev:7", start: record(1, 5, running), after: []task.Event{changed(record(1, 6, running))}},
		"old event":            {before: []task.Event{changed(record(1, 4, success))}, start: record(1, 5, running)},
		"old event late":       {start: record(1, 5, running), after: []task.Event{changed(record(1, 4, success))}},
		"event before start":   {before: []task.Event{changed(record(1, 6, success))}, start: record(1, 5, running), over: true, rev: 6},
		"removed":              {start: record(1, 5, running), after: []task.Event{changed(removing)}, over: true},
		"the last of another":  {start: record(5, 5, running), after: []task.Event{{Kind: task.OperationRemoved, Operation: removing}}},
		"made anew":            {start: record(1, 5, running), after: []task.Event{changed(record(8, 8, running))}, over: true},
		"of another":           {start: record(1, 5, running), after: []task.Event{changed(&task.Operation{Namespace: "other", ID: "op1", CreatedRev: 1, Rev: 6, Status: success})}},
	} {
		until, err := api.ParseOperationUntil(c.until)
		if err != nil {
			t.Fatal(err)
		}
		var ws operationWaits
		w := ws.register(c.start.Key(), until)
		second := ws.register(c.start.Key(), api.Until{Kind: "final"})
		for i := range c.before {
			ws.dispatch(&c.before[i])
		}
		w.Start(c.start)
		for i := range c.after {
			ws.dispatch(&c.after[i])
		}
		last, over := w.Outcome()
		select {
		case <-w.done:
		default:
			if over {
				t.Errorf("%s: over, but nobody was told", name)
			}
		}
		rev := uint64(0)
		if last != nil {
			rev = last.Rev
		}
		if over != c.over || rev != c.rev {
			t.Errorf("%s: over %v with rev %d, want %v, %d", name, over, rev, c.over, c.rev)
		}
		w.Stop()
		if len(ws.waiters) != 1 {
			t.Errorf("%s: the other waiter is gone", name)
		}
		second.Stop()
		if len(ws.waiters) != 0 {
			t.Errorf("%s: %d keys are left", name, len(ws.waiters))
		}
	}
}

// TestOperationWaitsRecheck: after missed events the present state counts. A missing record counts as removed only for
// a waiter that has seen the record.
func TestOperationWaitsRecheck(t *testing.T) {
	var ws operationWaits
	key := task.Key{Namespace: "default", ID: "op1"}
	begun, fresh := ws.register(key, api.Until{Kind: "final"}), ws.register(key, api.Until{Kind: "final"})
	begun.Start(&task.Operation{Namespace: "default", ID: "op1", CreatedRev: 1, Rev: 1, Status: task.OperationRunning})
	m := task.NewMachine()
	ws.recheck(func(f func(*task.Machine)) { f(m) })
	if last, over := begun.Outcome(); !over || last != nil {
		t.Errorf("removed meanwhile: %v, %v", last, over)
	}
	if _, over := fresh.Outcome(); over {
		t.Error("who has not begun is told that it was removed")
	}
}
