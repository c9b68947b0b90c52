package clustertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/extworker"
	"github.com/taskrt/taskrt/node"
)

// anyNode is a client as programs have it. It knows all nodes and asks another one next time.
type anyNode struct {
	c   *Cluster
	mu  sync.Mutex
	rng *rand.Rand
}

func (a *anyNode) node() (*node.Node, error) {
	a.mu.Lock()
	i := a.rng.IntN(len(a.c.Members))
	a.mu.Unlock()
	if n := a.c.Members[i].up(); n != nil {
		return n, nil
	}
	return nil, errors.New("connection refused")
}

// call asks one node. If the node dies meanwhile, this looks like a broken connection.
func call[R any](a *anyNode, f func(n *node.Node) (R, error)) (r R, err error) {
	n, err := a.node()
	if err != nil {
		return r, err
	}
	return f(n)
}

func (a *anyNode) Accept(ctx context.Context, r api.AcceptRequest) (*api.AcceptReply, error) {
	return call(a, func(n *node.Node) (*api.AcceptReply, error) { return n.Accept(ctx, r) })
}

func (a *anyNode) Heartbeat(ctx context.Context, r api.HeartbeatRequest) (*api.HeartbeatReply, error) {
	return call(a, func(n *node.Node) (*api.HeartbeatReply, error) { return n.Heartbeat(ctx, r) })
}

func (a *anyNode) Finish(ctx context.Context, r api.FinishRequest) (*api.FinishReply, error) {
	return call(a, func(n *node.Node) (*api.FinishReply, error) { return n.Finish(ctx, r) })
}

func (a *anyNode) FinishMany(ctx context.Context, rs []api.FinishRequest) ([]api.FinishResult, error) {
	return call(a, func(n *node.Node) ([]api.FinishResult, error) { return n.FinishMany(ctx, rs) })
}

func (a *anyNode) Snooze(ctx context.Context, r api.SnoozeRequest) (*api.Task, error) {
	return call(a, func(n *node.Node) (*api.Task, error) { return n.Snooze(ctx, r) })
}

// startExternal runs a worker of package extworker until the returned function is called.
func startExternal(t *testing.T, c *Cluster, name string, slots int, h extworker.Handler) (stop func()) {
	t.Helper()
	client := &anyNode{c: c, rng: rand.New(rand.NewPCG(uint64(len(name)), uint64(name[len(name)-1])))}
	w, err := extworker.New(extworker.Config{
		Client: client, Behavior: "ext", Worker: name, Concurrency: slots, Handler: h, Logger: slog.New(slog.NewTextHandler(c.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("worker %s: %v", name, err)
		}
	}
}

// TestExternalWorkersThroughDeaths: workers follow HTTP's semantics, tasks take longer than a lease, and nodes die and
// are cut off. Every task ends well, with the result of its last attempt. No attempt ran beside the next attempt's
// report.
func TestExternalWorkersThroughDeaths(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2 // Go's race detector crashes once in some hundred of these (__tsan::SlotLock, from synctest's timers; Go 1.26.8)
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
				putExternal(t, c, 0, "ext", `{"kind":"external","lease":"3s","retry":{"max_attempts":0}}`)
				rng := rand.New(rand.NewPCG(seed, 1))
				handle := func(ctx context.Context, x *extworker.Task) (any, error) {
					var ms int
					if err := x.Params(&ms); err != nil {
						return nil, err
					}
					for range ms / 500 {
						select {
						case <-time.After(500 * time.Millisecond):
						case <-ctx.Done():
							return nil, context.Cause(ctx)
						}
						if err := x.Progress(ms); err != nil {
							return nil, err
						}
					}
					return x.Lease.Token, nil
				}
				var stops []func()
				for i := range 4 {
					stops = append(stops, startExternal(t, c, fmt.Sprint("w", i), 5, handle))
				}
				var ids []string
				for round := range 6 {
					for range 15 {
						up := c.Up()
						ctx, cancel := c.Context(2 * time.Minute)
						reply, err := c.Node(up[rng.IntN(len(up))]).Submit(ctx, api.SubmitRequest{
							Behavior: "ext", ID: fmt.Sprintf("t-%d", len(ids)), Params: json.RawMessage(fmt.Sprint(rng.IntN(8000))),
						})
						cancel()
						if err != nil {
							t.Fatalf("submit: %v", err)
						}
						ids = append(ids, reply.Task.ID)
					}
					victim := rng.IntN(3)
					switch round % 3 {
					case 0:
						c.Kill(victim)
						c.Sleep(time.Duration(rng.IntN(5000)) * time.Millisecond)
						c.Start(victim)
					case 1:
						c.Stop(victim)
						c.Sleep(time.Duration(rng.IntN(5000)) * time.Millisecond)
						c.Start(victim)
					case 2:
						c.Net.Isolate(c.Members[victim].Addr)
						c.Sleep(time.Duration(rng.IntN(8000)) * time.Millisecond)
						c.Net.Rejoin(c.Members[victim].Addr)
					}
				}
				for _, id := range ids {
					x := c.Final(c.Leader(), id)
					last := x.History[len(x.History)-1]
					if x.Status != "SUCCESS" || string(x.Result) != fmt.Sprint(last.Token) || last.Outcome != "SUCCESS" {
						t.Errorf("%s", Show(x))
					}
				}
				for _, stop := range stops {
					stop()
				}
				ws, err := c.Node(c.Leader()).Workers(t.Context())
				if err != nil || len(ws) != 0 {
					t.Errorf("workers at the end: %+v, %v", ws, err)
				}
			})
		})
	}
}

// TestExternalWorkerGivesBack: a worker that is stopped gives back its tasks, and another worker goes on from the
// checkpoint at once.
func TestExternalWorkerGivesBack(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		putExternal(t, c, 0, "ext", `{"kind":"external","lease":"1m"}`)
		stop := startExternal(t, c, "w1", 1, func(ctx context.Context, x *extworker.Task) (any, error) {
			if err := x.Checkpoint(7); err != nil {
				return nil, err
			}
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		id := c.Submit(0, "ext", `1`)
		c.Until(1, id, "running")
		c.Sleep(time.Second)
		stop()
		if x := c.Wait(1, id, api.GetOptions{}); x.Status != "CREATED" || x.LostCount+x.Failures != 0 {
			t.Fatalf("%s", Show(x))
		}
		defer startExternal(t, c, "w2", 1, func(_ context.Context, x *extworker.Task) (any, error) { return x.Task.Checkpoint, nil })()
		if x := c.Final(2, id); x.Status != "SUCCESS" || string(x.Result) != `7` || x.Attempt != 2 {
			t.Errorf("%s", Show(x))
		}
	})
}
