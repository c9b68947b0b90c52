package server

import (
	"iter"
	"net/http"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// prefersMinimal reads the preference "return". Other preferences mean nothing here. If "return" is given twice, the first
// counts (RFC 7240, section 2).
func prefersMinimal(h http.Header) bool {
	for _, field := range h.Values(codec.PreferHeader) {
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

func minimalOf(r *api.SubmitReply) *codec.MinimalReply {
	t := r.Task
	return &codec.MinimalReply{
		Task:    codec.MinimalTask{Namespace: t.Namespace, ID: t.ID, Behavior: t.Behavior, Status: t.Status, Final: t.Final, Rev: t.Rev, CreatedAt: t.CreatedAt},
		Outcome: r.Outcome,
	}
}

// minimalOfMany yields the short answers to many submits. It makes each answer when it is asked for.
func minimalOfMany(list []api.SubmitResult) iter.Seq[*codec.MinimalResult] {
	return func(yield func(*codec.MinimalResult) bool) {
		for i := range list {
			r := codec.MinimalResult{Error: list[i].Error}
			if list[i].SubmitReply != nil {
				r.MinimalReply = minimalOf(list[i].SubmitReply)
			}
			if !yield(&r) {
				return
			}
		}
	}
}
