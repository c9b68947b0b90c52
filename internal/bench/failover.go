package bench

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/trio"
)

var errNotOurs = errors.New("this preset kills nodes: it measures only a cluster that it has started itself, without --server")

// failoverPreset kills the leader, or lets it stand still, under load. It measures how long a task takes that is submitted afterwards.
func failoverPreset(ctx context.Context, b *bed) error {
	if b.cluster == nil {
		return errNotOurs
	}
	b.steps = 2 * b.Runs
	if err := b.pause(ctx, false); err != nil {
		return err
	}
	for _, how := range []struct {
		name string
		end  func(*trio.Node)
	}{
		{"kill -9 of the leader", (*trio.Node).Kill9},
		{"SIGSTOP of the leader", func(n *trio.Node) { _ = n.Cmd.Process.Signal(syscall.SIGSTOP) }},
	} {
		if err := b.runs(ctx, how.name, func(ctx context.Context) ([]value, error) { return b.failover(ctx, how.end) }); err != nil {
			return err
		}
	}
	return nil
}

func (b *bed) failover(ctx context.Context, end func(*trio.Node)) ([]value, error) {
	const callers = 16
	clients, done, err := b.clients(callers)
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var ending, ended time.Time
	var first time.Duration
	found := make(chan struct{})
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				begun := time.Now()
				if _, err := b.result(ctx, clients[caller%len(clients)]); err != nil {
					_ = Pause(ctx, 5*time.Millisecond) // refused, or not known: there is no leader
					continue
				}
				mu.Lock()
				if !ended.IsZero() && begun.After(ended) && first == 0 {
					first = time.Since(ending)
					close(found)
				}
				mu.Unlock()
			}
		})
	}
	defer wg.Wait()
	defer cancel()
	if err := Pause(ctx, b.Warmup+500*time.Millisecond); err != nil {
		return nil, err
	}
	leader, err := b.leader(ctx)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	end(leader)
	mu.Lock()
	ending, ended = begun, time.Now() // what was submitted before may have been done by the one that ended
	mu.Unlock()
	select {
	case <-found:
	case <-time.After(maxWait):
		return nil, errors.New("nothing was done within 30 s after the leader had ended")
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	leader.Kill9() // who stands still; a dead one stays so
	if err := b.cluster.Start(ctx, leader); err != nil {
		return nil, err
	}
	if err := b.cluster.ready(ctx); err != nil {
		return nil, err
	}
	return []value{{"until done again", "s", first.Seconds()}}, nil
}

// leader finds the process that leads.
func (b *bed) leader(ctx context.Context) (*trio.Node, error) {
	for {
		var state *api.Cluster
		state, err := b.client.Cluster(ctx)
		if err == nil && state.Leader != "" {
			return b.cluster.Find(state.Leader)
		}
		if err := Pause(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}
