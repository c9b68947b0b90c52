package bench

import (
	"context"
	"time"

	"github.com/taskrt/taskrt/internal/trio"
)

// coldPreset kills all nodes with many tasks queued, and starts all of them at once (SPEC C10). It measures how long the cluster has no
// leader after the last process was started, and how many terms that took: one is the least.
func coldPreset(ctx context.Context, b *bed) error {
	return b.overQueue(ctx, b.cold)
}

func (b *bed) cold(ctx context.Context) ([]value, error) {
	before, err := b.metric(ctx, b.URLs[0], termMetric)
	if err != nil {
		return nil, err
	}
	b.cluster.Kill()
	ready := make([]<-chan string, len(b.cluster.Nodes))
	for i, n := range b.cluster.Nodes {
		if ready[i], err = b.cluster.Launch(n); err != nil {
			return nil, err
		}
	}
	begun := time.Now()
	leader, err := b.leader(ctx)
	if err != nil {
		return nil, err
	}
	led := time.Since(begun)
	for _, line := range ready {
		select {
		case <-line:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if err := b.cluster.ready(ctx); err != nil {
		return nil, err
	}
	took := time.Since(begun)
	after, err := b.metric(ctx, leader.URL, termMetric)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, n := range b.cluster.Nodes {
		pids = append(pids, n.Cmd.Process.Pid)
	}
	used, err := trio.CPU(pids...)
	if err != nil {
		return nil, err
	}
	return []value{
		{"until a leader", "s", led.Seconds()}, {"until all are ready", "s", took.Seconds()},
		{"terms", "", after - before}, {"CPU", "s", used.Seconds()},
	}, nil
}
