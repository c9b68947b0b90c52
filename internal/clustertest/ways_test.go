package clustertest

import (
	"context"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node"
)

// ways is a cluster in which nothing but the network between nodes takes time. A worker is beside the leader.
type ways struct {
	*Cluster
	t      *testing.T
	ctx    context.Context
	leader int
}

// roundTrip is far below raft's time-outs: nobody stands for election because of it.
const roundTrip = 20 * time.Millisecond

// took is how many round trips f takes.
func (w *ways) took(f func()) float64 {
	begun := time.Now()
	f()
	d := time.Since(begun)
	w.Sleep(2 * time.Second)
	return float64(d) / float64(roundTrip)
}

// submitted submits a task and lets all nodes know it.
func (w *ways) submitted(behavior string) string {
	id := w.Submit(w.leader, behavior, "1")
	w.Sleep(2 * time.Second)
	return id
}

// accepted accepts through node i what was submitted before.
func (w *ways) accepted(i int) *api.Task {
	w.submitted("ext")
	x := acceptAt(w.t, w.Cluster, i, acceptOf("w1", 1, time.Minute))[0]
	w.Sleep(2 * time.Second)
	return x
}

// beside runs f while other waits, and is over when both are.
func (w *ways) beside(other, f func()) float64 {
	done := make(chan struct{})
	go func() {
		defer close(done)
		other()
	}()
	w.Sleep(2 * time.Second)
	return w.took(func() {
		f()
		<-done
	})
}

// requests are what clients ask of node i, each with the round trips that it takes at the leader, at a follower of three nodes, and at one of
// five. One is the log's, and one more are the ways to the leader and back. A follower hears of what was committed half a round trip after the
// leader.
var requests = []struct {
	what                string
	leader, three, five float64
	call                func(w *ways, i int) float64
}{
	{"submit", 1, 2, 2, func(w *ways, i int) float64 { return w.took(func() { w.Submit(i, "ext-later", "1") }) }},
	{"submit, wait for the result", 2, 3, 3, func(w *ways, i int) float64 {
		return w.took(func() {
			r := w.SubmitRequest(i, api.SubmitRequest{Behavior: "echo", Params: json.RawMessage("1"), Wait: time.Minute})
			if r.TimedOut || r.Task.Status != "SUCCESS" {
				w.t.Error(Show(r.Task))
			}
		})
	}},
	{"submit under a key, wait for the result", 2, 3, 4, func(w *ways, i int) float64 {
		ctx := api.WithOnce(w.ctx, api.Once{Key: uint64(7 + i), Body: 1})
		return w.took(func() {
			r, err := w.Node(i).Submit(ctx, api.SubmitRequest{Behavior: "echo", Params: json.RawMessage("1"), Wait: time.Minute})
			if err != nil || r.TimedOut {
				w.t.Error(r, err)
			}
		})
	}},
	{"get", 1, 1, 2, func(w *ways, i int) float64 {
		id := w.submitted("ext-later")
		return w.took(func() { w.Wait(i, id, api.GetOptions{}) })
	}},
	{"get, stale", 0, 0, 0, func(w *ways, i int) float64 {
		id := w.submitted("ext-later")
		return w.took(func() { w.Wait(i, id, api.GetOptions{Stale: true}) })
	}},
	{"wait, from the finish at the leader on", 1, 1.5, 1.5, func(w *ways, i int) float64 {
		x := w.accepted(i)
		return w.beside(func() { w.Final(i, x.ID) }, func() { finishAt(w.t, w.Cluster, w.leader, x, "1") })
	}},
	{"accept", 1, 2, 2, func(w *ways, i int) float64 {
		w.accepted(i) // connects
		w.submitted("ext")
		return w.took(func() { acceptAt(w.t, w.Cluster, i, acceptOf("w1", 1, time.Minute)) })
	}},
	{"accept that waits, from the submit at the leader on", 2, 2.5, 2.5, func(w *ways, i int) float64 {
		accept := func() { acceptAt(w.t, w.Cluster, i, acceptOf("w1", 1, time.Minute)) }
		return w.beside(accept, func() { w.Submit(w.leader, "ext", "1") })
	}},
	{"heartbeat", 1, 2, 2, func(w *ways, i int) float64 {
		x := w.accepted(i)
		return w.took(func() {
			if _, err := w.Node(i).Heartbeat(w.ctx, api.HeartbeatRequest{ID: x.ID, Token: x.Lease.Token}); err != nil {
				w.t.Error(err)
			}
		})
	}},
	{"finish", 1, 2, 2, func(w *ways, i int) float64 {
		x := w.accepted(i)
		return w.took(func() { finishAt(w.t, w.Cluster, i, x, "1") })
	}},
	{"cancel", 1, 2, 2, func(w *ways, i int) float64 {
		id := w.submitted("ext-later")
		return w.took(func() {
			if _, err := w.Node(i).Cancel(w.ctx, "", id); err != nil {
				w.t.Error(err)
			}
		})
	}},
}

// TestWays holds how many round trips between nodes requests take. Each further question that a node asks, and each timer that it waits for, shows as
// a larger number. Time is virtual, so the numbers are the same on every machine.
func TestWays(t *testing.T) {
	guest := func(context.Context, *Job) (string, error) { return "1", nil }
	// Nobody else writes to the log: a command that comes while an entry is under way waits for the next one.
	o := Options{NoWorkers: true, Guest: guest, SessionTTL: time.Hour, Configure: func(_ int, c *node.Config) {
		c.Raft.CommitPause, c.Raft.LoneCommitPause = 0, 0 // the product's
	}}
	for _, nodes := range []int{3, 5} {
		Run(t, nodes, o, func(t *testing.T, c *Cluster) {
			c.Push(0, "echo")
			putExternal(t, c, 0, "ext", `{"kind":"external","lease":"1m"}`)
			putExternal(t, c, 0, "ext-later", `{"kind":"external","lease":"1m"}`)
			c.AddWorker("w", 4)
			c.WorkersReady(1)
			ctx, cancel := c.Context(time.Hour)
			defer cancel()
			w := &ways{Cluster: c, t: t, ctx: ctx, leader: c.Leader()}
			follower := c.Followers()[0]
			for i, a := range c.Members {
				for _, b := range c.Members[:i] {
					c.Net.Delay(a.Addr, b.Addr, roundTrip/2)
				}
				if i != w.leader {
					c.Net.Delay(a.Addr, "w", roundTrip/2)
				}
			}
			w.Sleep(5 * time.Second)
			for _, r := range requests {
				want := map[int]float64{3: r.three, 5: r.five}[nodes]
				near, far := r.call(w, w.leader), r.call(w, follower)
				t.Logf("%d nodes: %-52s %5.2f %5.2f", nodes, r.what, near, far)
				if math.Abs(near-r.leader) > 0.1 || math.Abs(far-want) > 0.1 {
					t.Errorf("%d nodes: %s: %.2f round trips at the leader, %.2f at a follower; want %v and %v", nodes, r.what, near, far, r.leader, want)
				}
			}
			if l := c.Leader(); l != w.leader {
				t.Errorf("n%d leads, n%d did", l+1, w.leader+1)
			}
		})
	}
}
