package wait

import (
	"sync"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/watch"
	"github.com/taskrt/taskrt/task"
)

// version is one version of a record as an event or a read shows it. gone says that the record was removed.
type version struct {
	task  *task.Task // nil if a read found nothing
	prev  *task.Task // of an event: the version before; nil if there was none
	event bool
	gone  bool
	index uint64 // of a read that found nothing
}

// Waiter waits for one task. It keeps the versions that arrive before Start. A version that is older than the state
// that Start got does not count, because a wait never answers with a state from before its request. The exception is an
// outcome after a rev that the request names.
type Waiter struct {
	dispatcher *Dispatcher
	key        task.Key
	prev, next *Waiter // list of the waiters for the same task; under the dispatcher's lock
	done       chan struct{}
	ended      func() // called once, when the wait is over; must not block

	mu      sync.Mutex
	cond    condition
	started bool
	over    bool
	early   []version
	last    *task.Task
	index   uint64 // of the log, when Start's state was read
	gone    bool
}

// Start begins the wait with the state that was read after registering. index is the index of the log at that read.
func (w *Waiter) Start(t *task.Task, index uint64) {
	past := w.cond.past(w.dispatcher.changes, w.key, t)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.started = true
	w.last, w.index = t, index
	switch {
	case w.cond.holds(t):
		w.endLocked()
	case past != nil:
		w.last = past
		w.endLocked()
	}
	for _, v := range w.early {
		w.takeLocked(v)
	}
	w.early = nil
}

// Key returns the task's key.
func (w *Waiter) Key() task.Key { return w.key }

// Done returns a channel that is closed when the wait for one task is over. It is nil for a waiter of Tasks.
func (w *Waiter) Done() <-chan struct{} { return w.done }

func (w *Waiter) see(v version) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.started {
		w.early = append(w.early, v)
		return
	}
	w.takeLocked(v)
}

func (w *Waiter) takeLocked(v version) {
	switch {
	case w.over:
	case v.task == nil && v.index < w.index:
		// This read came before Start's and found nothing: the record was not here yet.
	case v.task == nil:
		w.gone = true
		w.endLocked()
	case v.task.CreatedRev < w.last.CreatedRev:
		// an earlier record of the same ID
	case v.task.CreatedRev > w.last.CreatedRev, v.gone:
		w.gone = true // perhaps the ID is there again: it names another task then
		w.endLocked()
	case v.task.Rev > w.last.Rev:
		prev := w.last
		w.last = v.task
		if w.cond.next(prev, v) {
			w.endLocked()
		}
	case w.cond.since > 0 && v.event && v.task.Rev > w.cond.since && watch.Outcome(v.prev, v.task) && w.cond.ends(v.task):
		// The outcome is older than the state that Start got, but newer than the rev that the request names.
		w.last = v.task
		w.endLocked()
	}
}

func (w *Waiter) endLocked() {
	if !w.over {
		w.over = true
		w.ended()
	}
}

// Outcome says how the wait ended: with a version that ended it, or because the record is gone. over is false as long
// as the wait goes on.
func (w *Waiter) Outcome() (t *task.Task, gone, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last, w.gone, w.over
}

// condition is what a wait waits for (SPEC W1). A final state ends every wait.
type condition struct {
	until api.Until
	since uint64 // an outcome counts if its rev is above since; 0: from now on
}

// past looks for an outcome that came after the rev that the wait names. It returns the version with the outcome, or
// nil. If this node no longer knows all versions since the rev, the present version decides, which may have been moved
// since its outcome: a wait that ends too early is better than a wait that never ends.
func (c condition) past(changes *watch.Feed, key task.Key, t *task.Task) *task.Task {
	if c.since == 0 || t.Rev <= c.since {
		return nil
	}
	switch c.until.Kind {
	case "success", "failure", "outcome":
	default:
		return nil
	}
	found, covered := changes.History(key, c.since, c.ends)
	if found != nil && found.CreatedRev == t.CreatedRev {
		return found
	}
	if !covered && c.outcome(t) {
		return t
	}
	return nil
}

// next reports whether a version that replaced prev ends the wait.
func (c condition) next(prev *task.Task, v version) bool {
	t := v.task
	switch {
	case c.holds(t):
		return true
	case t.Rev <= c.since:
		return false
	case v.event:
		return watch.Outcome(v.prev, t) && c.outcome(t)
	}
	// The version comes from a read after events were missed: there may have been others between prev and t.
	first := prev.Attempt
	if prev.Status != task.Running {
		first++
	}
	return watch.Outcome(prev, t) && c.outcome(t) || c.finished(t, first) ||
		(c.until.Kind == "running" || c.until.Kind == "waiting") && t.Attempt > prev.Attempt
}

// finished looks in the record's history for an attempt, number first or later, that ended as the wait wants it.
func (c condition) finished(t *task.Task, first int64) bool {
	for _, a := range t.History {
		if a.Number < first || a.FinishedAt == 0 {
			continue
		}
		switch a.Outcome {
		case "LOST", "GIVEN_BACK", "SNOOZED":
		case "SUCCESS":
			if c.until.Kind == "success" || c.until.Kind == "outcome" {
				return true
			}
		default:
			if c.until.Kind == "failure" {
				return true
			}
		}
	}
	return false
}

// holds reports whether a version by itself ends the wait.
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

// ends reports whether a version that has just got an outcome ends the wait.
func (c condition) ends(t *task.Task) bool { return t.Final() || c.outcome(t) }

// outcome reports whether a version that has just got an outcome has the outcome that the wait wants. "outcome" wants the end of a cycle: nothing of
// the cycle is left to do. A failure that will be retried is no such end. It is recognised by the version to which it stays pinned.
func (c condition) outcome(t *task.Task) bool {
	switch c.until.Kind {
	case "success":
		return t.Status == task.Success
	case "failure":
		return t.Status == task.Failure
	case "outcome":
		return t.Status == task.Success || t.Status == task.Failure && t.Version == ""
	}
	return false
}
