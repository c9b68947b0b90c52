package extworker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/extworker"
)

const (
	lease  = 9 * time.Second
	leases = int64(lease / time.Millisecond)
)

// cluster plays the part of a cluster: it hands out tasks, and keeps the reports on them.
type cluster struct {
	mu       sync.Mutex
	waiting  []*api.Task
	woken    chan struct{}
	held     map[uint64]*held // by token
	answered map[string][]*api.Task
	accepts  []api.AcceptRequest
	bulk     []int // sizes of bulk finishes
	started  time.Time

	// fail is asked before each call what goes wrong. If the answer is lost, the call is carried out all the same.
	fail func(call string) (lost bool, err error)
	// refuse may refuse a result.
	refuse func(r api.FinishRequest) error
}

type held struct {
	id         string
	beats      []api.HeartbeatRequest
	at         []time.Duration // when the beats came, since the beginning
	finish     *api.FinishRequest
	snooze     *api.SnoozeRequest
	cancel     bool
	resubmit   bool
	halted     bool
	expires    time.Time
	ends       []time.Duration
	ttl        time.Duration
	checkpoint json.RawMessage
}

func newCluster() *cluster {
	return &cluster{
		woken: make(chan struct{}), held: map[uint64]*held{}, answered: map[string][]*api.Task{}, started: time.Now(),
	}
}

// submit adds n tasks. A task has the number of its first token.
func (c *cluster) submit(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range n {
		c.offer(c.token())
	}
}

// again makes the task of this number wait for another attempt.
func (c *cluster) again(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offer(number)
}

// token returns the next token. The caller holds mu.
func (c *cluster) token() uint64 { return uint64(len(c.held) + len(c.waiting) + 1) }

// offer makes a task wait for an accept, with a new token; the caller holds mu.
func (c *cluster) offer(number uint64) {
	c.waiting = append(c.waiting, &api.Task{
		ID: fmt.Sprintf("t-%d", number), Params: json.RawMessage(fmt.Sprintf(`{"n":%d}`, number)), Attempt: 1,
		StartedAt: new(api.TimeOf(1_000_000)), Lease: &api.Lease{Token: c.token(), LeaseMS: leases},
	})
	close(c.woken)
	c.woken = make(chan struct{})
}

func (c *cluster) of(token uint64) *held {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.held[token]
	if h == nil {
		return &held{}
	}
	snapshot := *h
	return &snapshot
}

func (c *cluster) set(token uint64, f func(*held)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.held[token])
}

