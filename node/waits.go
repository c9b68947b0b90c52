package node

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/watch"
	"github.com/taskrt/taskrt/task"
)

// feed is a running subscription to the events of this node's own machine: raftstore's, or a test's.
type feed struct {
	C      <-chan []task.Event
	lagged func() bool
	close  func()
}

// dispatcher hands this node's events to those who wait for a task (SPEC W1) or an operation: one subscription for all of them, so
// that waiting costs nothing per change of other tasks. Whoever waits registers first and reads the state afterwards:
// no change falls between the two. What changes reaches those who watch (SPEC W3) first: so a waiter finds in their
// history whatever it was not dispatched itself.
type dispatcher struct {
	subscribe func() feed
	local     func(func(*task.Machine))
	removed   func(task.Key) // told of every removed task
	changes   *watch.Feed

	mu      sync.Mutex
	waiters map[task.Key]*waiter // the first of a list
	count   int

	operations operationWaits

	leasesEnded, sessionsEnded atomic.Int64 // events of these kinds
}

const (
	gatherEntries = 256     // log entries' events that are dispatched together at most
	maxWaiters    = 1 << 20 // waited-for tasks of all requests under way
)

func newDispatcher(
	subscribe func() feed, local func(func(*task.Machine)), removed func(task.Key), changes *watch.Feed,
) *dispatcher {
	return &dispatcher{subscribe: subscribe, local: local, removed: removed, changes: changes, waiters: map[task.Key]*waiter{}}
}

// run dispatches until ctx ends or the store closes.
func (d *dispatcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		f := d.subscribe()
		var rev uint64
		d.local(func(m *task.Machine) { rev = m.Rev() })
		d.changes.Restart(rev)
		d.recheck()
		d.drain(ctx, f)
		again := f.lagged()
		f.close()
		if !again {
			return
		}
	}
}

func (d *dispatcher) drain(ctx context.Context, f feed) {
	var entries [][]task.Event // used again
	for {
		select {
		case evs, ok := <-f.C:
			if !ok {
				return
			}
			entries, ok = gather(f, append(entries[:0], evs))
			d.changes.Ingest(entries...)
			for _, evs := range entries {
				for i := range evs {
					d.dispatch(&evs[i])
				}
			}
			clear(entries)
			if !ok {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// gather appends the events of what other entries are there: under load many entries then cost one wake-up of each watcher.
func gather(f feed, entries [][]task.Event) (all [][]task.Event, open bool) {
	for len(entries) < gatherEntries {
		select {
		case evs, ok := <-f.C:
			if !ok {
				return entries, false
			}
			entries = append(entries, evs)
		default:
			return entries, true
		}
	}
	return entries, true
}

func (d *dispatcher) dispatch(e *task.Event) {
	switch e.Kind {
	case task.LeaseEnded:
		d.leasesEnded.Add(1)
	case task.SessionEnded:
		d.sessionsEnded.Add(1)
	}
	d.operations.dispatch(e)
	if e.Task == nil || e.Kind != task.TaskChanged && e.Kind != task.TaskRemoved {
		return
	}
	gone := e.Kind == task.TaskRemoved
	key := e.Task.Key()
	if gone && d.removed != nil {
		d.removed(key)
	}
	d.mu.Lock()
	var ws []*waiter
	for w := d.waiters[key]; w != nil; w = w.next {
		ws = append(ws, w)
	}
	d.mu.Unlock()
	for _, w := range ws {
		w.see(version{task: e.Task, prev: e.Prev, event: true, gone: gone})
	}
}

// recheck shows the present state to everybody who waits: at a (re)subscription events may have been missed.
func (d *dispatcher) recheck() {
	d.operations.recheck(d.local)
	var ws []*waiter
	d.mu.Lock()
	for _, w := range d.waiters {
		for ; w != nil; w = w.next {
			ws = append(ws, w)
		}
	}
	d.mu.Unlock()
	if len(ws) == 0 {
		return
	}
	now := make([]*task.Task, len(ws))
	var index uint64
	d.local(func(m *task.Machine) {
		index = m.Index()
		for i, w := range ws {
			now[i] = m.Task(w.key)
		}
	})
	for i, w := range ws {
		w.see(version{task: now[i], gone: now[i] == nil, index: index})
	}
}

// wait registers a waiter; its stop must be called.
func (d *dispatcher) wait(key task.Key, until api.Until, since uint64) *waiter {
	w := &waiter{key: key, cond: condition{until: until, since: since}, done: make(chan struct{})}
	w.ended = func() { close(w.done) }
	d.add(w)
	return w
}

// waitMany registers a waiter for each key; ended is called once for each that has ended. Nil if too many wait.
func (d *dispatcher) waitMany(keys []task.Key, until api.Until, since uint64, ended func()) []*waiter {
	d.mu.Lock()
	room := d.count+len(keys) <= maxWaiters
	d.mu.Unlock()
	if !room {
		return nil
	}
	ws := make([]*waiter, len(keys))
	for i, key := range keys {
		ws[i] = &waiter{key: key, cond: condition{until: until, since: since}, ended: ended}
		d.add(ws[i])
	}
	return ws
}

func (d *dispatcher) add(w *waiter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.dispatcher = d
	if w.next = d.waiters[w.key]; w.next != nil {
		w.next.prev = w
	}
	d.waiters[w.key] = w
	d.count++
}

// stop takes a waiter out.
func (w *waiter) stop() {
	d := w.dispatcher
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.next != nil {
		w.next.prev = w.prev
	}
	switch {
	case w.prev != nil:
		w.prev.next = w.next
	case w.next != nil:
		d.waiters[w.key] = w.next
	default:
		delete(d.waiters, w.key)
	}
	d.count--
}
