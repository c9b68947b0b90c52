package extworker

import (
	"context"
	"time"

	"github.com/taskrt/taskrt/api"
)

// finisher reports outcomes, one call at a time. Outcomes that arrive during a call go together with the next call.
type finisher struct {
	client Client
	queue  chan finishing
	end    context.Context // no call is made again after it
}

type finishing struct {
	r    api.FinishRequest
	done chan error
}

// These say how a call that failed is made again, and how long one call may take.
const (
	pauseMin    = 50 * time.Millisecond
	pauseMax    = 2 * time.Second
	callTimeout = 10 * time.Second
	// insistFor is how long a report is made again: longer than an election takes. After it the lease runs out.
	insistFor = time.Minute
)

// finish reports an outcome. It returns once the cluster has taken the outcome, or the reason why the cluster did not.
func (f *finisher) finish(r api.FinishRequest) error {
	x := finishing{r, make(chan error, 1)}
	f.queue <- x
	return <-x.done
}

// run reports until the queue is closed.
func (f *finisher) run() {
	for x := range f.queue {
		for next := &x; next != nil; {
			var xs []finishing
			xs, next = f.more(*next)
			f.report(xs)
		}
	}
}

// more returns x and the outcomes that wait behind it in the queue. A cluster takes at most one report of a task in a call. So a second
// report of a task ends the batch, and is returned as next. There is one if a worker has lost a lease without noticing and was
// given the task again.
func (f *finisher) more(x finishing) (xs []finishing, next *finishing) {
	xs = []finishing{x}
	tasks := map[string]bool{x.r.ID: true} // all of one namespace
	for len(xs) < api.MaxReports {
		select {
		case x, ok := <-f.queue:
			if !ok {
				return xs, nil
			}
			if tasks[x.r.ID] {
				return xs, &x
			}
			xs, tasks[x.r.ID] = append(xs, x), true
		default:
			return xs, nil
		}
	}
	return xs, nil
}

func (f *finisher) report(xs []finishing) {
	if len(xs) > 1 {
		f.many(xs)
		return
	}
	xs[0].done <- insist(f.end, func(ctx context.Context) error {
		_, err := f.client.Finish(ctx, xs[0].r)
		return err
	})
}

// many reports several outcomes at once. It sends an outcome again if its own answer is an error that may pass.
func (f *finisher) many(xs []finishing) {
	err := insist(f.end, func(ctx context.Context) error {
		rs := make([]api.FinishRequest, len(xs))
		for i := range xs {
			rs[i] = xs[i].r
		}
		results, err := f.client.FinishMany(ctx, rs)
		if err != nil {
			return err
		}
		var left []finishing
		for i, x := range xs {
			switch {
			case i >= len(results):
				x.done <- api.NewError(api.CodeInternal, "no answer to the report")
			case results[i].Error == nil:
				x.done <- nil
			case passing(results[i].Error):
				left, err = append(left, x), results[i].Error
			default:
				x.done <- results[i].Error
			}
		}
		xs = left
		return err
	})
	for _, x := range xs {
		x.done <- err
	}
}

// insist makes a call again as long as its error may pass, for at most insistFor, and not after end.
func insist(end context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(end, insistFor)
	defer cancel()
	for pause := pauseMin; ; pause = min(2*pause, pauseMax) {
		cctx, done := context.WithTimeout(ctx, callTimeout)
		err := call(cctx)
		done()
		if err == nil || !passing(err) || !sleep(ctx, pause) {
			return err
		}
	}
}

// sleep waits for d; false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
