package wait

import (
	"sync"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/watch"
	"github.com/taskrt/taskrt/task"
)

// version is one version of a record, as an event or a read shows it. gone: the record was removed.
type version struct {
	task  *task.Task // nil when a read found nothing
	prev  *task.Task // event: the version before it, nil if there was none
	event bool
	gone  bool
	index uint64 // of the read that found nothing
}

// Waiter waits for one task. Versions that arrive before Start are kept. Those that are older than the state that Start
// was given do not count, for a wait never answers with a state from before the request; but for the outcomes after a
// rev that the request names.
type Waiter struct {
	dispatcher *Dispatcher
	key        task.Key
	prev, next *Waiter // of the same task; under the dispatcher's lock
	done       chan struct{}
	ended      func() // called once, when the wait is over; must not block

	mu      sync.Mutex
	cond    condition
	started bool
	over    bool
	early   []version
	last    *task.Task
	index   uint64 // of the read that Start was given
	gone    bool
}

// Start begins the wait with the state that was read after registering, at an index of the log.
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

// Key names the task.
func (w *Waiter) Key() task.Key { return w.key }

// Done is closed when the wait for one task is over; nil for a waiter of Tasks.
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
		// Nothing was found by a read from before Start's: the record did not exist here yet.
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
		if w.cond.next(prev, v) {
			w.endLocked()
		}
	case w.cond.since > 0 && v.event && v.task.Rev > w.cond.since && watch.Outcome(v.prev, v.task) && w.cond.ends(v.task):
		// It came before the state that Start was given, but after the rev that was named.
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

// Outcome says how the wait ended: the version that ended it, or that the record was removed; over is false as long as
// it goes on.
func (w *Waiter) Outcome() (t *task.Task, gone, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last, w.gone, w.over
}

// condition is what a wait waits for (SPEC W1). A final state ends every wait.
type condition struct {
	until api.Until
	since uint64 // success, failure, outcome: one at a rev above it; 0: from now
}

// past looks for an outcome that the wait names by its rev and that has been: the version with it; nil if there is
// none. If this node no longer knows the versions since then, it judges by the present one, which may have been moved
// since its outcome: better a wait that ends too early than one that never does.
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

// next tells whether a version that replaced prev ends the wait.
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
	// A read after events were missed: several versions may lie between the two.
	first := prev.Attempt
	if prev.Status != task.Running {
		first++
	}
	return watch.Outcome(prev, t) && c.outcome(t) || c.finished(t, first) ||
		(c.until.Kind == "running" || c.until.Kind == "waiting") && t.Attempt > prev.Attempt
}

// finished looks into the record's history for an attempt, from the first on, that ended as it is waited for.
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

// ends tells whether a version that has just got an outcome ends the wait.
func (c condition) ends(t *task.Task) bool { return t.Final() || c.outcome(t) }

// outcome tells whether a version that has just got an outcome has the one that is waited for. That of a cycle is one
// after which nothing of it is left to do: a failure that will be retried keeps the version that it is pinned to.
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
