package naive

import (
	"slices"
	"strconv"

	"github.com/taskrt/taskrt/task"
)

// partFailed notes the first final failure. With fail_fast, this failure stops the other partitions (O3).
func (m *Model) partFailed(k task.Key, t *task.Task) {
	o := m.Operations[k]
	if o.Status != task.OperationRunning || o.Stop != "" || o.Policy.RunAll && o.Error != nil {
		return
	}
	m.change(k, func(o *task.Operation) {
		if o.Error == nil {
			o.Error = t.Error
		}
		if !o.Policy.RunAll {
			o.Stop, o.RetryRev = t.Error.Code, 0
		}
	})
	m.work(k, m.steps)
}

// settle begins the completion, or the end, when all partitions are final and stay so (O3).
func (m *Model) settle(k task.Key) {
	o := m.Operations[k]
	if c := m.Counts(o); o.Status != task.OperationRunning || o.RetryRev != 0 || c.Success+c.Failure < o.Partitions {
		return
	}
	failed := m.failedParts(o)
	m.change(k, func(o *task.Operation) {
		o.Stop = ""
		if len(failed) == 0 { // it was asked to stop too late
			o.Error = nil
		} else if o.Error == nil {
			o.Error = failed[0].Error
		}
		if o.Policy.Complete == "" {
			m.finished(o)
		} else {
			o.Status = task.OperationCompleting
		}
	})
	if o.Policy.Complete != "" {
		m.runCompletion(k)
	}
}

func (m *Model) finished(o *task.Operation) {
	if o.Status, o.FinishedAt = task.OperationSuccess, m.Now; o.Error != nil {
		o.Status = task.OperationFailure
	}
}

// runCompletion makes the task of the completion, or makes it due again.
func (m *Model) runCompletion(k task.Key) {
	o := m.Operations[k]
	t := m.opTask(o, task.RoleCompletion, partKey(o, -1), o.Policy.Complete)
	if old := m.Tasks[name(&t)]; old != nil {
		t = *old
		again(&t, m.Now, 0)
	}
	m.write(&t)
}

// cleanUp makes the cleanup of an attempt that will not be continued where it ran: its partition failed finally, or
// another session runs the partition now (O3).
func (m *Model) cleanUp(k task.Key, prev, t *task.Task) {
	o := m.Operations[k]
	if o.Policy.Cleanup == "" || prev == nil || final(prev) {
		return
	}
	ended := t.Ended
	if t.Status == task.Running && prev.Status != task.Running {
		if ended = prev.Ended; ended != nil && ended.Session == t.Lease.Session {
			return
		}
	} else if !final(t) || t.Status != task.Failure {
		return
	}
	if ended == nil || ended.Session == 0 {
		return
	}
	bound := m.ordered(func(t *task.Task) bool { return t.Bound == ended.Session && !final(t) })
	id := task.Key{Namespace: k.Namespace, ID: k.ID + ":cleanup:" + strconv.FormatUint(ended.Token, 10)}
	if _, live := m.Sessions[ended.Session]; !live || m.ending == ended.Session || len(bound) >= m.limits.Cleanups || m.Tasks[id] != nil {
		m.change(k, func(o *task.Operation) { o.Dropped++ }) // told, but not run
		return
	}
	m.change(k, func(o *task.Operation) { o.Cleanups++ })
	c := m.opTask(o, task.RoleCleanup, id, o.Policy.Cleanup)
	c.Partition, c.Bound = t.Partition, ended.Session
	m.write(&c)
}

// dropBound ends the cleanups that only the session could have run.
func (m *Model) dropBound(session uint64) {
	for _, old := range m.ordered(func(t *task.Task) bool { return t.Bound == session && !final(t) }) {
		t := *old
		m.failed(&t, &task.Error{Code: sessionEnded})
		m.write(&t)
	}
}

// excluder returns the oldest operation that keeps o from running now (O2). It may be an operation that is being
// removed and still has runs.
func (m *Model) excluder(o *task.Operation) (oldest *task.Operation) {
	for k, x := range m.Operations {
		if !over(x) && against(x, o) && (oldest == nil || m.bornOps[k] < m.bornOps[opKey(oldest)]) {
			oldest = x
		}
	}
	return oldest
}

// against reports whether two operations must not run at the same time.
func against(a, b *task.Operation) bool {
	if a.Namespace != b.Namespace || a.Target != b.Target {
		return false
	}
	same := a.Behavior == b.Behavior
	no := slices.Contains(a.Policy.Incompatible, b.Behavior) || slices.Contains(b.Policy.Incompatible, a.Behavior)
	for _, policy := range []task.OperationPolicy{a.Policy, b.Policy} {
		no = no || same && policy.Concurrency == task.OnePerTarget || same && policy.Concurrency == task.OnePerObject && a.Object == b.Object
	}
	return no
}
