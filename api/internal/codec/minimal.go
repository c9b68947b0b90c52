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
	return each(list, func(r *api.FinishResult) *MinimalFinishResult {
		short := &MinimalFinishResult{Error: r.Error}
		if r.FinishReply != nil {
			short.MinimalFinishReply = MinimalFinish(r.FinishReply)
		}
		return short
	})
}

// ShortResults yields the short answers to many submits. It makes each answer when it is asked for.
func ShortResults(list []api.SubmitResult) iter.Seq[*MinimalResult] {
	return each(list, func(r *api.SubmitResult) *MinimalResult {
		short := &MinimalResult{Error: r.Error}
		if r.SubmitReply != nil {
			short.MinimalReply = Minimal(r.SubmitReply)
		}
		return short
	})
}

// Whole yields the answers to many requests as they are.
func Whole[T any](list []T) iter.Seq[*T] {
	return each(list, func(r *T) *T { return r })
}

func each[T, R any](list []T, answer func(*T) R) iter.Seq[R] {
	return func(yield func(R) bool) {
		for i := range list {
			if !yield(answer(&list[i])) {
				return
			}
		}
	}
}
