package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/taskrt/taskrt/internal/bench"
)

// callersOf bulk and of submit to done.
const (
	bulkCallers = 4
	e2eCallers  = 100
)

// variant is how JetStream's consumers ack: taskrt has one way only, and stands beside both.
type variant struct {
	name      string
	confirmed bool
}

var variants = []variant{{"acks sent", false}, {"acks confirmed", true}}

var allPresets = []string{"submit", "bulk", "e2e", "drain"}

// compare measures each preset in turn on both, the other first in every second round. Only one of the two systems runs at a time.
func compare(ctx context.Context, c settings, progress io.Writer) (*comparison, error) {
	var result comparison
	for _, preset := range c.presets {
		for round := range c.rounds {
			sides := []func() error{
				func() error { return result.taskrt(ctx, c, preset) },
				func() error { return result.jetstream(ctx, c, preset) },
			}
			for i := range sides {
				fmt.Fprintf(progress, "%s, round %d of %d, %d of 2\n", preset, round+1, c.rounds, i+1)
				if err := sides[(i+round)%2](); err != nil {
					return nil, fmt.Errorf("%s: %w", preset, err)
				}
			}
		}
	}
	return &result, nil
}

// taskrt runs one round of a preset of `taskrt bench`.
func (r *comparison) taskrt(ctx context.Context, c settings, preset string) error {
	config := bench.Config{
		Binary: c.taskrt, Payload: len(c.payload), For: c.length, Warmup: c.warmup, Runs: 1, Batch: c.batch, Tasks: c.tasks, Flags: c.flags,
		Callers: map[string][]int{"submit": c.callers, "bulk": {bulkCallers}, "e2e": {e2eCallers}}[preset],
	}
	report, err := bench.Run(ctx, preset, config)
	if err != nil {
		return fmt.Errorf("taskrt: %w", err)
	}
	for i, row := range report.Rows {
		var f figures
		for _, figure := range row.Figures {
			switch figure.Name {
			case "submits", "tasks", "done":
				f.rate = figure.Median
			case "p50", "batch p50":
				f.p50 = figure.Median
			case "CPU of a task":
				f.cpu = figure.Median
			}
		}
		switch preset {
		case "submit":
			r.row(submitName(c.callers[i])).Taskrt.add(f)
		case "bulk":
			r.row(bulkName(c)).Taskrt.add(f)
		default:
			for _, v := range variants {
				r.row(workName(c, preset, v)).Taskrt.add(f)
			}
		}
	}
	return nil
}

// jetstream runs the same on servers of its own.
func (r *comparison) jetstream(ctx context.Context, c settings, preset string) (err error) {
	s, err := startServers(ctx, c.nats)
	if err != nil {
		return fmt.Errorf("JetStream: %w", err)
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	add := func(name string, f figures, err error) error {
		if err != nil {
			return fmt.Errorf("JetStream, %s: %w", name, err)
		}
		r.row(name).JetStream.add(f)
		return nil
	}
	switch preset {
	case "submit":
		for _, n := range c.callers {
			f, err := s.submit(ctx, c, n)
			if err := add(submitName(n), f, err); err != nil {
				return err
			}
		}
	case "bulk":
		f, err := s.bulk(ctx, c, bulkCallers)
		return add(bulkName(c), f, err)
	default:
		for _, v := range variants {
			work := map[string]func(context.Context, settings, bool) (figures, error){"e2e": s.endToEnd, "drain": s.drain}[preset]
			f, err := work(ctx, c, v.confirmed)
			if err := add(workName(c, preset, v), f, err); err != nil {
				return err
			}
		}
	}
	return nil
}

func submitName(callers int) string { return fmt.Sprintf("submit, %d at a time", callers) }

func bulkName(c settings) string {
	return fmt.Sprintf("bulk, batches of %d, %d at a time", c.batch, bulkCallers)
}

func workName(c settings, preset string, v variant) string {
	if preset == "drain" {
		return fmt.Sprintf("drain of %d, %s", c.tasks, v.name)
	}
	return fmt.Sprintf("submit to done, %d at a time, %s", e2eCallers, v.name)
}
