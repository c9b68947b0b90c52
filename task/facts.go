package task

import (
	"slices"

	"github.com/taskrt/taskrt/task/match"
)

// StateOf returns the state of a task, as filters know it (SPEC Q1).
func StateOf(t *Task) match.State {
	switch again := t.NotBefore != 0; t.Status {
	case Running:
		return match.Running
	case Success:
		return match.Ended(match.Succeeded, again)
	case Failure:
		return match.Ended(match.Dead, again)
	default:
		return match.Created
	}
}

// RunBy returns who runs a task, or ran its last attempt.
func RunBy(t *Task) (worker, node string) {
	if t.Lease != nil {
		return t.Lease.Worker, t.Lease.Node
	}
	if n := len(t.History); n > 0 {
		return t.History[n-1].Worker, t.History[n-1].Node
	}
	return "", ""
}

// Matches reports whether a task is what a filter asks for.
func Matches(t *Task, f *match.Filter) bool {
	x := match.Task{
		ID: t.ID, Behavior: t.Behavior, Parent: t.Parent, State: StateOf(t),
		Created: int64(t.CreatedAt), Started: int64(t.StartedAt), Finished: int64(t.FinishedAt), NotBefore: int64(t.NotBefore),
	}
	x.Worker, x.Node = RunBy(t)
	if t.Error != nil {
		x.Code = t.Error.Code
	}
	return f.Matches(&x, func(l match.Label) bool { return slices.Contains(t.Labels, Label(l)) })
}
