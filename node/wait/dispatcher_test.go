package wait

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/nodetest"
	"github.com/taskrt/taskrt/node/watch"
	"github.com/taskrt/taskrt/task"
)

var key = task.Key{Namespace: "default", ID: "x01"}

func rec(rev uint64, st task.Status, notBefore task.Time, attempt int64) *task.Task {
	return &task.Task{Namespace: key.Namespace, ID: key.ID, Rev: rev, CreatedRev: 1, Status: st, NotBefore: notBefore, Attempt: attempt}
}

func changed(t *task.Task) task.Event {
	return task.Event{Kind: task.TaskChanged, Task: t, Rev: t.Rev}
}

// replaced is a change that carries the version before it. All changes but a task's first carry it.
func replaced(prev, t *task.Task) task.Event {
	e := changed(t)
	e.Prev = prev
	return e
}

func inDispatcher(t *testing.T, f func(d *Dispatcher, s *nodetest.Script)) {
	synctest.Test(t, func(t *testing.T) {
		s := &nodetest.Script{}
		m := task.NewMachine()
		local := func(f func(*task.Machine)) { f(m) }
		changes := watch.NewFeed(watch.Config{Local: local, Encode: func(*watch.Change) []byte { return nil }, Entries: 64})
		defer changes.Close()
		d := New(func() Subscription { return s.Subscribe() }, local, Told{}, changes)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { d.Run(ctx) })
		synctest.Wait()
		f(d, s)
		cancel()
		wg.Wait()
		if len(d.waiters) > 0 || d.count != 0 {
			t.Errorf("left waiting: %d, %v", d.count, d.waiters)
		}
	})
}

