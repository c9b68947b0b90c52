package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// ofTask reads a request of one task into req. The namespace and the ID, which point to two fields of req, come from the URL,
// and the rest from the body. The Service checks what was read.
func (h *handler) ofTask(w http.ResponseWriter, r *request, req any, namespace, id *string, optional bool) (release func(), err error) {
	q := r.query
	ns, name := taskPath(r, q)
	if err := q.done(); err != nil {
		return nil, err
	}
	if release, err = h.readObject(w, r, req, optional); err != nil {
		return nil, err
	}
	*namespace, *id = ns, name
	return release, nil
}

// retryTask is POST /v1/tasks/{id}/retry (SPEC T1, B2).
func (h *handler) retryTask(w http.ResponseWriter, r *request) error {
	var req api.RetryRequest
	release, err := h.ofTask(w, r, &req, &req.Namespace, &req.ID, true)
	if err != nil {
		return err
	}
	defer release()
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		t, err := h.service.Retry(ctx, req)
		return codec.TaskAnswer{Task: t}, err
	})
}

// resubmitTask is POST /v1/tasks/{id}/resubmit (SPEC J5).
func (h *handler) resubmitTask(w http.ResponseWriter, r *request) error {
	var req api.ResubmitRequest
	release, err := h.ofTask(w, r, &req, &req.Namespace, &req.ID, true)
	if err != nil {
		return err
	}
	defer release()
	return h.reply(w, r, func(ctx context.Context) (any, error) { return h.service.Resubmit(ctx, req) })
}

// heartbeat is POST /v1/tasks/{id}/heartbeat (SPEC J3).
func (h *handler) heartbeat(w http.ResponseWriter, r *request) error {
	var req api.HeartbeatRequest
	release, err := h.ofTask(w, r, &req, &req.Namespace, &req.ID, false)
	if err != nil {
		return err
	}
	defer release()
	return h.reply(w, r, func(ctx context.Context) (any, error) { return h.service.Heartbeat(ctx, req) })
}

// finishTask is POST /v1/tasks/{id}/finish (SPEC J4).
func (h *handler) finishTask(w http.ResponseWriter, r *request) error {
	q := r.query
	ns, id := taskPath(r, q)
	if err := q.done(); err != nil {
		return err
	}
	var req api.FinishRequest
	release, err := h.readObject(w, r, &req, false)
	if err != nil {
		return err
	}
	defer release()
	if req.ID != "" && req.ID != id {
		return api.FieldError(api.CodeInvalidField, "id", "differs from the path's")
	}
	if req.Namespace != "" && req.Namespace != ns {
		return api.FieldError(api.CodeInvalidField, "namespace", "differs from the request's, %s", ns)
	}
	req.Namespace, req.ID = ns, id
	req.Minimal = codec.PrefersMinimal(r.Header)
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		reply, err := h.service.Finish(ctx, req)
		if err != nil || !req.Minimal {
			return reply, err
		}
		w.Header().Set(codec.AppliedHeader, codec.ReturnMinimal)
		return codec.MinimalFinish(reply), nil
	})
}

// finishMany is POST /v1/tasks:finish (SPEC J4).
func (h *handler) finishMany(w http.ResponseWriter, r *request) error {
	q := r.query
	ns := q.text("namespace")
	if err := q.done(); err != nil {
		return err
	}
	var body codec.Reports
	release, err := h.readObject(w, r, &body, false)
	if err != nil {
		return err
	}
	defer release()
	if body.Reports == nil {
		return api.FieldError(api.CodeInvalidField, "reports", "is required")
	}
	if ns, err = bodyNamespace(r, ns, body.Namespace); err != nil {
		return err
	}
	minimal := codec.PrefersMinimal(r.Header)
	for i := range body.Reports {
		f := &body.Reports[i]
		f.Namespace, f.Minimal = cmp.Or(f.Namespace, ns), minimal
	}
	ctx, meta := r.call()
	results, err := h.service.FinishMany(ctx, body.Reports)
	if err != nil {
		return err
	}
	for i := range results {
		if e := results[i].Error; e != nil {
			results[i].Error = h.typed(e)
			refused(h, r.Request, r.route, body.Reports[i].Namespace, e)
		}
	}
	if minimal {
		w.Header().Set(codec.AppliedHeader, codec.ReturnMinimal)
		return answerList(w, meta, "results", codec.ShortFinishes(results), nil)
	}
	return answerList(w, meta, "results", codec.Whole(results), nil)
}

// snoozeTask is POST /v1/tasks/{id}/snooze (SPEC J4, R5).
func (h *handler) snoozeTask(w http.ResponseWriter, r *request) error {
	var req api.SnoozeRequest
	release, err := h.ofTask(w, r, &req, &req.Namespace, &req.ID, false)
	if err != nil {
		return err
	}
	defer release()
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		t, err := h.service.Snooze(ctx, req)
		return codec.TaskAnswer{Task: t}, err
	})
}

// txn is POST /v1/txn (SPEC X1).
func (h *handler) txn(w http.ResponseWriter, r *request) error {
	q := r.query
	ns := q.text("namespace")
	if err := q.done(); err != nil {
		return err
	}
	body, release, err := h.readJSON(w, r)
	if err != nil {
		return err
	}
	defer release()
	if err := api.CheckTxnSize(len(body)); err != nil {
		return err
	}
	var req api.TxnRequest
	if bad := codec.Strict.Decode(body, &req); bad != nil {
		return bad
	}
	if req.Namespace, err = bodyNamespace(r, ns, req.Namespace); err != nil {
		return err
	}
	ctx, meta := r.call()
	reply, err := h.service.Txn(ctx, req)
	if err != nil {
		return err
	}
	return answerList(w, meta, "tasks", slices.Values(reply.Tasks), nil)
}
