package extworker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt/api"
)

// Worker runs a handler for a behavior's tasks. Make it with New.
type Worker struct {
	cfg      Config
	slots    chan struct{}
	kill     chan struct{} // closed when handlers must end
	finisher finisher
	runs     sync.WaitGroup // attempts until they are reported
	handlers sync.WaitGroup // handlers until they return
	stuck    atomic.Int64   // handlers that did not return in time
	started  atomic.Bool
}

// New checks the configuration.
func New(cfg Config) (*Worker, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Worker{
		cfg: cfg, slots: make(chan struct{}, cfg.Concurrency), kill: make(chan struct{}),
		finisher: finisher{client: cfg.Client, queue: make(chan finishing, cfg.Concurrency)},
	}, nil
}

// Run accepts and runs tasks until ctx ends. Then it accepts no more tasks and lets the handlers end by themselves for
// Config.Grace. It ends the contexts of the other handlers (ErrStopping) and gives their tasks back. Run returns an error at once if
// the cluster refuses its accepts for good: the behavior is not external, or the client's token may not accept, or has not held for 10 s. Run
// waits for a behavior that does not exist yet. A worker runs once.
func (w *Worker) Run(ctx context.Context) error {
	if !w.started.CompareAndSwap(false, true) {
		return errors.New("extworker: Run was called before")
	}
	end, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	w.finisher.end = end
	var reporting sync.WaitGroup
	reporting.Go(w.finisher.run)
	err := w.accept(ctx)
	w.drain(cancel)
	close(w.finisher.queue)
	reporting.Wait()
	if n := w.stuck.Load(); n > 0 {
		return errors.Join(err, fmt.Errorf("extworker: %d handlers have not returned %v after their contexts ended", n, killTime))
	}
	w.handlers.Wait()
	return err
}

// drain waits for the attempts that run, and ends the attempts that outlast the grace.
func (w *Worker) drain(end context.CancelFunc) {
	idle := make(chan struct{})
	go func() {
		w.runs.Wait()
		close(idle)
	}()
	timer := time.NewTimer(w.cfg.Grace)
	defer timer.Stop()
	select {
	case <-idle:
		return
	case <-timer.C:
	}
	close(w.kill)
	timer.Reset(killTime + callTimeout) // for the last reports
	select {
	case <-idle:
	case <-timer.C:
		end()
		<-idle
	}
}

// accept takes tasks as long as there are free slots, until ctx ends or the cluster refuses for good.
func (w *Worker) accept(ctx context.Context) error {
	for ctx.Err() == nil {
		n, ok := w.free(ctx)
		if !ok {
			break
		}
		ts, err := w.take(ctx, n)
		for range n - min(n, len(ts)) {
			<-w.slots
		}
		for _, t := range ts {
			w.runs.Go(func() {
				defer func() { <-w.slots }()
				w.run(ctx, t)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// free waits for a free slot, and takes all that are free.
func (w *Worker) free(ctx context.Context) (n int, ok bool) {
	select {
	case w.slots <- struct{}{}:
	case <-ctx.Done():
		return 0, false
	}
	for n = 1; n < api.MaxAccept; n++ {
		select {
		case w.slots <- struct{}{}:
		default:
			return n, true
		}
	}
	return n, true
}

// proveWithin is how long a worker accepts again by a token that does not hold. A node may know a new token a moment later than the others.
const proveWithin = 10 * time.Second

// take accepts up to n tasks. Until there is an answer it repeats one request. The request's ID makes sure that the cluster answers
// with the same leases again if an answer was lost (SPEC J2). An error is for good.
func (w *Worker) take(ctx context.Context, n int) ([]*api.Task, error) {
	r := w.cfg.request(rand.Text(), n)
	var unprovenSince time.Time
	for pause := pauseMin; ctx.Err() == nil; pause = min(2*pause, pauseMax) {
		cctx, done := context.WithTimeout(ctx, w.cfg.Wait+callTimeout)
		reply, err := w.cfg.Client.Accept(cctx, r)
		done()
		switch {
		case err == nil && ctx.Err() != nil && reply.Undelivered != nil:
			reply.Undelivered()
			return nil, nil
		case err == nil:
			return reply.Tasks, nil
		case ctx.Err() != nil:
			return nil, nil //nolint:nilerr // it was told to stop: the caller knows
		case !passing(err) && api.CodeOf(err) != api.CodeBehaviorNotFound:
			return nil, fmt.Errorf("extworker: accept: %w", err)
		case !unproven(err):
			unprovenSince = time.Time{}
		case unprovenSince.IsZero():
			unprovenSince = time.Now()
		case time.Since(unprovenSince) > proveWithin:
			return nil, fmt.Errorf("extworker: accept: %w", err)
		}
		w.cfg.Logger.Warn("nothing accepted", "err", err)
		sleep(ctx, pause)
	}
	return nil, nil
}
