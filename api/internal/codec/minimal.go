package codec

import (
	"iter"

	"github.com/taskrt/taskrt/api"
)

// Minimal returns the short answer to a submit.
func Minimal(r *api.SubmitReply) *MinimalReply {
	t := r.Task
	return &MinimalReply{
		Task:    MinimalTask{Namespace: t.Namespace, ID: t.ID, Behavior: t.Behavior, Status: t.Status, Final: t.Final, Rev: t.Rev, CreatedAt: t.CreatedAt},
		Outcome: r.Outcome,
	}
}

// ShortResults yields the short answers to many submits. It makes each answer when it is asked for.
func ShortResults(list []api.SubmitResult) iter.Seq[*MinimalResult] {
	return func(yield func(*MinimalResult) bool) {
		for i := range list {
			r := MinimalResult{Error: list[i].Error}
			if list[i].SubmitReply != nil {
				r.MinimalReply = Minimal(list[i].SubmitReply)
			}
			if !yield(&r) {
				return
			}
		}
	}
}
