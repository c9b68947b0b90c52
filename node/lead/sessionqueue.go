package lead

import (
	"context"
	"sync"
	"time"

	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/task"
)

// sessionQueue proposes, in one order, everything that opens, keeps or ends sessions, and the Ticks that let sessions expire. A Tick is proposed
// after all renewals that were received before it, so that an expiry never overtakes a renewal (SPEC L4). One proposal is in flight at a time.
// Commands that arrive meanwhile go with the next.
type sessionQueue struct {
	propose func(context.Context, ...task.Command) ([]task.Result, error)
	wake    chan struct{}

	mu    sync.Mutex
	items []sessionItem
	tick  func(task.Result, error) // told when the Tick is applied; nil: no Tick is asked for
}

type sessionItem struct {
	cmd  task.Command
	done func(task.Result, error) // called in the queue's goroutine
}

func newSessionQueue(propose func(context.Context, ...task.Command) ([]task.Result, error)) *sessionQueue {
	return &sessionQueue{propose: propose, wake: make(chan struct{}, 1)}
}

// add queues a command. done must not block.
func (q *sessionQueue) add(cmd task.Command, done func(task.Result, error)) {
	q.mu.Lock()
	q.items = append(q.items, sessionItem{cmd, done})
	q.mu.Unlock()
	q.signal()
}

// do queues a command and waits for its result.
func (q *sessionQueue) do(ctx context.Context, cmd task.Command) (task.Result, error) {
	type answer struct {
		r   task.Result
		err error
	}
	c := make(chan answer, 1)
	q.add(cmd, func(r task.Result, err error) { c <- answer{r, err} })
	select {
	case a := <-c:
		return a.r, a.err
	case <-ctx.Done():
		return task.Result{}, ctx.Err()
	}
}

// addTick asks for a Tick. It is proposed behind everything that is queued by then.
func (q *sessionQueue) addTick(done func(task.Result, error)) {
	q.mu.Lock()
	q.tick = done
	q.mu.Unlock()
	q.signal()
}

func (q *sessionQueue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// overloadPause is how long the hub waits before it proposes again commands for which the leader's queue had no room.
const overloadPause = 20 * time.Millisecond

// run proposes until ctx ends.
func (q *sessionQueue) run(ctx context.Context) {
	for {
		select {
		case <-q.wake:
		case <-ctx.Done():
			return
		}
		q.mu.Lock()
		items, tick := q.items, q.tick
		q.items, q.tick = nil, nil
		q.mu.Unlock()
		cmds := make([]task.Command, 0, len(items)+1)
		for _, it := range items {
			cmds = append(cmds, it.cmd)
		}
		if tick != nil {
			cmds = append(cmds, task.Tick{})
		}
		if len(cmds) == 0 {
			continue
		}
		rs, err := q.propose(ctx, cmds...)
		for retriable(err) && idle.For(ctx, overloadPause) {
			rs, err = q.propose(ctx, cmds...) // a dropped renewal would cost a healthy worker its session
		}
		if err != nil {
			rs = make([]task.Result, len(cmds))
		}
		for i, it := range items {
			it.done(rs[i], err)
		}
		if tick != nil {
			tick(rs[len(items)], err)
		}
	}
}
