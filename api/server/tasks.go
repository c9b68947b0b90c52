package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// taskPath reads what every route of one task has: the ID in the path, and the namespace.
func taskPath(r *request, q *query) (namespace, id string) {
	id = r.PathValue("id")
	if err := api.CheckID(id); err != nil {
		q.fail(err)
	}
	return q.namespace(), id
}

// getTask is GET /v1/tasks/{id} (SPEC W1, W4).
func (h *handler) getTask(w http.ResponseWriter, r *request) error {
	q := r.query
	ns, id := taskPath(r, q)
	o := api.GetOptions{
		Wait: q.duration("wait"), Until: q.text("until"), Since: q.number("since"),
		Stale: q.stale(), MinIndex: q.number("min_index"),
	}
	if err := q.done(); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	return h.replyAfter(w, r, o.Wait, func(ctx context.Context) (any, error) {
		t, err := h.service.Task(ctx, ns, id, o)
		return codec.TaskAnswer{Task: t}, err
	})
}

// listTasks is GET /v1/tasks (SPEC H1).
func (h *handler) listTasks(w http.ResponseWriter, r *request) error {
	q := r.query
	req := api.ListRequest{
		Namespace: q.namespace(), Statuses: q.texts("status"), Behavior: q.text("behavior"), Parent: q.text("parent"),
		Labels: q.texts("label"), DueBefore: q.time("due_before"), Cursor: q.text("cursor"),
		Stale: q.stale(), MinIndex: q.number("min_index"), Limit: q.limit(),
	}
	if err := q.done(); err != nil {
		return err
	}
	ctx, meta := r.call()
	reply, err := h.service.Tasks(ctx, req)
	if err != nil {
		return err
	}
	return answerList(w, meta, "tasks", slices.Values(reply.Tasks), codec.CursorAfter(reply.Cursor))
}

// cancelTask is POST /v1/tasks/{id}/cancel. It answers 200 if the cancel is done, 202 if the worker is being told (SPEC H1,
// L8).
func (h *handler) cancelTask(w http.ResponseWriter, r *request) error {
	q := r.query
	ns, id := taskPath(r, q)
	if err := q.done(); err != nil {
		return err
	}
	if err := h.noBody(w, r); err != nil {
		return err
	}
	ctx, meta := r.call()
	reply, err := h.service.Cancel(ctx, ns, id)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if reply.Told {
		status = http.StatusAccepted
	}
	return h.answer(w, status, meta, reply)
}

// removeTask is DELETE /v1/tasks/{id} (SPEC L9).
func (h *handler) removeTask(w http.ResponseWriter, r *request) error {
	q := r.query
	ns, id := taskPath(r, q)
	if err := q.done(); err != nil {
		return err
	}
	ctx, _ := r.call()
	if err := h.service.Remove(ctx, ns, id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// taskLogs is GET /v1/tasks/{id}/logs.
func (h *handler) taskLogs(w http.ResponseWriter, r *request) error {
	q := r.query
	ns, id := taskPath(r, q)
	if err := q.done(); err != nil {
		return err
	}
	ctx, meta := r.call()
	reply, err := h.service.Logs(ctx, ns, id)
	if err != nil {
		return err
	}
	if reply.Attempts == nil {
		reply.Attempts = []api.AttemptLog{}
	}
	return h.answer(w, http.StatusOK, meta, reply)
}
