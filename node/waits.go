package node

import (
	"context"
	"sync"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// feed is a running subscription to the events of this node's own machine: raftstore's, or a test's.
type feed struct {
	C      <-chan []task.Event
	lagged func() bool
	close  func()
}

// dispatcher hands this node's events to those who wait for a task (SPEC W1): one subscription for all of them, so
// that waiting costs nothing per change of other tasks. Whoever waits registers first and reads the state afterwards:
// no change falls between the two.
type dispatcher struct {
	subscribe func() feed
	local     func(func(*task.Machine))
	removed   func(task.Key) // told of every removed task

	mu      sync.Mutex
	waiters map[task.Key]map[*waiter]struct{}
}

func newDispatcher(subscribe func() feed, local func(func(*task.Machine)), removed func(task.Key)) *dispatcher {
	return &dispatcher{subscribe: subscribe, local: local, removed: removed, waiters: map[task.Key]map[*waiter]struct{}{}}
}

// run dispatches until ctx ends or the store closes.
func (d *dispatcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		f := d.subscribe()
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
	for {
		select {
		case evs, ok := <-f.C:
			if !ok {
				return
			}
			for i := range evs {
				d.dispatch(&evs[i])
			}
		case <-ctx.Done():
			return
		}
	}
}

func (d *dispatcher) dispatch(e *task.Event) {
	if e.Task == nil {
		return
	}
	gone := e.Kind == task.TaskRemoved
	key := e.Task.Key()
	if gone && d.removed != nil {
		d.removed(key)
	}
	d.mu.Lock()
	var ws []*waiter
	for w := range d.waiters[key] {
		ws = append(ws, w)
	}
	d.mu.Unlock()
	for _, w := range ws {
		w.see(version{task: e.Task, gone: gone})
	}
}

// recheck shows the present state to everybody who waits: at a (re)subscription events may have been missed.
func (d *dispatcher) recheck() {
	d.mu.Lock()
	ws := map[*waiter]task.Key{}
	for key, set := range d.waiters {
		for w := range set {
			ws[w] = key
		}
	}
	d.mu.Unlock()
	if len(ws) == 0 {
		return
	}
	now := make(map[*waiter]*task.Task, len(ws))
	var index uint64
	d.local(func(m *task.Machine) {
		index = m.Index()
		for w, key := range ws {
			now[w] = m.Task(key)
		}
	})
	for w, t := range now {
		w.see(version{task: t, gone: t == nil, index: index})
	}
}

// wait registers a waiter; its stop must be called.
func (d *dispatcher) wait(key task.Key, until api.Until, since uint64) *waiter {
	w := &waiter{cond: condition{until: until, since: since}, done: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiters[key] == nil {
		d.waiters[key] = map[*waiter]struct{}{}
	}
	d.waiters[key][w] = struct{}{}
	w.stop = func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.waiters[key], w)
		if len(d.waiters[key]) == 0 {
			delete(d.waiters, key)
		}
	}
	return w
}

// version is one version of a record, as an event or a read shows it. gone: the record was removed.
type version struct {
	task  *task.Task // nil when a read found nothing
	gone  bool
	index uint64 // of the read that found nothing
}

// waiter waits for one task. Versions that arrive before start are kept, those that are older than the state that start
// was given are dropped: a wait never answers with a state from before the request.
type waiter struct {
	stop func()
	done chan struct{} // closed when the wait is over

	mu      sync.Mutex
	cond    condition
	started bool
	over    bool
	early   []version
	last    *task.Task
	index   uint64 // of the read that start was given
	gone    bool
}

// start begins the wait with the state that was read after registering, at an index of the log.
func (w *waiter) start(t *task.Task, index uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.started = true
	w.last, w.index = t, index
	if w.cond.first(t) {
		w.endLocked()
	}
	for _, v := range w.early {
		w.takeLocked(v)
	}
	w.early = nil
}

func (w *waiter) see(v version) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.started {
		w.early = append(w.early, v)
		return
	}
	w.takeLocked(v)
}

func (w *waiter) takeLocked(v version) {
	switch {
	case w.over:
	case v.task == nil && v.index < w.index:
		// Nothing was found by a read from before start's: the record did not exist here yet.
	case v.task == nil:
		w.gone = true
		w.endLocked()
	case v.task.CreatedRev < w.last.CreatedRev:
		// an earlier record of the same ID
	case v.task.CreatedRev > w.last.CreatedRev, v.gone:
		w.gone = true // and perhaps created anew, which is another task
		w.endLocked()
	case v.task.Rev > w.last.Rev:
		prev := w.last
		w.last = v.task
		if w.cond.next(prev, v.task) {
			w.endLocked()
		}
	}
}

func (w *waiter) endLocked() {
	if !w.over {
		w.over = true
		close(w.done)
	}
}

// outcome says how the wait ended: the version that ended it, or that the record was removed; over is false as long as
// it goes on.
func (w *waiter) outcome() (t *task.Task, gone, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last, w.gone, w.over
}

// condition is what a wait waits for (SPEC W1). A final state ends every wait.
type condition struct {
	until api.Until
	since uint64 // success, failure: an outcome at a rev above it; 0: from now
}

// first tells whether the state at the beginning ends the wait.
func (c condition) first(t *task.Task) bool {
	if c.holds(t) {
		return true
	}
	return c.since > 0 && t.Rev > c.since && c.outcome(t)
}

// next tells whether a version that replaced prev ends the wait.
func (c condition) next(prev, t *task.Task) bool {
	if c.holds(t) {
		return true
	}
	// A version that only moves the next run of a waiting task is no new outcome.
	fresh := prev.Status == task.Running || prev.Status == task.Created || prev.Attempt != t.Attempt
	return fresh && t.Rev > c.since && c.outcome(t)
}

// holds tells whether a version by itself ends the wait.
func (c condition) holds(t *task.Task) bool {
	if t.Final() {
		return true
	}
	switch c.until.Kind {
	case "running":
		return t.Status == task.Running
	case "waiting":
		return t.Status != task.Running
	case "rev":
		return t.Rev >= c.until.N
	case "attempt":
		n := int64(c.until.N)
		return t.Attempt > n || t.Attempt == n && t.Status != task.Running
	}
	return false
}

func (c condition) outcome(t *task.Task) bool {
	return c.until.Kind == "success" && t.Status == task.Success ||
		c.until.Kind == "failure" && t.Status == task.Failure
}
