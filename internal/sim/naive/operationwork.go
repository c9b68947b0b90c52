package naive

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/taskrt/taskrt/task"
)

// parts returns the tasks of the operation that pass, in the order in which they came to be.
func (m *Model) parts(o *task.Operation, pass func(*task.Task) bool) []*task.Task {
	ts := m.ordered(func(t *task.Task) bool {
		return t.Role != task.RoleNone && t.Namespace == o.Namespace && t.Parent == o.ID && pass(t)
	})
	slices.SortFunc(ts, func(a, b *task.Task) int { return cmp.Compare(m.born[name(a)], m.born[name(b)]) })
	return ts
}

// Counts are the operation's partitions by what they do.
func (m *Model) Counts(o *task.Operation) (c task.OperationCounts) {
	c.Waiting = o.Partitions
	for _, t := range m.parts(o, func(t *task.Task) bool { return t.Role == task.RolePartition }) {
		n := map[task.Status]*int64{task.Created: &c.Waiting, task.Running: &c.Running, task.Success: &c.Success, task.Failure: &c.Failure}[t.Status]
		if t.NotBefore != 0 && t.Status > task.Running {
			n = &c.Retrying
		}
		if c.Waiting--; n != nil {
			*n++
		}
	}
	return c
}

// failedParts returns the partitions that failed finally, in the order in which they failed.
func (m *Model) failedParts(o *task.Operation) []*task.Task {
	ts := m.parts(o, func(t *task.Task) bool { return t.Role == task.RolePartition && final(t) && t.Status == task.Failure })
	slices.SortFunc(ts, func(a, b *task.Task) int { return cmp.Compare(m.written[name(a)], m.written[name(b)]) })
	return ts
}

// whole reports whether all partitions are there. An import may still have to bring some.
func (m *Model) whole(o *task.Operation) bool {
	return len(m.parts(o, func(t *task.Task) bool { return t.Role == task.RolePartition })) == int(o.Partitions)
}

// openParts returns the tasks that a stop has to cancel: first running tasks that were not told yet, then waiting tasks.
func (m *Model) openParts(o *task.Operation) []*task.Task {
	ts := m.parts(o, func(t *task.Task) bool { return t.Role == task.RolePartition && !final(t) && t.CancelCode == "" })
	slices.SortStableFunc(ts, func(a, b *task.Task) int {
		return cmp.Compare(map[bool]int{true: 0, false: 1}[a.Lease != nil], map[bool]int{true: 0, false: 1}[b.Lease != nil])
	})
	return ts
}

// Working says whether Ticks have something to do for the operation.
func (m *Model) Working(o *task.Operation) bool {
	if o.Removing {
		return true
	}
	return !m.Purging(o.Namespace) && o.Status == task.OperationRunning &&
		(o.Made < o.Partitions || o.RetryRev != 0 || o.Stop != "" && len(m.openParts(o)) > 0)
}

// work takes up to n steps for the operation. An entry has a limited number of steps for all operations.
func (m *Model) work(k task.Key, n int64) {
	for n = min(n, m.steps); n > 0 && m.Operations[k] != nil && m.Working(m.Operations[k]); n-- {
		m.steps--
		m.struck = true
		o := m.Operations[k]
		if open := m.openParts(o); o.Removing {
			m.removeStep(k, open)
		} else if o.Stop != "" && len(open) > 0 {
			m.strike(open[0], task.CodeCancelled)
		} else if o.Made < o.Partitions {
			m.change(k, func(o *task.Operation) { o.Made++ })
			m.partition(k, o.Made)
		} else {
			m.retryStep(k)
		}
	}
}

// tickOperations gives each operation that has work an equal share of the entry's steps, the oldest first.
func (m *Model) tickOperations() {
	ks := slices.SortedFunc(maps.Keys(m.Operations), func(a, b task.Key) int { return cmp.Compare(m.bornOps[a], m.bornOps[b]) })
	ks = slices.DeleteFunc(ks, func(k task.Key) bool { return !m.Working(m.Operations[k]) })
	ks = ks[:min(int64(len(ks)), m.steps)]
	for i, k := range ks {
		m.work(k, max(m.steps/int64(len(ks)-i), 1))
	}
}

