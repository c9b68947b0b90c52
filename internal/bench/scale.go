package bench

import (
	"context"
	"fmt"
	"time"
)

// scaleLeast is how many tasks are queued for the first row.
const scaleLeast = 1000

// scalePreset measures submits, and then the first Drained tasks of the queue, with few tasks queued before and with many. It also tells the
// second figures as a part of the first.
func scalePreset(ctx context.Context, b *bed) error {
	b.steps = 2
	sizes := []int{scaleLeast, b.Tasks}
	b.Runs, b.report.Runs = 1, 1 // filling takes most of the time
	queued := 0
	for _, n := range sizes {
		b.tell(fmt.Sprintf("queueing %d tasks", n))
		if err := b.fill(ctx, n-queued); err != nil {
			return err
		}
		b.tell("waiting until the nodes have nothing left to do")
		if err := b.rest(ctx); err != nil {
			return err
		}
		err := b.runs(ctx, plural(n, "task")+" queued before", b.scale)
		if err != nil {
			return err
		}
		var err2 error
		if queued, err2 = b.queued(ctx); err2 != nil {
			return err2
		}
	}
	few, many := b.report.Rows[0], b.report.Rows[1]
	ratio := Row{Name: "as a part of it"}
	for i, f := range many.Figures {
		r, _ := Ratio(&f, &few.Figures[i])
		ratio.Figures = append(ratio.Figures, Figure{Name: f.Name, Unit: f.Unit, Median: r, Runs: []float64{r}})
	}
	b.report.Rows = append(b.report.Rows, ratio)
	return nil
}

func (b *bed) scale(ctx context.Context) ([]value, error) {
	callers := b.Callers[0]
	clients, done, err := b.clients(callers)
	if err != nil {
		return nil, err
	}
	defer done()
	cpu := b.cpuMeter()
	l := Loop{Callers: callers, Warmup: b.Warmup, Length: b.For, Call: func(ctx context.Context, caller int) error {
		_, err := clients[caller%len(clients)].Submit(ctx, b.request())
		return err
	}}
	m, err := l.Run(ctx)
	if err != nil {
		return nil, err
	}
	submitCPU := cpu.PerTask(m.All)
	if err := b.fill(ctx, b.Drained); err != nil {
		return nil, err
	}
	before, err := b.queued(ctx)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	cpu = b.cpuMeter()
	if err := b.pause(ctx, false); err != nil {
		return nil, err
	}
	left := before
	for before-left < b.Drained {
		if err := Pause(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
		if left, err = b.queued(ctx); err != nil {
			return nil, err
		}
	}
	ran, took, drainCPU := before-left, time.Since(begun), cpu.PerTask(int64(before-left))
	if err := b.pause(ctx, true); err != nil {
		return nil, err
	}
	return []value{
		{"submits", "1/s", m.Rate()}, {"CPU of a submit", "us", submitCPU}, {"drained", "1/s", float64(ran) / took.Seconds()}, {"CPU of a run", "us", drainCPU},
	}, nil
}

// restTime is how long a cluster may take to become quiet.
const restTime = time.Minute

// rest waits until a cluster of ours uses less than a tenth of a core. Filling a cluster leaves snapshots to write, and garbage; they are a
// part of filling it.
func (b *bed) rest(ctx context.Context) error {
	for end := time.Now().Add(restTime); b.cluster != nil && time.Now().Before(end); {
		cpu := b.cpuMeter()
		if err := Pause(ctx, time.Second); err != nil {
			return err
		}
		if cpu.PerTask(1) < 1e5 {
			return nil
		}
	}
	return nil
}

// queued is how many tasks have no outcome yet.
func (b *bed) queued(ctx context.Context) (int, error) {
	s, err := b.client.BehaviorStats(ctx, b.namespace, b.behavior)
	if err != nil {
		return 0, err
	}
	return int(s.Due + s.Running + s.Delayed + s.Retrying), nil
}
