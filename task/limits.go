package task

import "github.com/taskrt/taskrt/task/queue"

// Limits (SPEC L11): how many tasks of a behavior, and of a key of it, run at once in the cluster. The promise that planning does not grow with what
// they block is kept by where tasks wait (package queue): a lane holds only tasks whose key has a slot for them.

// allowance is what the active version of a behavior, and its operator, allow now.
type allowance struct {
	open       bool  // there is an active version, no pause, and the namespace is ACTIVE (SPEC L10, B8, N1)
	concurrent int64 // 0: no limit
	queue.Limits

	keepSuccess, keepFailure bool // final tasks are kept for ever (SPEC T9)
}

// allowance returns what is allowed for b now. It depends on its record and its namespace's alone.
func (b *behaviorRow) allowance() allowance {
	if b.behavior == nil || b.behavior.Deleted {
		return allowance{}
	}
	v, ok := b.behavior.Find("")
	if !ok {
		return allowance{}
	}
	a := allowance{open: !b.behavior.Paused && b.space.space.Status == NamespaceIsActive, concurrent: max(v.Policy.MaxConcurrent, 0)}
	a.PerKey = max(v.Policy.MaxPerKey, 0)
	a.Strict = v.Policy.KeyStrict && a.PerKey > 0
	a.keepSuccess, a.keepFailure = v.Policy.KeepSuccess < 0, v.Policy.KeepFailure < 0
	return a
}

// full reports whether no further task of b may start.
func (b *behaviorRow) full() bool { return b.limits.concurrent > 0 && b.running >= b.limits.concurrent }

// mayStart reports whether another task of b may start now, as far as that does not depend on the task.
func (b *behaviorRow) mayStart() bool { return b.limits.open && !b.full() && !b.space.full() }

// policyChanged must follow every change of a behavior's record, and of its namespace's status: another active version, a pause, a deletion. When the
// limit per key is another one, the behavior's queues are made anew, at a cost that grows with its waiting tasks and all running ones.
func (m *Machine) policyChanged(b *behaviorRow) {
	next := b.allowance()
	m.keptOtherwise(b, &next)
	b.limits = next
	m.board.SetLimits(&b.Queues, next.Limits, func(yield func(*row) bool) {
		for r := range m.overruns.All {
			if m.of(r) == b && !yield(r) {
				return
			}
		}
	})
}
