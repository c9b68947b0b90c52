package clustertest

import (
	"context"
	"flag"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/scale"
	"github.com/taskrt/taskrt/node"
)

var scaleWorkers = flag.Int("scale-workers", 24, "of the largest cluster that TestScaleModel sees")

// TestScaleModel: where CPUs cost nothing, a cluster does what package scale says it does: what is left of the model is the ways of a request and
// of a task, the groups of the log, and slots. The network is slow, the disks are not, and time is virtual: so it does not depend on the machine.
func TestScaleModel(t *testing.T) {
	const rtt = 20 * time.Millisecond
	for _, test := range []struct {
		nodes, workers, slots int
		work                  scale.Work
	}{
		{3, 3, 4, scale.Work{Kind: scale.Submit, Callers: 1}},
		{5, 5, 4, scale.Work{Kind: scale.Submit, Callers: 1}},
		{3, 3, 4, scale.Work{Kind: scale.Submit, Callers: 30}},
		{5, 5, 4, scale.Work{Kind: scale.Submit, Callers: 30}},
		{3, 6, 2, scale.Work{Kind: scale.Run, Callers: 1, Guest: 100 * time.Millisecond}},
		{5, 8, 2, scale.Work{Kind: scale.Run, Callers: 5, Guest: 100 * time.Millisecond}},
		{3, 12, 1, scale.Work{Kind: scale.Run, Callers: 48, Guest: 400 * time.Millisecond}},
		{3, *scaleWorkers, 2, scale.Work{Kind: scale.Run, Callers: 3 * *scaleWorkers, Guest: time.Second}},
	} {
		t.Run(fmt.Sprintf("%d nodes, %d workers of %d slots, %s by %d", test.nodes, test.workers, test.slots, test.work.Kind, test.work.Callers), func(t *testing.T) {
			t.Parallel()
			costs := &scale.Costs{}
			want, err := costs.Predict(scale.Cluster{
				Nodes: test.nodes, Hosts: scale.Together(test.nodes, 1), RTT: rtt, Workers: test.workers, Slots: test.slots,
			}, test.work)
			if err != nil {
				t.Fatal(err)
			}
			rate := virtualRate(t, test.nodes, test.workers, test.slots, rtt, test.work)
			t.Logf("predicted %.1f/s (%s), was %.1f/s", want.Rate, want.Limit, rate)
			if off := math.Abs(want.Rate/rate - 1); off > 0.3 { // 17 % at most when this was written
				t.Errorf("predicted %.1f tasks a second, were %.1f: off by %.0f %%", want.Rate, rate, 100*off)
			}
		})
	}
}

// virtualRate is how many tasks a second of virtual time a cluster does whose nodes and workers are rtt apart.
func virtualRate(t *testing.T, nodes, workers, slots int, rtt time.Duration, w scale.Work) (rate float64) {
	nap := func(ctx context.Context, j *Job) (string, error) { return "1", j.Sleep(ctx, w.Guest) }
	o := Options{NoWorkers: true, Guest: nap, Configure: func(_ int, c *node.Config) {
		c.Raft.CommitPause, c.Raft.LoneCommitPause = 0, 0 // the product's: that of this package's clusters is longer than a round trip
	}}
	Run(t, nodes, o, func(t *testing.T, c *Cluster) {
		c.Push(0, "echo")
		var places []string
		for i := range nodes {
			places = append(places, fmt.Sprintf("n%d", i+1))
		}
		for i := range workers {
			id := fmt.Sprintf("w%d", i+1)
			c.AddWorker(id, slots)
			places = append(places, id)
		}
		c.WorkersReady(workers)
		for i, a := range places {
			for _, b := range places[:i] {
				c.Net.Delay(a, b, rtt/2)
			}
		}
		if w.Kind == scale.Submit { // runs have groups of the log, too
			if _, err := c.Node(0).PauseBehavior(t.Context(), "", "echo", true); err != nil {
				t.Fatal(err)
			}
		}
		c.Sleep(2 * time.Second)
		const settle, counted = 3 * time.Second, 12 * time.Second
		begin := time.Now().Add(settle)
		end := begin.Add(counted)
		var done atomic.Int64
		var wg sync.WaitGroup
		for caller := range w.Callers {
			wg.Go(func() {
				for i := caller; time.Now().Before(end); i++ { // a lone caller asks each node in turn
					r := api.SubmitRequest{Behavior: "echo", Params: []byte("1")}
					if w.Kind == scale.Run {
						r.Wait = time.Minute
					}
					c.SubmitRequest(i%nodes, r)
					if now := time.Now(); now.After(begin) && now.Before(end) {
						done.Add(1)
					}
				}
			})
		}
		wg.Wait()
		rate = float64(done.Load()) / counted.Seconds()
	})
	return rate
}
