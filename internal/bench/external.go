package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/extworker"
)

// external is the behavior that has no module.
const external = "bench.external"

// externalPreset queues tasks of a behavior without a module, which are then accepted and finished over the API: by workers that each have one task,
// and by one program of package extworker that has as many.
func externalPreset(ctx context.Context, b *bed) error {
	b.behavior = external
	if _, err := b.client.PutBehavior(ctx, api.PutBehaviorRequest{Namespace: b.namespace, Name: external, Policy: []byte(`{"kind":"external"}`)}); err != nil {
		return err
	}
	b.steps = 2 * len(b.Workers) * b.Runs
	for _, n := range b.Workers {
		for _, way := range []struct {
			name string
			work func(ctx context.Context, n int, clients []*timed) (took time.Duration, err error)
		}{
			{plural(n, "worker"), b.workers},
			{"a worker of " + plural(n, "slot"), b.slots},
		} {
			if err := b.externalRow(ctx, way.name, func(ctx context.Context, clients []*timed) (time.Duration, error) { return way.work(ctx, n, clients) }, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// externalRow measures a row. The tasks of all its runs are queued before.
func (b *bed) externalRow(ctx context.Context, name string, work func(context.Context, []*timed) (time.Duration, error), n int) error {
	queued, err := b.queued(ctx)
	if err == nil {
		err = b.fill(ctx, (b.Tasks+n)*b.Runs-queued) // a program that has stopped may have left leases
	}
	if err != nil {
		return err
	}
	clients, done, err := b.clients(n)
	if err != nil {
		return err
	}
	defer done()
	sample := newSample()
	err = b.runs(ctx, name, func(ctx context.Context) ([]value, error) {
		calls := newCalls(int64(b.Tasks), sample)
		var each []*timed
		for _, c := range clients {
			each = append(each, &timed{c, calls})
		}
		cpu, writes := b.cpuMeter(), b.writes(ctx)
		took, err := work(ctx, each)
		if err != nil {
			return nil, err
		}
		finished := calls.finished.Load()
		if finished == 0 {
			return nil, errTooShort
		}
		values := []value{{"done", "1/s", float64(finished) / took.Seconds()}}
		values = append(values, quantiles("accept ", calls.accepts)[:2]...)
		values = append(values, quantiles("finish ", calls.finishes)[:2]...)
		values = append(values, cpu.figure(finished)...)
		return append(values, value{"fsyncs of a task", "", float64(b.writes(ctx)-writes) / float64(finished)}), nil
	})
	if err != nil {
		return err
	}
	return b.succeeded(ctx, sample)
}

// succeeded checks that the tasks of a sample have the result that they were finished with.
func (b *bed) succeeded(ctx context.Context, s *sample) error {
	for _, id := range s.kept {
		t, err := b.client.Task(ctx, b.namespace, id, api.GetOptions{})
		if err != nil {
			return fmt.Errorf("a task that was finished is not there: %w", err)
		}
		if t.Status != "SUCCESS" || string(t.Result) != externalResult {
			return fmt.Errorf("task %s was finished, and is %s with the result %.100s", id, t.Status, t.Result)
		}
	}
	return nil
}

const externalResult = "1"

// workers lets n workers accept one task, finish it, and again, until the time is over or all tasks are done.
func (b *bed) workers(ctx context.Context, n int, clients []*timed) (time.Duration, error) {
	l := Loop{Callers: n, Length: b.For, Limit: int64(b.Tasks), Call: func(ctx context.Context, worker int) error {
		c := clients[worker%len(clients)]
		r, err := c.Accept(ctx, api.AcceptRequest{
			Namespace: b.namespace, Behavior: external, Worker: fmt.Sprint("w", worker), Max: 1, Wait: new(api.Duration(maxWait)),
		})
		if err != nil {
			return err
		}
		if len(r.Tasks) == 0 {
			return fmt.Errorf("nothing to accept for %v, although tasks are queued", maxWait)
		}
		t := r.Tasks[0]
		_, err = c.Finish(ctx, api.FinishRequest{
			Namespace: b.namespace, ID: t.ID, Token: t.Lease.Token, Seq: 1, Result: []byte(externalResult), Minimal: true,
		})
		return err
	}}
	begun := time.Now()
	if _, err := l.Run(ctx); err != nil {
		return 0, err
	}
	return time.Since(begun), nil
}

// slots lets one program run n tasks at a time, until the time is over or all tasks are done.
func (b *bed) slots(ctx context.Context, n int, clients []*timed) (time.Duration, error) {
	within, cancel := context.WithTimeout(ctx, b.For)
	defer cancel()
	clients[0].calls.done = cancel
	w, err := extworker.New(extworker.Config{
		Client: clients[0], Namespace: b.namespace, Behavior: external, Worker: "bench", Concurrency: n, Logger: slog.New(slog.DiscardHandler),
		Handler: func(context.Context, *extworker.Task) (any, error) { return json.RawMessage(externalResult), nil },
	})
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := errors.Join(w.Run(within), context.Cause(ctx)); err != nil {
		return 0, err
	}
	return time.Since(begun), nil
}

// calls are the calls of a run: how long each took, and how many tasks have been finished.
type calls struct {
	limit    int64
	finished atomic.Int64
	done     context.CancelFunc // if not nil, called when limit tasks have been finished

	mu                sync.Mutex
	accepts, finishes *hdrhistogram.Histogram
	sample            *sample
}

func newCalls(limit int64, s *sample) *calls {
	return &calls{limit: limit, accepts: newHistogram(), finishes: newHistogram(), sample: s}
}

func (c *calls) record(h *hdrhistogram.Histogram, begun time.Time) {
	took := time.Since(begun)
	c.mu.Lock()
	defer c.mu.Unlock()
	record(h, took)
}

// finish notes that a task has been finished.
func (c *calls) finish(id string) {
	c.sample.add(id)
	if c.finished.Add(1) == c.limit && c.done != nil {
		c.done()
	}
}

// timed is a client whose calls are noted.
type timed struct {
	*client.Client
	calls *calls
}

var _ extworker.Client = (*timed)(nil)

// Accept notes how long a worker waited for tasks. An answer without any says nothing: the queue was empty.
func (c *timed) Accept(ctx context.Context, r api.AcceptRequest) (*api.AcceptReply, error) {
	begun := time.Now()
	reply, err := c.Client.Accept(ctx, r)
	if err == nil && len(reply.Tasks) > 0 {
		c.calls.record(c.calls.accepts, begun)
	}
	return reply, err
}

func (c *timed) Finish(ctx context.Context, r api.FinishRequest) (*api.FinishReply, error) {
	begun := time.Now()
	reply, err := c.Client.Finish(ctx, r)
	if err == nil {
		c.calls.record(c.calls.finishes, begun)
		c.calls.finish(r.ID)
	}
	return reply, err
}

func (c *timed) FinishMany(ctx context.Context, rs []api.FinishRequest) ([]api.FinishResult, error) {
	begun := time.Now()
	results, err := c.Client.FinishMany(ctx, rs)
	if err == nil {
		c.calls.record(c.calls.finishes, begun)
	}
	for i := range results {
		if results[i].Error == nil {
			c.calls.finish(rs[i].ID)
		}
	}
	return results, err
}
