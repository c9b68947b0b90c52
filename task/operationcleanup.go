package task

import (
	"strconv"

	"github.com/taskrt/taskrt/task/names"
)

// A cleanup (SPEC O3) is a task that tidies up behind an attempt, on the worker that ran it and nowhere else. Cleanups
// wait in their session and in no lane, so that no other planning meets them, and they end with the session.

// CodeSessionEnded is the error of a cleanup whose session ended before it had run.
const CodeSessionEnded = "SESSION_ENDED"

// cleanUp makes the cleanup of an attempt of t's partition as soon as the attempt cannot be continued where it ran: the
// partition failed finally or was cancelled, or another session runs it now.
func (m *Machine) cleanUp(o *operationRow, t, prev *Task) {
	if o.operation.Policy.Cleanup == "" || prev == nil || prev.Final() {
		return
	}
	switch ended := t.Ended; {
	case t.Status == Running && prev.Status != Running:
		if ended = prev.Ended; ended != nil && ended.Session != 0 && ended.Session != t.Lease.Session {
			m.makeCleanup(o, t, ended)
		}
	case t.Final() && t.Status == Failure && ended != nil && ended.Session != 0:
		m.makeCleanup(o, t, ended)
	}
}

func (m *Machine) makeCleanup(o *operationRow, of *Task, ended *Ended) {
	x := o.operation
	s := m.sessions[ended.Session]
	k := Key{x.Namespace, x.taskID("cleanup:" + strconv.FormatUint(ended.Token, 10))}
	if s == nil || s.ending || int64(s.cleanups.Len()) >= m.limits.Cleanups || !names.IsTask(k.ID) || m.find(k) != nil {
		m.cleanupDropped(o)
		return
	}
	next := *x
	next.Cleanups++
	m.putOperation(o, &next)
	b := m.behaviorRow(x.Namespace, x.Policy.Cleanup)
	t := x.task(RoleCleanup, k.ID, m.now)
	t.Behavior, t.Partition, t.Bound = b.name, of.Partition, ended.Session
	m.add(b, t)
}

// cleanupDropped records that a cleanup could not be run.
func (m *Machine) cleanupDropped(o *operationRow) {
	next := *o.operation
	next.Dropped++
	m.putOperation(o, &next)
}

// sessionEnded ends a cleanup that its session can no longer run.
func (m *Machine) sessionEnded(n *Task) {
	m.fail(n, &Error{Code: CodeSessionEnded, Message: "the worker that was to clean up has left"}, 0)
}

// dropBound ends the cleanups that are bound to a session that ends, at most Limit.Cleanups. None of them runs any more.
func (m *Machine) dropBound(s *sessionRow) {
	for n := s.cleanups.Head(); n != nil; n = s.cleanups.Head() {
		t := *m.task(n.Item)
		m.sessionEnded(&t)
		m.put(n.Item, &t)
	}
}