func ended(w *Waiter) bool {
	synctest.Wait()
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

func TestWaitConditions(t *testing.T) {
	waiting, running := rec(1, task.Created, 1, 0), rec(2, task.Running, 0, 1)
	retry, again := rec(3, task.Failure, 9, 1), rec(4, task.Running, 0, 2)
	repeat, moved := rec(5, task.Success, 9, 2), rec(6, task.Success, 10, 2)
	third, failed := rec(7, task.Running, 0, 3), rec(8, task.Failure, 0, 3)
	retry.Version, again.Version, third.Version = "v", "v", "v"
	steps := []*task.Task{waiting, running, retry, again, repeat, moved, third, failed}
	for _, c := range []struct {
		until string
		since uint64
		start *task.Task
		want  uint64 // the rev that ends the wait; with 0 the start ends it
	}{
		{"final", 0, waiting, 8},
		{"", 0, waiting, 8},
		{"running", 0, waiting, 2},
		{"running", 0, running, 0},
		{"running", 0, retry, 4},
		{"waiting", 0, waiting, 0},
		{"waiting", 0, running, 3},
		{"failure", 0, waiting, 3},
		{"failure", 0, retry, 8}, // the wait begins now, so the present failure does not count
		{"failure", 2, retry, 0},
		{"failure", 3, retry, 8},
		{"success", 0, waiting, 5},
		{"success", 0, repeat, 8}, // moving the next run is no new outcome; the final state ends the wait
		{"success", 4, moved, 0},
		{"outcome", 0, waiting, 5}, // a failure that will be retried is no outcome
		{"outcome", 4, moved, 0},
		{"outcome", 0, moved, 8},
		{"rev:4", 0, waiting, 4},
		{"rev:4", 0, moved, 0},
		{"attempt:1", 0, waiting, 3},
		{"attempt:2", 0, waiting, 5},
		{"attempt:9", 0, waiting, 8},
		{"final", 0, failed, 0},
		{"running", 0, failed, 0},
	} {
		inDispatcher(t, func(d *Dispatcher, s *nodetest.Script) {
			until, err := api.ParseUntil(c.until)
			if err != nil {
				t.Fatal(err)
			}
			d.changes.Restart(c.start.Rev) // the feed does not know what was before
			w := d.Task(key, until, c.since)
			defer w.Stop()
			w.Start(c.start, 0)
			var got uint64
			for _, next := range steps {
				if ended(w) {
					break
				}
				if next.Rev > c.start.Rev {
					got = next.Rev
					s.Send(replaced(steps[next.Rev-2], next))
				}
			}
			if !ended(w) || got != c.want {
				t.Errorf("until %q since %d from rev %d: ended at %d, want %d", c.until, c.since, c.start.Rev, got, c.want)
			}
		})
	}
}

func TestEventsBetweenRegisteringAndReadingAreNotMissed(t *testing.T) {
	inDispatcher(t, func(d *Dispatcher, s *nodetest.Script) {
		w := d.Task(key, api.Until{Kind: "running"}, 0)
		defer w.Stop()
		s.Send(changed(rec(5, task.Running, 0, 1)), changed(rec(6, task.Created, 7, 1)))
		w.Start(rec(4, task.Created, 1, 0), 0)
		if !ended(w) {
			t.Error("the run was missed")
		}
		if got, _, _ := w.Outcome(); got.Rev != 5 {
			t.Errorf("rev %d", got.Rev)
		}
	})
}

func TestEventsFromBeforeTheReadDoNotCount(t *testing.T) {
	inDispatcher(t, func(d *Dispatcher, s *nodetest.Script) {
		w := d.Task(key, api.Until{Kind: "running"}, 0)
		defer w.Stop()
		s.Send(changed(rec(2, task.Running, 0, 1)))
		w.Start(rec(4, task.Created, 1, 1), 0)
		s.Send(changed(rec(3, task.Running, 0, 1)))
		if ended(w) {
			t.Error("ended by a state from before the request")
		}
	})
}

func TestRemovalEndsEveryWait(t *testing.T) {
	removed := task.Event{Kind: task.TaskRemoved, Task: rec(2, task.Running, 0, 1), Rev: 3}
	anew := rec(9, task.Created, 1, 0)
	anew.CreatedRev = 9
	for name, e := range map[string]task.Event{"removed": removed, "created anew": changed(anew)} {
		inDispatcher(t, func(d *Dispatcher, s *nodetest.Script) {
			w := d.Task(key, api.Until{Kind: "final"}, 0)
			defer w.Stop()
			w.Start(rec(2, task.Running, 0, 1), 0)
			s.Send(e)
			if _, gone, over := w.Outcome(); !gone || !over {
				t.Errorf("%s: gone %v, over %v", name, gone, over)
			}
		})
	}
}

func TestLaggingDispatcherSubscribesAgainAndRechecks(t *testing.T) {
	inDispatcher(t, func(d *Dispatcher, s *nodetest.Script) {
		w := d.Task(key, api.Until{Kind: "final"}, 0)
		defer w.Stop()
		w.Start(rec(2, task.Running, 0, 1), 0)
		s.CutOff()
		// The machine of this test is empty, so the wait missed the removal.
		if !ended(w) {
			t.Fatal("still waiting")
		}
		if _, gone, _ := w.Outcome(); !gone {
			t.Error("not gone")
		}
		if n := s.Subscriptions(); n != 2 {
			t.Errorf("%d subscriptions", n)
		}
	})
}

// TestRecordThatArrivesAfterTheRecheckIsNotRemoved: a node that has fallen behind subscribes again and looks at its old
// state. In this state the record of a waiting request does not exist yet.
func TestRecordThatArrivesAfterTheRecheckIsNotRemoved(t *testing.T) {
	inDispatcher(t, func(d *Dispatcher, s *nodetest.Script) {
		w := d.Task(key, api.Until{Kind: "final"}, 0)
		defer w.Stop()
		s.CutOff()
		synctest.Wait() // the recheck found nothing, at index 0
		w.Start(rec(2, task.Created, 1, 0), 7)
		if _, gone, over := w.Outcome(); gone || over {
			t.Errorf("gone %v, over %v", gone, over)
		}
	})
}
