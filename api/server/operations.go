package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
)

// startOperation is POST /v1/operations (SPEC O1).
func (h *handler) startOperation(w http.ResponseWriter, r *request) error {
	q := r.query
	ns := q.text("namespace")
	if err := q.done(); err != nil {
		return err
	}
	var req api.StartOperationRequest
	release, err := h.readObject(w, r, &req, false)
	if err != nil {
		return err
	}
	defer release()
	if req.Namespace, err = bodyNamespace(r, ns, req.Namespace); err != nil {
		return err
	}
	return h.replyAs(w, r, http.StatusCreated, func(ctx context.Context) (any, error) {
		o, err := h.service.StartOperation(ctx, req)
		return codec.OperationAnswer{Operation: o}, err
	})
}

// operationPath reads what every route of one operation has: the ID in the path, and the namespace.
func operationPath(r *request, q *query) (namespace, id string) {
	id = r.PathValue("id")
	if err := api.CheckOperationID(id); err != nil {
		q.fail(err)
	}
	return q.namespace(), id
}

// getOperation is GET /v1/operations/{id}.
func (h *handler) getOperation(w http.ResponseWriter, r *request) error {
	q := r.query
	ns, id := operationPath(r, q)
	o := api.OperationGet{Wait: q.duration("wait"), Until: q.text("until"), Stale: q.stale(), MinIndex: q.number("min_index")}
	if err := q.done(); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	return h.replyAfter(w, r, o.Wait, func(ctx context.Context) (any, error) {
		op, err := h.service.Operation(ctx, ns, id, o)
		return codec.OperationAnswer{Operation: op}, err
	})
}

// listOperations is GET /v1/operations.
func (h *handler) listOperations(w http.ResponseWriter, r *request) error {
	q := r.query
	req := api.OperationsRequest{
		Namespace: q.namespace(), Status: q.text("status"), Behavior: q.text("behavior"), Target: q.text("target"),
		Limit: q.limit(), Cursor: q.text("cursor"), Stale: q.stale(), MinIndex: q.number("min_index"),
	}
	if err := q.done(); err != nil {
		return err
	}
	ctx, meta := r.call()
	reply, err := h.service.Operations(ctx, req)
	if err != nil {
		return err
	}
	return answerList(w, meta, "operations", slices.Values(reply.Operations), codec.CursorAfter(reply.Cursor))
}

// listPartitions is GET /v1/operations/{id}/partitions.
func (h *handler) listPartitions(w http.ResponseWriter, r *request) error {
	q := r.query
	ns, id := operationPath(r, q)
	req := api.PartitionsRequest{Namespace: ns, ID: id, Status: q.text("status"), Limit: q.limit(), Cursor: q.text("cursor")}
	if err := q.done(); err != nil {
		return err
	}
	ctx, meta := r.call()
	reply, err := h.service.Partitions(ctx, req)
	if err != nil {
		return err
	}
	return answerList(w, meta, "tasks", slices.Values(reply.Tasks), codec.CursorAfter(reply.Cursor))
}

// changeOperation is POST /v1/operations/{id}/cancel and …/retry (SPEC O3).
func changeOperation(change func(s api.Service, ctx context.Context, namespace, id string) (*api.Operation, error)) action {
	return func(h *handler, w http.ResponseWriter, r *request) error {
		q := r.query
		ns, id := operationPath(r, q)
		if err := q.done(); err != nil {
			return err
		}
		if err := h.noBody(w, r); err != nil {
			return err
		}
		return h.reply(w, r, func(ctx context.Context) (any, error) {
			o, err := change(h.service, ctx, ns, id)
			return codec.OperationAnswer{Operation: o}, err
		})
	}
}

// removeOperation is DELETE /v1/operations/{id} (SPEC O6).
func (h *handler) removeOperation(w http.ResponseWriter, r *request) error {
	q := r.query
	ns, id := operationPath(r, q)
	if err := q.done(); err != nil {
		return err
	}
	ctx, _ := r.call()
	if err := h.service.RemoveOperation(ctx, ns, id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
