package server

import (
	"context"
	"net/http"

	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/task/access"
)

// insightRoutes are the routes of questions about what does not go on (SPEC Q2, Q4).
func insightRoutes() []route {
	return []route{{
		method: http.MethodGet, path: "/v1/tasks/{id}/why", id: "whyTask", needs: in(auth.SeeTasks), serve: whyTask,
		summary: "Say why a task waits: all that stands in its way, what decides first.",
		query:   []param{namespaceParam}, answers: []success{ok(insight.WhyReply{})}, errors: taskErrors,
	}, {
		method: http.MethodGet, path: "/v1/failures", id: "listFailures", needs: in(access.Read), serve: listFailures,
		summary: "Group the tasks that have failed by behavior, version and code.",
		query: []param{
			namespaceParam,
			{name: "behavior", doc: "The behavior's name, in which * stands for any text; several: any of them.", repeat: true},
			{name: "error", doc: "The code of their error; several: any of them.", repeat: true},
			{name: "limit", kind: numberParam, doc: "Groups: 1 to 10000, default 100. All others are counted together."},
		},
		answers: []success{ok(insight.FailuresReply{})}, errors: namespaceErrors,
	}}
}

// listFailures is GET /v1/failures.
func listFailures(h *handler, w http.ResponseWriter, r *request) error {
	q := r.query
	req := insight.FailuresRequest{Namespace: q.namespace(), Behaviors: q.texts("behavior"), Errors: q.texts("error"), Limit: int(q.number("limit"))}
	if q.values.Has("limit") && req.Limit == 0 {
		req.Limit = -1 // so that Check refuses it
	}
	return ask(h, w, r, h.config.Insight, func(ctx context.Context, x insight.Insight) (any, error) { return x.Failures(ctx, req) })
}

// whyTask is GET /v1/tasks/{id}/why.
func whyTask(h *handler, w http.ResponseWriter, r *request) error {
	ns, id := taskPath(r, r.query)
	return ask(h, w, r, h.config.Insight, func(ctx context.Context, x insight.Insight) (any, error) { return x.Why(ctx, ns, id) })
}
