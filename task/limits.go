package task

import "github.com/taskrt/taskrt/task/queue"

// Limits (SPEC L11): how many tasks of a behavior, and of a key of it, run at once in the cluster. Planning costs the same however many tasks the
// limits block: a lane holds only tasks whose key has a slot for them (package queue).

// allowance is what the active version of a behavior, and its operator, allow now.
type allowance struct {
	open       bool  // there is an active version, no pause, and the namespace is ACTIVE (SPEC L10, B8, N1)
	concurrent int64 // 0: no limit
	queue.Limits

	keepSuccess, keepFailure bool // final tasks are kept for ever (SPEC T9)
}

// allowance returns what is allowed for b now. It depends only on the records of b and of b's namespace.
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

// policyChanged must follow every change of a behavior's record (another active version, a pause, a deletion) and of its namespace's status. If the
// limit per key changes, the behavior's queues are made anew. This costs by the behavior's waiting tasks and by all running tasks.
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
