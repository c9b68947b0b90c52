package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
)

// sampleSize is how many of the accepted tasks are read back.
const sampleSize = 1000

func newSample() *sample { return &sample{most: sampleSize, draw: rand.Int64N} }

// clients returns one client for each node, each with its part of the callers.
func (b *bed) clients(callers int) ([]*client.Client, func(), error) {
	var list []*client.Client
	for i := range b.URLs {
		c, err := b.connect(i, callers)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, c)
	}
	return list, func() {
		for _, c := range list {
			c.Close()
		}
	}, nil
}

func (b *bed) request() api.SubmitRequest {
	return api.SubmitRequest{Namespace: b.namespace, Behavior: b.behavior, Params: b.params}
}

// briefly is a request whose answer says little.
func (b *bed) briefly() api.SubmitRequest {
	r := b.request()
	r.Minimal = true
	return r
}

// there checks that all tasks of a sample are there, with the params that they were given.
func (b *bed) there(ctx context.Context, s *sample) error {
	for _, id := range s.kept {
		t, err := b.client.Task(ctx, b.namespace, id, api.GetOptions{})
		if err != nil {
			return fmt.Errorf("a task that was accepted is not there: %w", err)
		}
		if string(t.Params) != string(b.params) {
			return fmt.Errorf("task %s has other params than it was given", id)
		}
	}
	return nil
}

// callerRows measures a row for each number of callers, in closed loops of call. Each call makes a fixed number of tasks. The figures are
// the tasks' rate, under the name rate, and how long a call took. The tasks that call reports as accepted must be there at the end.
func (b *bed) callerRows(
	ctx context.Context, label, rate, prefix string, tasks int, call func(ctx context.Context, client *client.Client, accepted *sample) error,
) error {
	b.steps = len(b.Callers) * b.Runs
	for _, callers := range b.Callers {
		clients, done, err := b.clients(callers)
		if err != nil {
			return err
		}
		accepted := newSample()
		err = b.runs(ctx, plural(callers, "caller")+label, func(ctx context.Context) ([]value, error) {
			l := Loop{Callers: callers, Warmup: b.Warmup, Length: b.For, Call: func(ctx context.Context, caller int) error {
				return call(ctx, clients[caller%len(clients)], accepted)
			}}
			cpu := b.cpuMeter()
			m, err := l.Run(ctx)
			if err != nil {
				return nil, err
			}
			values := append([]value{{rate, "1/s", m.Rate() * float64(tasks)}}, quantiles(prefix, m.Times)...)
			return append(values, cpu.figure(m.All*int64(tasks))...), nil
		})
		done()
		if err == nil {
			err = b.there(ctx, accepted)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// submitPreset submits one task per call. A call is one request, unless callers are pipelined. Nothing runs. As in all presets that only
// submit, a caller reads from the answer only that the task is there.
func submitPreset(ctx context.Context, b *bed) error {
	label := ""
	if b.Pipelined {
		label = ", pipelined"
	}
	return b.callerRows(ctx, label, "submits", "", 1, func(ctx context.Context, client *client.Client, accepted *sample) error {
		r, err := client.Submit(ctx, b.briefly())
		if err == nil {
			accepted.add(r.Task.ID)
		}
		return err
	})
}

// bulkPreset submits batches. Nothing runs.
func bulkPreset(ctx context.Context, b *bed) error {
	return b.callerRows(ctx, fmt.Sprintf(", batches of %d", b.Batch), "tasks", "batch ", b.Batch, func(ctx context.Context, client *client.Client, accepted *sample) error {
		return b.submitBatch(ctx, client, b.Batch, accepted)
	})
}

func (b *bed) submitBatch(ctx context.Context, client *client.Client, n int, accepted *sample) error {
	rs := make([]api.SubmitRequest, n)
	for i := range rs {
		rs[i] = b.briefly()
	}
	results, err := client.SubmitBatch(ctx, rs)
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Error != nil {
			return r.Error
		}
	}
	accepted.add(results[rand.IntN(n)].Task.ID) // one of each
	return nil
}

// fill queues n tasks.
func (b *bed) fill(ctx context.Context, n int) error {
	if n <= 0 {
		return nil
	}
	clients, done, err := b.clients(4)
	if err != nil {
		return err
	}
	defer done()
	left := int64(n)
	l := Loop{Callers: 4, Limit: int64((n + b.Batch - 1) / b.Batch), Call: func(ctx context.Context, caller int) error {
		from := atomic.AddInt64(&left, -int64(b.Batch))
		return b.submitBatch(ctx, clients[caller%len(clients)], b.Batch+int(min(from, 0)), newSample())
	}}
	_, err = l.Run(ctx)
	return err
}

// e2ePreset lets each caller submit a task and wait for its result, while guests run.
func e2ePreset(ctx context.Context, b *bed) error {
	if err := b.pause(ctx, false); err != nil {
		return err
	}
	return b.callerRows(ctx, "", "done", "", 1, func(ctx context.Context, client *client.Client, _ *sample) error {
		_, err := b.result(ctx, client)
		return err
	})
}

// maxWait is how long a caller waits for a result.
const maxWait = 30 * time.Second

// result submits a task, waits for its result, and checks it.
func (b *bed) result(ctx context.Context, client *client.Client) (*api.Task, error) {
	request := b.request()
	request.Wait = maxWait
	r, err := client.Submit(ctx, request)
	if err != nil {
		return nil, err
	}
	switch t := r.Task; {
	case !t.Final || t.Status != "SUCCESS":
		return nil, fmt.Errorf("task %s is %s after %v", t.ID, t.Status, maxWait)
	case string(t.Result) != string(b.params):
		return nil, fmt.Errorf("task %s has a result that is not its params", t.ID)
	}
	return r.Task, nil
}

// drainPreset queues tasks, and then lets them run.
func drainPreset(ctx context.Context, b *bed) error {
	b.steps = b.Runs
	n := b.Tasks
	return b.runs(ctx, plural(n, "task"), func(ctx context.Context) ([]value, error) {
		if err := b.pause(ctx, true); err != nil {
			return nil, err
		}
		if err := b.fill(ctx, n); err != nil {
			return nil, err
		}
		begun, cpu := time.Now(), b.cpuMeter()
		if err := b.pause(ctx, false); err != nil {
			return nil, err
		}
		if err := b.emptied(ctx); err != nil {
			return nil, err
		}
		took, used := time.Since(begun), cpu.figure(int64(n))
		failed, err := b.client.Tasks(ctx, api.ListRequest{Namespace: b.namespace, Behaviors: []string{behavior}, Statuses: []string{"FAILURE"}, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(failed.Tasks) > 0 {
			return nil, fmt.Errorf("task %s has failed", failed.Tasks[0].ID)
		}
		return append([]value{{"done", "1/s", float64(n) / took.Seconds()}, {"time", "s", took.Seconds()}}, used...), nil
	})
}

// emptied waits until every task has its outcome.
func (b *bed) emptied(ctx context.Context) error {
	for {
		left, err := b.queued(ctx)
		if err != nil || left == 0 {
			return err
		}
		b.tell(fmt.Sprintf("%d tasks left", left))
		if err := Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}
