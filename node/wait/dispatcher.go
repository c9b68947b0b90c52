package wait

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/watch"
	"github.com/taskrt/taskrt/task"
)

// Subscription delivers the events of this node's machine: raftstore's, or a test's.
type Subscription interface {
	Events() <-chan []task.Event
	Lagged() bool
	Close()
}

// Dispatcher hands this node's events to the waits for tasks (SPEC W1) and operations. One subscription serves all
// waits, so a wait costs nothing per change of other tasks. A caller registers first and reads the state afterwards, so
// that no change falls between the two. Changes reach the watchers (SPEC W3) first. So a waiter finds in the history of
// changes whatever the dispatcher did not hand to it.
type Dispatcher struct {
	subscribe func() Subscription
	local     func(func(*task.Machine))
	told      Told
	changes   *watch.Feed

	mu      sync.Mutex
	waiters map[task.Key]*Waiter // by task, the first of a list
	count   int

	operations operationWaits

	leasesEnded, sessionsEnded atomic.Int64 // how many events of these kinds there were
}

// Told are the others that are told of events, besides those that wait. A nil function is told nothing.
type Told struct {
	Removed func(task.Key) // of every removed task
	Tokens  func()         // that an access token has changed or ended, or the switch of the root token
	Audit   func()         // that there is a record of a change, or of refusals (SPEC A8)
	Jobs    func()         // that a bulk job has changed (SPEC Q3)
	// Lapsed is told of the record of a task with a trace after an attempt of which no worker of a node tells: its lease was lost, or an external worker
	// has ended it (SPEC U2).
	Lapsed func(*task.Task)
}

// gatherEntries is the most log entries whose events are dispatched together.
const gatherEntries = 256

// MaxTasks bounds the tasks that all requests under way wait for on one node.
const MaxTasks = 1 << 20

// New makes a dispatcher. Nothing is dispatched before Run.
func New(
	subscribe func() Subscription, local func(func(*task.Machine)), told Told, changes *watch.Feed,
) *Dispatcher {
	return &Dispatcher{subscribe: subscribe, local: local, told: told, changes: changes, waiters: map[task.Key]*Waiter{}}
}

// Run dispatches until ctx ends or the store closes.
func (d *Dispatcher) Run(ctx context.Context) {
	for ctx.Err() == nil {
		f := d.subscribe()
		var rev uint64
		d.local(func(m *task.Machine) { rev = m.Rev() })
		d.changes.Restart(rev)
		d.recheck()
		d.drain(ctx, f)
		again := f.Lagged()
		f.Close()
		if !again {
			return
		}
	}
}

func (d *Dispatcher) drain(ctx context.Context, f Subscription) {
	var entries [][]task.Event // used again
	for {
		select {
		case evs, ok := <-f.Events():
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

// gather appends the events of other entries that are there already. So under load many entries cost one wake-up of
// each watcher.
func gather(f Subscription, entries [][]task.Event) (all [][]task.Event, open bool) {
	for len(entries) < gatherEntries {
		select {
		case evs, ok := <-f.Events():
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

func (d *Dispatcher) dispatch(e *task.Event) {
	switch e.Kind {
	case task.LeaseEnded:
		d.leasesEnded.Add(1)
		if e.Lease != nil && !e.Lease.External() {
			d.lapsed(e.Task, e.Lease)
		}
	case task.TaskChanged:
		if p := e.Prev; p != nil && p.Lease != nil && p.Lease.External() && e.Task.Lease == nil {
			d.lapsed(e.Task, p.Lease)
		}
	case task.SessionEnded:
		d.sessionsEnded.Add(1)
	case task.AccessChanged, task.AccessRemoved:
		d.tokens()
	case task.AuditNoted:
		d.audit()
	case task.JobChanged:
		d.jobs()
	}
	d.operations.dispatch(e)
	if e.Task == nil || e.Kind != task.TaskChanged && e.Kind != task.TaskRemoved {
		return
	}
	gone := e.Kind == task.TaskRemoved
	key := e.Task.Key()
	if gone && d.told.Removed != nil {
		d.told.Removed(key)
	}
	d.mu.Lock()
	var ws []*Waiter
	for w := d.waiters[key]; w != nil; w = w.next {
		ws = append(ws, w)
	}
	d.mu.Unlock()
	for _, w := range ws {
		w.see(version{task: e.Task, prev: e.Prev, event: true, gone: gone})
	}
}

func (d *Dispatcher) tokens() {
	if d.told.Tokens != nil {
		d.told.Tokens()
	}
}

func (d *Dispatcher) audit() {
	if d.told.Audit != nil {
		d.told.Audit()
	}
}

func (d *Dispatcher) jobs() {
	if d.told.Jobs != nil {
		d.told.Jobs()
	}
}

// recheck shows the present state to every waiter, because events may be missed before a subscription begins.
func (d *Dispatcher) recheck() {
	d.tokens()
	d.audit()
	d.jobs()
	d.operations.recheck(d.local)
	var ws []*Waiter
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

// Task registers a waiter for a task. Its Stop must be called.
func (d *Dispatcher) Task(key task.Key, until api.Until, since uint64) *Waiter {
	w := &Waiter{key: key, cond: condition{until: until, since: since}, done: make(chan struct{})}
	w.ended = func() { close(w.done) }
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(w)
	return w
}

// Tasks registers a waiter for each key, or returns nil if too many wait. ended is called once for each waiter that has
// ended.
func (d *Dispatcher) Tasks(keys []task.Key, until api.Until, since uint64, ended func()) []*Waiter {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.count+len(keys) > MaxTasks {
		return nil
	}
	ws := make([]*Waiter, len(keys))
	for i, key := range keys {
		ws[i] = &Waiter{key: key, cond: condition{until: until, since: since}, ended: ended}
		d.add(ws[i])
	}
	return ws
}

// Operation registers a waiter for an operation. Its Stop must be called.
func (d *Dispatcher) Operation(key task.Key, until api.Until) *OperationWaiter {
	return d.operations.register(key, until)
}

// Ended returns how many leases this node has seen end without a report, and how many sessions it has seen end.
func (d *Dispatcher) Ended() (leases, sessions int64) {
	return d.leasesEnded.Load(), d.sessionsEnded.Load()
}

// add adds a waiter, under mu.
func (d *Dispatcher) add(w *Waiter) {
	w.dispatcher = d
	if w.next = d.waiters[w.key]; w.next != nil {
		w.next.prev = w
	}
	d.waiters[w.key] = w
	d.count++
}

// Stop takes the waiter out of its dispatcher.
func (w *Waiter) Stop() {
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