// removeStep deletes one task. The order is: running tasks, waiting tasks, cleanups, the completion, the partitions from the last.
func (m *Model) removeStep(k task.Key, open []*task.Task) {
	o := m.Operations[k]
	open = append(open, m.parts(o, func(t *task.Task) bool { return t.Role == task.RoleCleanup })...)
	if done := m.Tasks[partKey(o, -1)]; len(open) > 0 {
		m.remove(name(open[0]))
		return // the record goes in a step of its own
	} else if done != nil {
		m.remove(name(done))
	} else if o.Made > 0 {
		m.change(k, func(o *task.Operation) { o.Made-- })
		if last := partKey(o, o.Made-1); m.Tasks[last] != nil {
			m.remove(last)
		}
	}
	if m.Operations[k].Made == 0 && len(m.parts(o, func(*task.Task) bool { return true })) == 0 {
		delete(m.Operations, k)
		for _, name := range []string{o.Behavior, o.Policy.Complete, o.Policy.Cleanup} {
			m.unused(task.Key{Namespace: k.Namespace, ID: name})
		}
	}
}

// retryStep makes the partition that failed first due again, with what it has reached. The last partition ends the retry.
func (m *Model) retryStep(k task.Key) {
	o := m.Operations[k]
	before := func(ts []*task.Task) bool { return len(ts) > 0 && m.written[name(ts[0])] <= m.retried[k] }
	if failed := m.failedParts(o); before(failed) {
		t := *failed[0]
		t.NotBefore, t.Deadline, t.Failures = m.Now, 0, 0
		if o.Policy.Restart {
			t.Checkpoint = task.Payload{}
		}
		if t.Ended != nil { // what it left behind has been cleaned up
			ended := *t.Ended
			ended.Session, t.Ended = 0, &ended
		}
		m.write(&t)
	}
	if !before(m.failedParts(o)) {
		m.change(k, func(o *task.Operation) { o.RetryRev = 0 })
	}
}

// opTask returns a new task of the operation.
func (m *Model) opTask(o *task.Operation, role task.Role, k task.Key, behavior string) task.Task {
	return task.Task{
		Namespace: k.Namespace, ID: k.ID, Behavior: behavior, Version: o.Version, Status: task.Created, NotBefore: m.Now, CreatedAt: m.Now,
		Parent: o.ID, Labels: o.Labels, Priority: o.Priority, Role: role, Creator: o.Creator, Trace: o.Trace,
	}
}

// partition makes the task of a partition. The task is cancelled already if the operation stops.
func (m *Model) partition(k task.Key, i int64) {
	o := m.Operations[k]
	t := m.opTask(o, task.RolePartition, partKey(o, i), o.Behavior)
	if t.Partition = strconv.FormatInt(i, 10); o.Names != nil {
		t.Partition = o.Names[i]
	}
	if o.Stop != "" {
		m.failed(&t, &task.Error{Code: task.CodeCancelled})
	}
	m.write(&t)
}

// advance lets the operation of t follow t's change in the same entry (O3). t was prev before; nil: t is new.
func (m *Model) advance(prev, t *task.Task) {
	k := task.Key{Namespace: t.Namespace, ID: t.Parent}
	o := m.Operations[k]
	if t.Role == task.RoleNone || o.Removing || m.Purging(t.Namespace) {
		return
	}
	ends := final(t) && (prev == nil || !final(prev))
	switch {
	case t.Role == task.RolePartition:
		m.cleanUp(k, prev, t)
		if ends && t.Status == task.Failure {
			m.partFailed(k, t)
		}
		if ends {
			m.settle(k)
		}
	case t.Role == task.RoleCompletion && ends && o.Status == task.OperationCompleting:
		m.change(k, func(o *task.Operation) {
			if t.Status == task.Failure {
				o.Error = &task.Error{Code: task.CodeCompletionFailed, Retryable: true}
			} else if o.Error == nil {
				o.Result = t.Result
			}
			m.finished(o)
		})
	case t.Role == task.RoleCleanup && ends && t.Error != nil && t.Error.Code == sessionEnded:
		m.change(k, func(o *task.Operation) { o.Dropped++ })
	}
}

const sessionEnded = "SESSION_ENDED"
