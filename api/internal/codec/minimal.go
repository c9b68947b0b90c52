package codec

import (
	"iter"

	"github.com/taskrt/taskrt/api"
)

// Minimal returns the short answer to a submit.
func Minimal(r *api.SubmitReply) *MinimalReply {
	return &MinimalReply{Task: minimal(r.Task), Outcome: r.Outcome}
}

func minimal(t *api.Task) MinimalTask {
	return MinimalTask{Namespace: t.Namespace, ID: t.ID, Behavior: t.Behavior, Status: t.Status, Final: t.Final, Rev: t.Rev, CreatedAt: t.CreatedAt}
}

// MinimalFinish returns the short answer to a finish.
func MinimalFinish(r *api.FinishReply) *MinimalFinishReply {
	return &MinimalFinishReply{Task: minimal(r.Task), Repeated: r.Repeated}
}

// ShortFinishes yields the short answers to many finishes. It makes each answer when it is asked for.
func ShortFinishes(list []api.FinishResult) iter.Seq[*MinimalFinishResult] {
	return func(yield func(*MinimalFinishResult) bool) {
		for i := range list {
			r := MinimalFinishResult{Error: list[i].Error}
			if list[i].FinishReply != nil {
				r.MinimalFinishReply = MinimalFinish(list[i].FinishReply)
			}
			if !yield(&r) {
				return
			}
		}
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

// Whole yields the answers to many requests as they are.
func Whole[T any](list []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}
