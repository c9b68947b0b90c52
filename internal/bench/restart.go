package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/taskrt/taskrt/internal/trio"
)

// restartPreset kills a follower with many tasks queued, and starts it again. It measures how long the follower takes to be ready to
// serve, and what that costs.
func restartPreset(ctx context.Context, b *bed) error {
	return b.overQueue(ctx, b.restart)
}

// overQueue measures one row over a cluster of its own in which many tasks wait.
func (b *bed) overQueue(ctx context.Context, once func(context.Context) ([]value, error)) error {
	if b.cluster == nil {
		return errNotOurs
	}
	b.steps = b.Runs
	b.tell("queueing tasks")
	if err := b.fill(ctx, b.Tasks); err != nil {
		return err
	}
	return b.runs(ctx, plural(b.Tasks, "task")+" queued", once)
}

func (b *bed) restart(ctx context.Context) ([]value, error) {
	n, err := b.follower(ctx)
	if err != nil {
		return nil, err
	}
	n.Kill9()
	begun := time.Now()
	if err := b.cluster.Start(ctx, n); err != nil {
		return nil, err
	}
	if err := b.cluster.readyNode(ctx, n); err != nil {
		return nil, err
	}
	took := time.Since(begun)
	used, err := trio.CPU(n.Cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	longest, err := b.metric(ctx, n.URL, pauseMetric)
	if err != nil {
		return nil, err
	}
	cycles, err := b.metric(ctx, n.URL, cyclesMetric)
	if err != nil {
		return nil, err
	}
	memory, err := rssAnon(n.Cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	return []value{
		{"until ready", "s", took.Seconds()}, {"CPU", "s", used.Seconds()}, {"GC cycles", "", cycles}, {"longest GC pause", "ms", 1000 * longest}, {"RssAnon", "MB", memory / 1e6},
	}, nil
}

// follower finds a process that does not lead.
func (b *bed) follower(ctx context.Context) (*trio.Node, error) {
	leader, err := b.leader(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range b.cluster.Nodes {
		if n != leader {
			return n, nil
		}
	}
	return nil, fmt.Errorf("all nodes are %s", leader.ID)
}
