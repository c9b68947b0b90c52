package bench

import (
	"context"
	"time"

	"github.com/taskrt/taskrt/internal/trio"
)

// idlePreset measures what a cluster costs that has nothing to do.
func idlePreset(ctx context.Context, b *bed) error {
	if b.cluster == nil {
		return errNotOurs
	}
	b.steps = b.Runs
	if err := b.pause(ctx, false); err != nil {
		return err
	}
	return b.runs(ctx, "nothing to do", func(ctx context.Context) ([]value, error) {
		if err := Pause(ctx, b.Warmup); err != nil {
			return nil, err
		}
		leader, err := b.leader(ctx)
		if err != nil {
			return nil, err
		}
		before, err := b.nodesNow(ctx, leader)
		if err != nil {
			return nil, err
		}
		if err := Pause(ctx, b.For); err != nil {
			return nil, err
		}
		after, err := b.nodesNow(ctx, leader)
		if err != nil {
			return nil, err
		}
		percent := func(i int) float64 {
			return 100 * (after.cpu[i] - before.cpu[i]).Seconds() / after.at.Sub(before.at).Seconds()
		}
		return []value{
			{"CPU of the leader", "% of a core", percent(0)}, {"CPU of a follower, the most", "% of a core", max(percent(1), percent(2))},
			{"log entries", "1/s", (after.applied - before.applied) / after.at.Sub(before.at).Seconds()},
		}, nil
	})
}

// nodesNow is what the nodes have done since they started. The leader comes first.
type nodesNow struct {
	at      time.Time
	cpu     []time.Duration
	applied float64 // the leader's log index
}

func (b *bed) nodesNow(ctx context.Context, leader *trio.Node) (now nodesNow, err error) {
	now.at = time.Now()
	list := []*trio.Node{leader}
	for _, n := range b.cluster.Nodes {
		if n != leader {
			list = append(list, n)
		}
	}
	for _, n := range list {
		used, err := trio.CPU(n.Cmd.Process.Pid)
		if err != nil {
			return now, err
		}
		now.cpu = append(now.cpu, used)
	}
	now.applied, err = b.metric(ctx, leader.URL, appliedMetric)
	return now, err
}
