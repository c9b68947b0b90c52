package api

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"slices"
)

// submit is POST /v1/tasks: one task, or a batch if the body has "tasks" (SPEC H1).
func (h *handler) submit(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	ns, wait := q.text("namespace"), q.duration("wait")
	if err := q.done(); err != nil {
		return err
	}
	if err := (GetOptions{Wait: wait}).Check(); err != nil {
		return err
	}
	body, release, err := h.readJSON(w, r)
	if err != nil {
		return err
	}
	items, released := int64(0), false
	defer func() {
		if h.bodies.Release(items); !released {
			release()
		}
	}()
	t, bad := decodeTasks(body, func() bool {
		ok := h.bodies.TryAcquire(someItems * itemBytes)
		if ok {
			items += someItems * itemBytes
		}
		return ok
	})
	if bad != nil {
		return bad
	}
	if t.many && wait > 0 {
		return FieldError(CodeInvalidField, "wait", "is for one task; POST /v1/tasks:wait waits for many")
	}
	if t.many {
		return h.submitBatch(w, r, &t, ns)
	}
	if err := t.one.in(ns); err != nil {
		return err
	}
	keyedOf(r.Context()).namespace = cmp.Or(t.one.Namespace, DefaultNamespace)
	ctx, meta := WithMeta(r.Context())
	if wait == 0 && prefersMinimal(r.Header) {
		ctx = WithMinimal(ctx)
	}
	reply, err := h.service.Submit(ctx, t.one)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if reply.Outcome == "created" {
		status = http.StatusCreated
	}
	if wait > 0 {
		release() // the body is small beside the wait
		released = true
		h.doneAdding(w)
		if meta, err = h.awaitReply(r, reply, wait, meta.Index()); err != nil {
			return err
		}
	}
	if IsMinimal(ctx) {
		w.Header().Set(appliedHeader, returnMinimal)
		return h.answer(w, status, meta, minimalOf(reply))
	}
	return h.answer(w, status, meta, reply)
}

// submitBatch answers every item in order. Items that cannot be read are answered here; the rest goes to the Service in
// one call.
func (h *handler) submitBatch(w http.ResponseWriter, r *http.Request, t *tasksBody, ns string) error {
	if _, err := bodyNamespace(r, ns, t.namespace); err != nil {
		return err
	}
	if err := t.split(); err != nil {
		return err
	}
	ns = cmp.Or(ns, t.namespace) // if neither is given each task has its own
	results, requests, positions := make([]SubmitResult, len(t.items)), make([]SubmitRequest, 0, len(t.items)), make([]int, 0, len(t.items))
	for i := range t.items {
		if results[i].Error = t.items[i].decode(ns); results[i].Error == nil {
			requests, positions = append(requests, t.items[i].request), append(positions, i)
		}
	}
	ctx, meta := WithMeta(r.Context())
	if prefersMinimal(r.Header) {
		ctx = WithMinimal(ctx)
	}
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
	if IsMinimal(ctx) {
		w.Header().Set(appliedHeader, returnMinimal)
		return answerList(w, meta, "results", minimalOfMany(results), nil)
	}
	return answerList(w, meta, "results", pointers(results), nil)
}

// pointers is the elements of a list where they are.
func pointers[T any](list []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
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
		Namespace: q.namespace(), Statuses: q.texts("status"), Behavior: q.text("behavior"), Parent: q.text("parent"),
		Labels: q.texts("label"), DueBefore: q.time("due_before"), Cursor: q.text("cursor"),
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

// taskLogs is GET /v1/tasks/{id}/logs.
func (h *handler) taskLogs(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	ns, id := taskPath(r, q)
	if err := q.done(); err != nil {
		return err
	}
	ctx, meta := WithMeta(r.Context())
	reply, err := h.service.Logs(ctx, ns, id)
	if err != nil {
		return err
	}
	if reply.Attempts == nil {
		reply.Attempts = []AttemptLog{}
	}
	return h.answer(w, http.StatusOK, meta, reply)
}
