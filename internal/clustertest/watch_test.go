package clustertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node"
)

// watcher follows events as a client does. It notes every final state, and it goes on elsewhere with the last rev.
type watcher struct {
	t      *testing.T
	c      *Cluster
	stream api.EventStream
	req    api.EventsRequest
	last   uint64
	finals map[string]int // how often a task's final state was told
	status map[string]string
	resets int
	beats  []time.Time // when progress was told
}

func (c *Cluster) watch(i int, r api.EventsRequest) *watcher {
	c.t.Helper()
	w := &watcher{t: c.t, c: c, req: r, finals: map[string]int{}, status: map[string]string{}, last: r.After}
	w.open(i)
	return w
}

func (w *watcher) open(i int) {
	w.t.Helper()
	ctx, cancel := w.c.Context(patience)
	defer cancel()
	var err error
	if w.stream, err = w.c.Node(i).Events(ctx, w.req); err != nil {
		w.t.Fatalf("events of %s: %v", w.c.Members[i].ID, err)
	}
	w.last = max(w.last, w.stream.Position())
}

// move goes on at another member after the last rev that it has seen.
func (w *watcher) move(i int) {
	w.t.Helper()
	w.last = max(w.last, w.stream.Position())
	w.stream.Close()
	w.req.HasAfter, w.req.After = true, w.last
	w.open(i)
}

// next takes one event. It returns false if there is none for d of virtual time, or if the member stops.
func (w *watcher) next(d time.Duration) bool {
	w.t.Helper()
	ctx, cancel := w.c.Context(d)
	defer cancel()
	e, err := w.stream.Next(ctx)
	if err != nil {
		if !errors.Is(err, context.DeadlineExceeded) && api.CodeOf(err) != api.CodeNotReady {
			w.t.Fatal(err)
		}
		return false
	}
	if e.Kind == api.EventReset {
		w.last, w.status = 0, map[string]string{}
		w.resets++
	}
	if e.Rev != 0 {
		if e.Rev <= w.last {
			w.t.Fatalf("%s with ID %d after %d", e.Data, e.Rev, w.last)
		}
		w.last = e.Rev
	}
	switch e.Kind {
	case api.EventProgress:
		w.beats = append(w.beats, time.Now())
	case api.EventTask:
		var d api.TaskEvent
		if err := json.Unmarshal(e.Data, &d); err != nil {
			w.t.Fatal(err)
		}
		w.status[d.Task.ID] = d.Task.Status
		if d.Task.Final {
			w.finals[d.Task.ID]++
		}
	}
	return true
}

// TestEventsGoOnAtAnotherNode: a subscriber's node dies, and the subscriber goes on at another node, which may be
// behind. It is told every final state once (SPEC W3).
func TestEventsGoOnAtAnotherNode(t *testing.T) {
	Run(t, 3, Options{SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
		c.Push(0, "wait")
		c.WorkersReady(3)
		w := c.watch(c.Leader(), api.EventsRequest{Behavior: "wait"})
		const tasks = 40
		for i := range tasks {
			c.Submit(c.Leader(), "wait", fmt.Sprint(100*(i+1)))
		}
		at := c.Leader()
		for moves := 0; len(w.finals) < tasks; {
			if w.next(time.Minute) && len(w.finals) < 10*(moves+1) {
				continue
			}
			moves++
			switch moves {
			case 1:
				victim := at
				c.Kill(victim) // it had committed entries that the others had not applied
				at = (victim + 1) % 3
				w.move(at)
				c.Leader()
				c.Start(victim)
			case 2:
				at = (at + 1) % 3
				late := c.Members[at].Addr
				c.Net.Delay(c.Members[c.Leader()].Addr, late, 200*time.Millisecond)
				w.move(at)
			case 3:
				c.Net.HealAll()
				at = c.Leader()
				w.move(at)
			default:
				if len(w.finals) < tasks && moves > 10 {
					t.Fatalf("%d final states of %d", len(w.finals), tasks)
				}
			}
		}
		for id, n := range w.finals {
			if n != 1 {
				t.Errorf("the final state of %s was told %d times", id, n)
			}
		}
		if w.resets != 0 {
			t.Errorf("%d resets", w.resets)
		}
		w.stream.Close()
	})
}

