package node

import (
	"context"
	"sync"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
)

// operationWaits are those who wait for an operation on this node. The dispatcher hands them the operations' events, so
// that waiting costs nothing per change of a task.
type operationWaits struct {
	mu      sync.Mutex
	waiters map[task.Key]map[*operationWaiter]struct{}
}

// operationWaiter waits for one operation. As with tasks, whoever waits registers first, then reads the state and starts
// with it: no change falls between the two, and none that is older than what was read counts.
type operationWaiter struct {
	waits *operationWaits
	key   task.Key
	until api.Until
	done  chan struct{}

	mu      sync.Mutex
	created uint64 // rev of the record that start was given; 0: not started
	rev     uint64
	early   []operationVersion
	over    bool
	last    *task.Operation // that ended the wait; nil: it was removed
}

// operationVersion is a record as an event or a read shows it; gone: it is, or is being, removed.
type operationVersion struct {
	operation *task.Operation
	gone      bool
}

// wait registers.
func (ws *operationWaits) wait(key task.Key, until api.Until) *operationWaiter {
	w := &operationWaiter{waits: ws, key: key, until: until, done: make(chan struct{})}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.waiters == nil {
		ws.waiters = map[task.Key]map[*operationWaiter]struct{}{}
	}
	if ws.waiters[key] == nil {
		ws.waiters[key] = map[*operationWaiter]struct{}{}
	}
	ws.waiters[key][w] = struct{}{}
	return w
}

// stop ends the registration.
func (w *operationWaiter) stop() {
	w.waits.mu.Lock()
	defer w.waits.mu.Unlock()
	if all := w.waits.waiters[w.key]; len(all) > 1 {
		delete(all, w)
	} else {
		delete(w.waits.waiters, w.key)
	}
}

// of returns who waits for an operation.
func (ws *operationWaits) of(key task.Key) []*operationWaiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	var all []*operationWaiter
	for w := range ws.waiters[key] {
		all = append(all, w)
	}
	return all
}

// dispatch shows an event to whom it concerns.
func (ws *operationWaits) dispatch(e *task.Event) {
	if o := e.Operation; o != nil {
		for _, w := range ws.of(o.Key()) {
			w.see(operationVersion{o, e.Kind == task.OperationRemoved || o.Removing})
		}
	}
}

// recheck shows the present state to everybody: events may have been missed.
func (ws *operationWaits) recheck(local func(func(*task.Machine))) {
	ws.mu.Lock()
	var all []*operationWaiter
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

// start begins the wait with the state that was read after registering.
func (w *operationWaiter) start(o *task.Operation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.created, w.rev = o.CreatedRev, o.Rev
	if w.holds(o) {
		w.endLocked(o)
	}
	for _, v := range w.early {
		w.takeLocked(v)
	}
	w.early = nil
}

func (w *operationWaiter) see(v operationVersion) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.created == 0 {
		if v.operation != nil { // that a read found nothing says nothing yet: start's read comes later
			w.early = append(w.early, v)
		}
		return
	}
	w.takeLocked(v)
}

func (w *operationWaiter) takeLocked(v operationVersion) {
	switch o := v.operation; {
	case w.over:
	case o == nil, o.CreatedRev > w.created, o.CreatedRev == w.created && v.gone:
		w.endLocked(nil)
	case o.CreatedRev == w.created && o.Rev > w.rev:
		if w.rev = o.Rev; w.holds(o) {
			w.endLocked(o)
		}
	}
}

func (w *operationWaiter) endLocked(o *task.Operation) {
	w.over, w.last = true, o
	close(w.done)
}

// holds tells whether a version ends the wait. A final state ends every wait.
func (w *operationWaiter) holds(o *task.Operation) bool {
	switch w.until.Kind {
	case "completing":
		return o.Status >= task.OperationCompleting
	case "rev":
		return o.Final() || o.Rev >= w.until.N
	}
	return o.Final()
}

func (w *operationWaiter) outcome() (o *task.Operation, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last, w.over
}

// waitOperation answers as soon as the condition holds, else with the state at the end of the wait.
func (n *Node) waitOperation(ctx context.Context, key task.Key, o api.OperationGet) (*api.Operation, error) {
	until, err := api.ParseOperationUntil(o.Until)
	if err != nil {
		return nil, err
	}
	w := n.events.operations.wait(key, until)
	defer w.stop()
	missing := error(nil)
	err = n.read(ctx, readOptions{o.Stale, o.MinIndex}, func(m *task.Machine) {
		if now := m.Operation(key); now != nil {
			w.start(now)
		} else {
			missing = noOperation(m, key)
		}
	})
	if err := firstError(err, missing); err != nil {
		return nil, err
	}
	if _, err := n.pause(ctx, o.Wait, w.done); err != nil {
		return nil, err
	}
	last, over := w.outcome()
	var reply *api.Operation
	n.store.Local(func(m *task.Machine) {
		api.SetIndex(ctx, m.Index())
		now := m.Operation(key)
		if now == nil || now.CreatedRev != w.created || over && last == nil {
			return
		}
		if last != nil && !w.holds(now) { // it goes on already
			now = last
		}
		reply = view.Of(m).Operation(now)
	})
	if reply == nil {
		return nil, api.NewError(api.CodeRemoved, "operation %s was removed", key.ID)
	}
	return reply, nil
}
