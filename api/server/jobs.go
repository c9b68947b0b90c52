package server

import (
	"context"
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/jobs"
)

// jobRoutes are the routes of bulk jobs (SPEC Q3).
func jobRoutes() []route {
	summaries := map[jobs.Action]string{
		jobs.Cancel:   "Ask that all tasks that a filter selects end as CANCELLED, by a bulk job.",
		jobs.Retry:    "Make all tasks that a filter selects due again that failed, by a bulk job.",
		jobs.Resubmit: "Ask for another run of all tasks that a filter selects, by a bulk job.",
		jobs.Remove:   "Delete the records of all tasks that a filter selects, by a bulk job.",
	}
	var routes []route
	for _, a := range jobs.Actions {
		routes = append(routes, route{
			method: http.MethodPost, path: "/v1/tasks:" + string(a), id: string(a) + "Tasks", needs: in(auth.Steer), spaceInBody: true, serve: startJob(a),
			summary: summaries[a], query: []param{namespaceParam}, body: asJSON(jobs.JobRequest{}),
			answers: []success{
				{http.StatusCreated, "The job has begun.", asJSON(jobs.JobReply{})},
				{http.StatusOK, "It is a dry run: how many tasks are meant.", asJSON(jobs.JobReply{})},
			},
			errors: append([]string{"too_many_jobs", "level_too_low"}, writeErrors...),
		})
	}
	return append(routes, route{
		method: http.MethodGet, path: "/v1/jobs", id: "listJobs", needs: anyToken, serve: listJobs,
		summary: "List bulk jobs, the newest first.", query: []param{{name: "namespace", doc: "Those of this namespace; default: all."}},
		answers: []success{ok(jobs.JobList{})},
	}, route{
		method: http.MethodGet, path: "/v1/jobs/{id}", id: "getJob", needs: anyToken, serve: getJob,
		summary: "Get a bulk job.", answers: []success{ok(jobs.JobReply{})}, errors: []string{api.CodeJobNotFound},
	}, route{
		method: http.MethodPost, path: "/v1/jobs/{id}/cancel", id: "cancelJob", needs: anyToken, serve: cancelJob,
		summary: "End a bulk job. What it has done stays done.", body: asJSON(struct{}{}), bodyOptional: true,
		answers: []success{ok(jobs.JobReply{})}, errors: []string{api.CodeJobNotFound},
	})
}

// startJob is POST /v1/tasks:cancel and the like.
func startJob(a jobs.Action) action {
	return func(h *handler, w http.ResponseWriter, r *request) error {
		ns := r.query.text("namespace")
		if err := r.query.done(); err != nil {
			return err
		}
		var req jobs.JobRequest
		release, err := h.readObject(w, r, &req, false)
		if err != nil {
			return err
		}
		defer release()
		if req.Namespace, err = bodyNamespace(r, ns, req.Namespace); err != nil {
			return err
		}
		if h.config.Jobs == nil {
			return api.NewError(api.CodeNotFound, "this server has no bulk jobs")
		}
		status := map[bool]int{false: http.StatusCreated, true: http.StatusOK}[req.DryRun]
		return h.replyAs(w, r, status, func(ctx context.Context) (any, error) { return h.config.Jobs.Start(ctx, a, req) })
	}
}

// listJobs is GET /v1/jobs.
func listJobs(h *handler, w http.ResponseWriter, r *request) error {
	namespace := r.query.text("namespace")
	return ask(h, w, r, h.config.Jobs, func(ctx context.Context, x jobs.Jobs) (any, error) { return x.List(ctx, namespace) })
}

// getJob is GET /v1/jobs/{id}.
func getJob(h *handler, w http.ResponseWriter, r *request) error {
	return ask(h, w, r, h.config.Jobs, func(ctx context.Context, x jobs.Jobs) (any, error) { return x.Job(ctx, r.PathValue("id")) })
}

// cancelJob is POST /v1/jobs/{id}/cancel.
func cancelJob(h *handler, w http.ResponseWriter, r *request) error {
	return askWith(h, w, r, h.config.Jobs, func(ctx context.Context, x jobs.Jobs, _ struct{}) (any, error) {
		return x.Cancel(ctx, r.PathValue("id"))
	})
}
