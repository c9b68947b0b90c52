package server

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/server/lean"
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
		Namespace: q.namespace(), Statuses: q.texts("status"), Behaviors: q.texts("behavior"), Parent: q.text("parent"), Errors: q.texts("error"),
		Labels: q.texts("label"), DueBefore: q.time("due_before"), Cursor: q.text("cursor"), Worker: q.text("worker"), Node: q.text("node"),
		IDPrefix: q.text("id_prefix"), Created: q.timeRange("created"), Started: q.timeRange("started"), Finished: q.timeRange("finished"),
		Final: q.either("final"), Desc: q.word("order") == "desc", Count: q.flag("count"), Fields: q.texts("fields"),
		Stale: q.stale(), MinIndex: q.number("min_index"), Limit: q.limit(),
	}
	if err := q.done(); err != nil {
		return err
	}
	shown, err := lean.Fields(req.Fields, api.Task{})
	if err != nil {
		return err
	}
	ctx, meta := r.call()
	reply, err := h.service.Tasks(ctx, req)
	if err != nil {
		return err
	}
	after := codec.AppendCounts(codec.CursorAfter(reply.Cursor), reply)
	if shown == nil {
		return answerList(w, meta, "tasks", slices.Values(reply.Tasks), after)
	}
	return answerList(w, meta, "tasks", func(yield func(json.RawMessage) bool) {
		for _, t := range reply.Tasks {
			if !yield(shown.Of(codec.Append(nil, t))) {
				return
			}
		}
	}, after)
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
	from := api.LogsGet{FromToken: q.number("from_token"), FromOffset: int64(min(q.number("from_offset"), math.MaxInt64))}
	if err := q.done(); err != nil {
		return err
	}
	ctx, meta := r.call()
	reply, err := h.service.Logs(ctx, ns, id, from)
	if err != nil {
		return err
	}
	if reply.Attempts == nil {
		reply.Attempts = []api.AttemptLog{}
	}
	return h.answer(w, http.StatusOK, meta, reply)
}