// TestResetAfterASnapshot: a node that got a snapshot has not seen what happened. Its subscribers are told the state,
// and go on (SPEC W3). So is a subscriber with a rev from before the snapshot.
func TestResetAfterASnapshot(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true, Configure: func(_ int, cfg *node.Config) {
		cfg.Raft.SnapshotBytes, cfg.Raft.TrailingBytes = 1, 1
	}}, func(t *testing.T, c *Cluster) {
		c.Push(0, "echo")
		leader := c.Leader()
		late := c.Followers()[0]
		hour := api.Duration(time.Hour)
		submit := func(id string) {
			c.SubmitRequest(leader, api.SubmitRequest{Behavior: "echo", ID: id, Delay: &hour})
		}
		submit("first")
		c.Agree()
		w := c.watch(late, api.EventsRequest{})
		first := w.last
		c.Net.Isolate(c.Members[late].Addr)
		const more = 200 // entries; some are always kept behind a snapshot
		for i := range more {
			submit(fmt.Sprintf("t%02d", i))
			c.Sleep(100 * time.Millisecond)
		}
		if _, err := c.Node(leader).Cancel(t.Context(), "", "t03"); err != nil {
			t.Fatal(err)
		}
		c.Net.Rejoin(c.Members[late].Addr)
		c.Agree()
		submit("last")
		for w.status["last"] == "" {
			if !w.next(time.Minute) {
				t.Fatal("nothing more comes")
			}
		}
		if w.resets != 1 {
			t.Fatalf("%d resets: was there a snapshot?", w.resets)
		}
		if len(w.status) != more+2 || w.finals["t03"] != 1 || w.status["first"] != "CREATED" {
			t.Errorf("knows %v", w.status)
		}
		old := c.watch(late, api.EventsRequest{HasAfter: true, After: first})
		for len(old.status) < more+2 {
			if !old.next(time.Minute) {
				t.Fatalf("knows only %v", old.status)
			}
		}
		if old.resets != 1 || old.finals["t03"] != 1 {
			t.Errorf("%d resets, finals %v", old.resets, old.finals)
		}
		w.stream.Close()
		old.stream.Close()
	})
}

// TestLiveProgress: progress reaches watchers at any node, long before a renewal stores it, and not too often (SPEC
// W3). It does so under the next leader, too.
func TestLiveProgress(t *testing.T) {
	Run(t, 3, Options{}, func(t *testing.T, c *Cluster) {
		c.Push(0, "wait")
		c.WorkersReady(3)
		id := c.Submit(0, "wait", `60000`)
		c.Executing(id)
		look := func(name string, i int) {
			t.Helper()
			w := c.watch(i, api.EventsRequest{IDs: []string{id}})
			defer w.stream.Close()
			for began := time.Now(); time.Since(began) < 8*time.Second; {
				w.next(8*time.Second - time.Since(began))
			}
			if n := len(w.beats); n < 20 || n > 33 {
				t.Errorf("%s: told %d times in 8 s", name, n)
			}
			for k := 1; k < len(w.beats); k++ {
				if d := w.beats[k].Sub(w.beats[k-1]); d < 250*time.Millisecond {
					t.Errorf("%s: told after %v", name, d)
				}
			}
		}
		leader := c.Leader()
		look("leader", leader)
		look("follower", c.Followers()[0])
		look("other follower", c.Followers()[1])
		if where := c.Runs.Running(id); where == c.Members[leader].ID {
			return // its worker would die with the leader
		}
		c.Kill(leader)
		c.Leader(leader)
		c.Sleep(15 * time.Second) // until its worker notices
		look("under the next leader", c.Followers()[0])
		c.Start(leader)
	})
}

