package wait

import (
	"sync"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// operationWaits holds this node's waits for operations. The dispatcher hands them the events of operations, so that a
// wait costs nothing per change of a task.
type operationWaits struct {
	mu      sync.Mutex
	waiters map[task.Key]map[*OperationWaiter]struct{}
}

// OperationWaiter waits for one operation. As with tasks, its caller registers first, then reads the state and starts
// with it. So no change falls between the two, and changes that are older than the state do not count.
type OperationWaiter struct {
	waits *operationWaits
	key   task.Key
	until api.Until
	done  chan struct{} // closed when the wait is over

	mu      sync.Mutex
	created uint64 // rev of the record that Start got; 0: not started
	rev     uint64
	early   []operationVersion
	over    bool
	last    *task.Operation // what ended the wait; nil: the operation was removed
}

// operationVersion is a record as an event or a read shows it. gone says that it is removed or being removed.
type operationVersion struct {
	operation *task.Operation
	gone      bool
}

// register registers a waiter. Its Stop must be called.
func (ws *operationWaits) register(key task.Key, until api.Until) *OperationWaiter {
	w := &OperationWaiter{waits: ws, key: key, until: until, done: make(chan struct{})}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.waiters == nil {
		ws.waiters = map[task.Key]map[*OperationWaiter]struct{}{}
	}
	if ws.waiters[key] == nil {
		ws.waiters[key] = map[*OperationWaiter]struct{}{}
	}
	ws.waiters[key][w] = struct{}{}
	return w
}

// Stop takes the waiter out.
func (w *OperationWaiter) Stop() {
	w.waits.mu.Lock()
	defer w.waits.mu.Unlock()
	if all := w.waits.waiters[w.key]; len(all) > 1 {
		delete(all, w)
	} else {
		delete(w.waits.waiters, w.key)
	}
}

// of returns the waiters for an operation.
func (ws *operationWaits) of(key task.Key) []*OperationWaiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	var all []*OperationWaiter
	for w := range ws.waiters[key] {
		all = append(all, w)
	}
	return all
}

// dispatch shows an event to the waiters that it concerns.
func (ws *operationWaits) dispatch(e *task.Event) {
	if o := e.Operation; o != nil {
		for _, w := range ws.of(o.Key()) {
			w.see(operationVersion{o, e.Kind == task.OperationRemoved || o.Removing})
		}
	}
}

// recheck shows the present state to every waiter, because events may have been missed.
func (ws *operationWaits) recheck(local func(func(*task.Machine))) {
	ws.mu.Lock()
	var all []*OperationWaiter
	for _, some := range ws.waiters {
		for w := range some {
			all = append(all, w)
		}
	}
	ws.mu.Unlock()
	local(func(m *task.Machine) {
		for _, w := range all {
			o := m.Operation(w.key)
			w.see(operationVersion{o, o == nil})
		}
	})
}

// Start begins the wait with the state that was read after registering.
func (w *OperationWaiter) Start(o *task.Operation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.created, w.rev = o.CreatedRev, o.Rev
	if w.Holds(o) {
		w.endLocked(o)
	}
	for _, v := range w.early {
		w.takeLocked(v)
	}
	w.early = nil
}

func (w *OperationWaiter) see(v operationVersion) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.created == 0 {
		if v.operation != nil { // a read that found nothing says nothing yet: Start's read comes later
			w.early = append(w.early, v)
		}
		return
	}
	w.takeLocked(v)
}

func (w *OperationWaiter) takeLocked(v operationVersion) {
	switch o := v.operation; {
	case w.over:
	case o == nil, o.CreatedRev > w.created, o.CreatedRev == w.created && v.gone:
		w.endLocked(nil)
	case o.CreatedRev == w.created && o.Rev > w.rev:
		if w.rev = o.Rev; w.Holds(o) {
			w.endLocked(o)
		}
	}
}

func (w *OperationWaiter) endLocked(o *task.Operation) {
	w.over, w.last = true, o
	close(w.done)
}

// Holds reports whether a version ends the wait. A final state ends every wait.
func (w *OperationWaiter) Holds(o *task.Operation) bool {
	switch w.until.Kind {
	case "completing":
		return o.Status >= task.OperationCompleting
	case "rev":
		return o.Final() || o.Rev >= w.until.N
	}
	return o.Final()
}

// Done returns a channel that is closed when the wait is over.
func (w *OperationWaiter) Done() <-chan struct{} { return w.done }

// Created returns the creation rev of the record that Start got, which tells it from a later operation of the same ID.
func (w *OperationWaiter) Created() uint64 { return w.created }

// Outcome returns the version that ended the wait, or nil if the operation was removed. over is false as long as the
// wait goes on.
func (w *OperationWaiter) Outcome() (o *task.Operation, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last, w.over
}
