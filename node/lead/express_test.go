package lead

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// submitWith applies an entry of submits as the leader's batcher does, together with the companion's commands. The test
// has to call the done functions.
func (b *leaderBed) submitWith(t *testing.T, cs ...task.Submit) (added []task.Result, done func()) {
	t.Helper()
	ps := make([]task.Proposal, len(cs))
	for i, c := range cs {
		ps[i].Command = c
	}
	b.mu.Lock()
	companion := b.companion
	b.mu.Unlock()
	with, told := companion(ps, 100)
	cmds := make([]task.Command, 0, len(ps)+len(with))
	for _, p := range ps {
		cmds = append(cmds, p.Command)
	}
	rs, err := b.ProposeLocal(t.Context(), append(cmds, with...)...)
	if err != nil {
		t.Fatal(err)
	}
	added = rs[len(cs):]
	return added, func() {
		if told != nil {
			told(added, nil)
		}
		synctest.Wait()
	}
}

func fresh(n int) task.Submit {
	return task.Submit{Namespace: "default", ID: fmt.Sprintf("new-%d", n), Behavior: "b-1", Priority: 4}
}

// withExpress runs a term whose worker has free slots and nothing to do.
func withExpress(t *testing.T, credits stream.Credits, f func(t *testing.T, b *leaderBed, tm *term, w *workerStream)) {
	withLoop(t, func(t *testing.T, b *leaderBed, tm *term) {
		near, far := net.Pipe()
		conn, err := stream.New(near, stream.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		defer far.Close()
		rs, err := b.ProposeLocal(t.Context(),
			task.OpenSession{Worker: "w2", Slots: 50, TTL: 3_600_000, Proof: []byte("p")},
			task.Activate{Namespace: "default", Module: task.Module{Digest: "m", Version: "v"}, Behaviors: []task.Activated{{Name: "b-1", Policy: task.DefaultPolicy()}}})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorkerStream(tm, conn, rs[0].Session.ID, &stream.Hello{Ready: []string{"m"}})
		tm.loop.do(func() {
			tm.loop.streams[w.session] = w
			tm.loop.setCredits(w, credits)
		})
		synctest.Wait()
		f(t, b, tm, w)
	})
}

func codes(rs []task.Result) (cs []task.Code) {
	for _, r := range rs {
		cs = append(cs, r.Code)
	}
	return cs
}

// TestExpress: a task that is submitted while a slot is free runs after one entry. A task without a slot waits for the
// plan.
func TestExpress(t *testing.T) {
	withExpress(t, stream.Credits{Free: 2}, func(t *testing.T, b *leaderBed, _ *term, w *workerStream) {
		later := fresh(9)
		later.Delay = 1000
		added, done := b.submitWith(t, later, fresh(1), fresh(2), fresh(3))
		if got := codes(added); !slices.Equal(got, []task.Code{task.OK, task.OK}) {
			t.Fatalf("added %v, want two assignments", got)
		}
		for i, r := range added {
			if r.Task.ID != fresh(i+1).ID || r.Task.Lease.Session != w.session {
				t.Errorf("assigned %s to session %d", r.Task.ID, r.Task.Lease.Session)
			}
		}
		done()
		if added, _ := b.submitWith(t, fresh(4)); len(added) != 0 {
			t.Errorf("%v although no slot is free", codes(added))
		}
	})
}

// TestExpressCountsWhatIsFlying: neither the plan nor express gives out a slot twice, whether the entry that takes the
// slot is applied or not.
func TestExpressCountsWhatIsFlying(t *testing.T) {
	withExpress(t, stream.Credits{Free: 2}, func(t *testing.T, b *leaderBed, tm *term, w *workerStream) {
		_, applied := b.submitWith(t, fresh(1))
		tm.loop.do(func() { tm.loop.dirty = true }) // it counts as applied and as flying, so too little is offered
		synctest.Wait()
		if added, _ := b.submitWith(t, fresh(2)); len(added) != 0 {
			t.Fatalf("%v: the last slot was given before it was known to be free", codes(added))
		}
		applied() // the loop looks again by itself, and the waiting task gets the slot
		if given := b.assigned(); len(given) != 2 || given[1].Task.ID != fresh(2).ID {
			t.Fatalf("given %v, want the second task after the first", given)
		}
		tm.loop.do(func() { tm.loop.setCredits(w, stream.Credits{Seq: 2, Free: 3}) })
		synctest.Wait()
		// This entry is never applied. Its slots are free again as soon as that is known.
		b.mu.Lock()
		companion := b.companion
		b.mu.Unlock()
		cmds, lost := companion([]task.Proposal{{Command: fresh(3)}, {Command: fresh(4)}}, 100)
		if len(cmds) != 2 {
			t.Fatalf("%d assignments, want 2", len(cmds))
		}
		tm.loop.do(func() { tm.loop.dirty = true })
		synctest.Wait()
		if cmds, _ := companion([]task.Proposal{{Command: fresh(5)}, {Command: fresh(6)}}, 100); len(cmds) != 1 {
			t.Fatalf("%d assignments beside two that fly to three slots", len(cmds))
		}
		lost(nil, fmt.Errorf("lost"))
		synctest.Wait()
		if cmds, _ := companion([]task.Proposal{{Command: fresh(5)}, {Command: fresh(6)}, {Command: fresh(7)}}, 100); len(cmds) != 2 {
			t.Fatalf("%d assignments after two of three slots are free again", len(cmds))
		}
	})
}

// TestExpressOvertakesNothing: express offers nothing while the loop plans and while tasks wait. The plan has the slots
// then.
func TestExpressOvertakesNothing(t *testing.T) {
	withExpress(t, stream.Credits{Free: 1}, func(t *testing.T, b *leaderBed, tm *term, w *workerStream) {
		if _, err := b.ProposeLocal(t.Context(), fresh(1), fresh(2)); err != nil { // without the companion
			t.Fatal(err)
		}
		tm.loop.do(func() {
			tm.loop.dirty = true
			tm.loop.plan()
			if cmds, _ := b.submitWithin(fresh(3)); len(cmds) != 0 {
				t.Errorf("%d beside a plan that is under way", len(cmds))
			}
		})
		synctest.Wait()
		if given := b.assigned(); len(given) != 1 || given[0].Task.ID != fresh(1).ID {
			t.Errorf("given %v, want the oldest", given)
		}
		if cmds, _ := b.submitWithin(fresh(3)); len(cmds) != 0 {
			t.Errorf("%d while another waits for a slot", len(cmds))
		}
	})
}

// submitWithin only asks the companion. The loop's goroutine may call it.
func (b *leaderBed) submitWithin(c task.Submit) ([]task.Command, func([]task.Result, error)) {
	b.mu.Lock()
	companion := b.companion
	b.mu.Unlock()
	return companion([]task.Proposal{{Command: c}}, 100)
}

// TestExpressAhead: express gives short behaviors ahead of free slots, as a plan does. A long behavior takes room from
// them.
func TestExpressAhead(t *testing.T) {
	withExpress(t, stream.Credits{Free: 1, Ahead: 3, Each: 2}, func(t *testing.T, b *leaderBed, tm *term, w *workerStream) {
		if added, _ := b.submitWithin(fresh(1)); len(added) != 1 {
			t.Fatalf("%d assignments, want one", len(added))
		}
		four := []task.Proposal{{Command: fresh(2)}, {Command: fresh(3)}, {Command: fresh(4)}, {Command: fresh(5)}, {Command: fresh(6)}}
		if cmds, _ := b.companion(four, 100); len(cmds) != 0 {
			t.Fatalf("%d of a behavior that is not known as short", len(cmds))
		}
		tm.loop.do(func() {
			tm.loop.setPace(w, []stream.Pace{{Behavior: stream.Behavior{Module: "m"}, Short: true}})
		})
		synctest.Wait()
		if cmds, _ := b.companion(four, 100); len(cmds) != 1 { // three go ahead; the long one that flies takes the place of two
			t.Fatalf("%d ahead beside a long one", len(cmds))
		}
	})
	withExpress(t, stream.Credits{Free: 1, Ahead: 3, Each: 2}, func(t *testing.T, b *leaderBed, tm *term, w *workerStream) {
		tm.loop.do(func() {
			tm.loop.setPace(w, []stream.Pace{{Behavior: stream.Behavior{Module: "m"}, Short: true}})
		})
		synctest.Wait()
		six := make([]task.Submit, 6)
		for i := range six {
			six[i] = fresh(i)
		}
		if added, _ := b.submitWith(t, six...); len(added) != 4 {
			t.Fatalf("%d, want one for the slot and three ahead", len(added))
		}
	})
}

// TestExpressForgets: express forgets behaviors that change, streams that end and workers that leave.
func TestExpressForgets(t *testing.T) {
	withExpress(t, stream.Credits{Free: 5}, func(t *testing.T, b *leaderBed, tm *term, w *workerStream) {
		if cmds, _ := b.submitWithin(fresh(1)); len(cmds) != 1 {
			t.Fatal("nothing is offered")
		}
		rs, err := b.ProposeLocal(t.Context(), task.DeleteBehavior{Namespace: "default", Name: "b-1"})
		if err != nil || rs[0].Code != task.OK {
			t.Fatal(rs, err)
		}
		b.feed.Send(task.Event{Kind: task.BehaviorChanged, Behavior: rs[0].Behavior})
		synctest.Wait()
		if cmds, _ := b.submitWithin(fresh(2)); len(cmds) != 0 {
			t.Error("a deleted behavior is still offered slots")
		}
	})
	withExpress(t, stream.Credits{Free: 5}, func(t *testing.T, b *leaderBed, tm *term, w *workerStream) {
		tm.loop.do(func() { tm.loop.detach(w) })
		synctest.Wait()
		if cmds, _ := b.submitWithin(fresh(1)); len(cmds) != 0 {
			t.Error("a worker that is gone is still offered")
		}
		time.Sleep(time.Second)
	})
}