// TestWaitingForManyAtAnyFreshness: waits read linearizably unless less is asked for. They do not read before the index
// that they name (SPEC W2, W4).
func TestWaitingForManyAtAnyFreshness(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		c.Push(0, "echo")
		leader := c.Leader()
		late := c.Followers()[0]
		hour, soon := api.Duration(time.Hour), api.Duration(time.Second)
		c.SubmitRequest(leader, api.SubmitRequest{Behavior: "echo", ID: "one", Delay: &hour})
		c.Agree()
		c.Net.Isolate(c.Members[late].Addr)
		ctx, meta := api.WithMeta(t.Context())
		if _, err := c.Node(leader).Cancel(ctx, "", "one"); err != nil {
			t.Fatal(err)
		}
		r := api.WaitRequest{IDs: []string{"one"}, Timeout: &soon, Stale: true}
		if got, err := c.Node(late).WaitTasks(t.Context(), r); err != nil || !got.TimedOut || got.Tasks[0].Final {
			t.Errorf("stale at a node that is cut off: %+v, %v", got, err)
		}
		r.MinIndex = meta.Index()
		if got, err := c.Node(late).WaitTasks(t.Context(), r); api.CodeOf(err) != api.CodeNoLeader {
			t.Errorf("of an index that it does not have: %+v, %v", got, err)
		}
		r.Stale, r.MinIndex = false, 0
		if got, err := c.Node(late).WaitTasks(t.Context(), r); api.CodeOf(err) != api.CodeNoLeader {
			t.Errorf("linearizably: %+v, %v", got, err)
		}
		if _, err := c.Node(late).Events(t.Context(), api.EventsRequest{}); api.CodeOf(err) != api.CodeNoLeader {
			t.Errorf("events from now on, which it does not know: %v", err)
		}
		c.Net.Rejoin(c.Members[late].Addr)
		r.MinIndex = meta.Index()
		asked, told := api.WithMeta(t.Context())
		got, err := c.Node(late).WaitTasks(asked, r)
		if err != nil || got.TimedOut || !got.Tasks[0].Final || told.Index() < meta.Index() {
			t.Errorf("after it has rejoined: %+v, %v, index %d", got, err, told.Index())
		}
	})
}

// TestMinIndexBeyondTheLog: a read names an index that the cluster has told nobody. The answer says so at once and on
// every node. The read does not wait for a leader that is there (SPEC W4).
func TestMinIndexBeyondTheLog(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		c.Push(0, "echo")
		hour := api.Duration(time.Hour)
		c.SubmitRequest(0, api.SubmitRequest{Behavior: "echo", ID: "one", Delay: &hour})
		for i := range 3 {
			for _, stale := range []bool{false, true} {
				begun := time.Now()
				refused := func(what string, err error) {
					t.Helper()
					if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.CodeInvalidField || e.Field != "min_index" || time.Since(begun) > time.Second {
						t.Errorf("%s at %d, stale %v: %v after %v", what, i, stale, err, time.Since(begun))
					}
				}
				const beyond = 1 << 40
				_, err := c.Node(i).Task(t.Context(), "", "one", api.GetOptions{Stale: stale, MinIndex: beyond})
				refused("a task", err)
				begun = time.Now()
				_, err = c.Node(i).Task(t.Context(), "", "one", api.GetOptions{Stale: stale, MinIndex: beyond, Wait: time.Minute})
				refused("a wait", err)
				begun = time.Now()
				_, err = c.Node(i).Tasks(t.Context(), api.ListRequest{Stale: stale, MinIndex: beyond})
				refused("a list", err)
				begun = time.Now()
				_, err = c.Node(i).Operations(t.Context(), api.OperationsRequest{Stale: stale, MinIndex: beyond})
				refused("operations", err)
			}
		}
	})
}
