package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
)

// submit is POST /v1/tasks: one task, or a batch if the body has "tasks" (SPEC H1).
func (h *handler) submit(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	ns := q.text("namespace")
	if err := q.done(); err != nil {
		return err
	}
	body, release, err := h.readJSON(w, r)
	if err != nil {
		return err
	}
	defer release()
	if err := checkJSON(body); err != nil {
		return err
	}
	batch := false
	if err := eachMember(body, "", func(name string, _ []byte) *Error {
		batch = batch || name == "tasks"
		return nil
	}); err != nil {
		return err
	}
	if batch {
		return h.submitBatch(w, r, body, ns)
	}
	req, bad := decodeSubmit(body, "", ns)
	if bad != nil {
		return bad
	}
	keyedOf(r.Context()).namespace = req.Namespace
	ctx, meta := WithMeta(r.Context())
	reply, err := h.service.Submit(ctx, req)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if reply.Outcome == "created" {
		status = http.StatusCreated
	}
	return h.answer(w, status, meta, reply)
}

// decodeSubmit decodes and checks one submit; ns is the namespace of the query string, "" if none.
func decodeSubmit(b []byte, path, ns string) (SubmitRequest, *Error) {
	var req SubmitRequest
	if err := decodeObject(b, &req, path); err != nil {
		return req, err
	}
	if req.Namespace == "" {
		req.Namespace = ns
	}
	if ns != "" && req.Namespace != ns {
		return req, FieldError(CodeInvalidField, "namespace", "differs from the query parameter")
	}
	err := req.check() // it also brings req into its one form
	return req, err
}

// submitBatch answers every item in order. Items that are wrong by themselves are answered here; the rest goes to the
// Service in one call.
func (h *handler) submitBatch(w http.ResponseWriter, r *http.Request, body []byte, ns string) error {
	var envelope struct { // submitMany, whose tasks are decoded one by one
		Namespace string          `json:"namespace"`
		Tasks     json.RawMessage `json:"tasks"`
	}
	if err := decodeObject(body, &envelope, ""); err != nil {
		return err
	}
	if _, err := bodyNamespace(r, ns, envelope.Namespace); err != nil {
		return err
	}
	ns = cmp.Or(ns, envelope.Namespace) // if neither is given each task has its own
	if envelope.Tasks[0] != '[' {
		return FieldError(CodeInvalidField, "tasks", "must be a list")
	}
	items := 0
	eachElement(envelope.Tasks, func(i int, _ []byte) bool { items = i + 1; return i <= MaxBatch })
	if items > MaxBatch { // counted before anything is decoded: 8 MiB of `{},` would be much more in memory
		return LimitError("tasks", MaxBatch, "more than %d tasks", MaxBatch)
	}
	results, requests, positions := make([]SubmitResult, items), make([]SubmitRequest, 0, items), make([]int, 0, items)
	eachElement(envelope.Tasks, func(i int, value []byte) bool {
		req, bad := decodeItem(value, ns)
		if bad != nil {
			results[i].Error = bad
			return true
		}
		requests, positions = append(requests, req), append(positions, i)
		return true
	})
	ctx, meta := WithMeta(r.Context())
	if len(requests) > 0 {
		answers, err := h.service.SubmitBatch(ctx, requests)
		if err != nil {
			return err
		}
		for i, at := range positions {
			results[at] = answers[i]
			if e := results[at].Error; e != nil {
				results[at].Error = e.complete()
			}
		}
	}
	return answerList(w, meta, "results", slices.Values(results), nil)
}

func decodeItem(value []byte, ns string) (SubmitRequest, *Error) {
	if value[0] != '{' {
		return SubmitRequest{}, NewError(CodeInvalidJSON, "a task must be an object")
	}
	return decodeSubmit(value, "", ns)
}

// taskPath reads what every route of one task has: the ID of the path and the namespace.
func taskPath(r *http.Request, q *query) (namespace, id string) {
	id = r.PathValue("id")
	if err := checkID(id); err != nil {
		q.fail(err)
	}
	return q.namespace(), id
}

// getTask is GET /v1/tasks/{id} (SPEC W1, W4).
func (h *handler) getTask(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	ns, id := taskPath(r, q)
	o := GetOptions{
		Wait: q.duration("wait"), Until: q.text("until"), Since: q.number("since"),
		Stale: q.stale(), MinIndex: q.number("min_index"),
	}
	if err := q.done(); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	ctx, meta := WithMeta(r.Context())
	if o.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = untilStopping(ctx)
		defer cancel()
	}
	t, err := h.service.Task(ctx, ns, id, o)
	if err != nil && ctx.Err() != nil && r.Context().Err() == nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return h.answer(w, http.StatusOK, meta, taskAnswer{t})
}

// listTasks is GET /v1/tasks (SPEC H1).
func (h *handler) listTasks(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	req := ListRequest{
		Namespace: q.namespace(), Status: q.text("status"), Behavior: q.text("behavior"), Parent: q.text("parent"),
		Label: q.text("label"), NotBefore: q.time("not_before"), Cursor: q.text("cursor"),
		Stale: q.stale(), MinIndex: q.number("min_index"),
	}
	if n := q.number("limit"); q.values.Has("limit") {
		if n == 0 || n > MaxListLimit {
			n = MaxListLimit + 1 // refused by Check with its words
		}
		req.Limit = int(n)
	}
	if err := q.done(); err != nil {
		return err
	}
	if err := req.Check(); err != nil {
		return err
	}
	ctx, meta := WithMeta(r.Context())
	reply, err := h.service.Tasks(ctx, req)
	if err != nil {
		return err
	}
	var after []byte
	if reply.Cursor != "" {
		after = append([]byte(`,"cursor":`), encode(reply.Cursor)...)
	}
	return answerList(w, meta, "tasks", slices.Values(reply.Tasks), after)
}

// cancelTask is POST /v1/tasks/{id}/cancel: 200 done, 202 told (SPEC H1, L8).
func (h *handler) cancelTask(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	ns, id := taskPath(r, q)
	if err := q.done(); err != nil {
		return err
	}
	if err := h.noBody(w, r); err != nil {
		return err
	}
	ctx, meta := WithMeta(r.Context())
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
func (h *handler) removeTask(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	ns, id := taskPath(r, q)
	if err := q.done(); err != nil {
		return err
	}
	if err := h.service.Remove(r.Context(), ns, id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// taskLog is GET /v1/tasks/{id}/log.
func (h *handler) taskLog(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	ns, id := taskPath(r, q)
	if err := q.done(); err != nil {
		return err
	}
	ctx, meta := WithMeta(r.Context())
	reply, err := h.service.Log(ctx, ns, id)
	if err != nil {
		return err
	}
	if reply.Attempts == nil {
		reply.Attempts = []AttemptLog{}
	}
	return h.answer(w, http.StatusOK, meta, reply)
}