// failing makes calls go wrong from now on, as f says.
func (c *cluster) failing(f func(call string) (lost bool, err error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = f
}

func (c *cluster) trouble(call string) (lost bool, err error) {
	c.mu.Lock()
	fail := c.fail
	c.mu.Unlock()
	if fail == nil {
		return false, nil
	}
	return fail(call)
}

func (c *cluster) Accept(ctx context.Context, r api.AcceptRequest) (*api.AcceptReply, error) {
	lost, err := c.trouble("accept")
	if err != nil && !lost {
		return nil, err
	}
	timer := time.NewTimer(time.Duration(*r.Wait))
	defer timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accepts = append(c.accepts, r)
	for ended := false; c.answered[r.RequestID] == nil && len(c.waiting) == 0 && !ended; {
		woken := c.woken
		c.mu.Unlock()
		select {
		case <-woken:
		case <-timer.C:
			ended = true
		case <-ctx.Done():
			ended = true
		}
		c.mu.Lock()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	ts := c.answered[r.RequestID]
	if ts == nil {
		n := min(len(c.waiting), r.Max)
		ts, c.waiting = c.waiting[:n:n], c.waiting[n:]
		for _, t := range ts {
			c.held[t.Lease.Token] = &held{id: t.ID, expires: time.Now().Add(lease), ttl: lease}
		}
		c.answered[r.RequestID] = ts
	}
	if lost {
		return nil, err
	}
	return &api.AcceptReply{Tasks: ts}, nil
}

// current finds the lease of a report. The caller holds mu.
func (c *cluster) current(id string, token uint64) (*held, error) {
	h := c.held[token]
	if h == nil || h.id != id || h.halted || h.finish != nil || h.snooze != nil || !time.Now().Before(h.expires) {
		return nil, api.NewError("halt", "not the current lease")
	}
	return h, nil
}

func (c *cluster) Heartbeat(ctx context.Context, r api.HeartbeatRequest) (*api.HeartbeatReply, error) {
	lost, err := c.trouble("heartbeat")
	if err != nil && !lost {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h, herr := c.current(r.ID, r.Token)
	if herr != nil {
		return nil, herr
	}
	h.beats, h.at = append(h.beats, r), append(h.at, time.Since(c.started))
	if r.Extend != nil {
		h.ttl = time.Duration(*r.Extend)
	}
	if r.Checkpoint != nil {
		h.checkpoint = r.Checkpoint
	}
	h.expires = time.Now().Add(h.ttl)
	if lost {
		return nil, err
	}
	return &api.HeartbeatReply{LeaseMS: h.ttl.Milliseconds(), Cancel: h.cancel, Resubmit: h.resubmit}, nil
}

func (c *cluster) Finish(ctx context.Context, r api.FinishRequest) (*api.FinishReply, error) {
	lost, err := c.trouble("finish")
	if err != nil && !lost {
		return nil, err
	}
	<-time.After(10 * time.Millisecond) // so that other tasks end meanwhile
	ferr := c.finish(r)
	if lost {
		return nil, err
	}
	if ferr != nil {
		return nil, ferr
	}
	return &api.FinishReply{}, nil
}

func (c *cluster) finish(r api.FinishRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.held[r.Token]; h != nil && h.finish != nil && h.finish.Seq == r.Seq {
		return nil // the same report again
	}
	h, err := c.current(r.ID, r.Token)
	if err == nil && c.refuse != nil {
		err = c.refuse(r)
	}
	if err == nil {
		h.finish, h.ends = &r, append(h.ends, time.Since(c.started))
	}
	return err
}

func (c *cluster) FinishMany(ctx context.Context, rs []api.FinishRequest) ([]api.FinishResult, error) {
	lost, err := c.trouble("finishMany")
	if err != nil && !lost {
		return nil, err
	}
	c.mu.Lock()
	c.bulk = append(c.bulk, len(rs))
	c.mu.Unlock()
	out := make([]api.FinishResult, len(rs))
	seen := map[[2]string]int{}
	for i, r := range rs {
		if out[i].Error = api.CheckReport(&r, i, seen); out[i].Error != nil {
			continue
		}
		if e, ok := errors.AsType[*api.Error](c.finish(r)); ok {
			out[i].Error = e
		}
	}
	if lost {
		return nil, err
	}
	return out, nil
}

func (c *cluster) Snooze(ctx context.Context, r api.SnoozeRequest) (*api.Task, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, err := c.current(r.ID, r.Token)
	if err != nil {
		return nil, err
	}
	h.snooze, h.ends = &r, append(h.ends, time.Since(c.started))
	return &api.Task{}, nil
}

// bench is a worker that runs against a cluster in a bubble.
type bench struct {
	*cluster
	t    *testing.T
	stop context.CancelFunc
	done chan error
}

// with runs a worker while f does its part, then stops it.
func with(t *testing.T, concurrency int, h extworker.Handler, f func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{cluster: newCluster(), t: t, done: make(chan error, 1)}
		w, err := extworker.New(extworker.Config{
			Client: b.cluster, Behavior: "ext", Worker: "w1", Concurrency: concurrency, Handler: h, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		b.stop = stop
		go func() { b.done <- w.Run(ctx) }()
		f(b)
		stop()
		if b.done != nil {
			if err := <-b.done; err != nil {
				t.Errorf("Run: %v", err)
			}
		}
	})
}

// after waits until d has passed since the beginning.
func (b *bench) after(d time.Duration) {
	time.Sleep(d - time.Since(b.started))
	synctest.Wait()
}

func (b *bench) ended(token uint64) *held {
	b.t.Helper()
	for range 10_000 {
		if h := b.of(token); h.finish != nil || h.snooze != nil {
			return h
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.t.Fatalf("task %d has not ended", token)
	return nil
}

// block waits until ctx ends, and says why.
func block(ctx context.Context, _ *extworker.Task) (any, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}
