package api

import (
	"context"
	"iter"
	"net/http"
	"strings"
)

// Headers by which a client says that it needs little of an answer, and a server that it gave little (RFC 7240).
const (
	preferHeader  = "Prefer"
	appliedHeader = "Preference-Applied"
	returnMinimal = "return=minimal"
)

type minimalKey struct{}

// WithMinimal makes Submit and SubmitBatch answer with what names a task and says where it is, and no more: Namespace, ID,
// Behavior, Status, Final, Rev and CreatedAt. It is for programs that submit many tasks: to show the params again costs more than
// to take them.
func WithMinimal(ctx context.Context) context.Context {
	return context.WithValue(ctx, minimalKey{}, true)
}

// IsMinimal reports whether a call was made under WithMinimal. Services may answer with more.
func IsMinimal(ctx context.Context) bool {
	minimal, _ := ctx.Value(minimalKey{}).(bool)
	return minimal
}

// Minimal returns what WithMinimal leaves of a task.
func (t *Task) Minimal() *Task {
	return &Task{
		Namespace: t.Namespace, ID: t.ID, Behavior: t.Behavior, Status: t.Status, Final: t.Final, Rev: t.Rev, CreatedAt: t.CreatedAt,
	}
}

// prefersMinimal reads the preference "return". Others mean nothing here, and of two the first counts (RFC 7240, section 2).
func prefersMinimal(h http.Header) bool {
	for _, field := range h.Values(preferHeader) {
		for preference := range strings.SplitSeq(field, ",") {
			preference, _, _ = strings.Cut(preference, ";")
			name, value, _ := strings.Cut(preference, "=")
			if strings.EqualFold(strings.TrimSpace(name), "return") {
				return strings.EqualFold(strings.Trim(strings.TrimSpace(value), `"`), "minimal")
			}
		}
	}
	return false
}

func minimalOf(r *SubmitReply) *minimalReply {
	t := r.Task
	return &minimalReply{
		Task:    minimalTask{t.Namespace, t.ID, t.Behavior, t.Status, t.Final, t.Rev, t.CreatedAt},
		Outcome: r.Outcome,
	}
}

// minimalOfMany is the answers to many, each as long as it is looked at.
func minimalOfMany(list []SubmitResult) iter.Seq[*minimalResult] {
	return func(yield func(*minimalResult) bool) {
		for i := range list {
			r := minimalResult{Error: list[i].Error}
			if list[i].SubmitReply != nil {
				r.minimalReply = minimalOf(list[i].SubmitReply)
			}
			if !yield(&r) {
				return
			}
		}
	}
}
