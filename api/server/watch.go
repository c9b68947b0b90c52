package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/server/socket"
	"github.com/taskrt/taskrt/api/server/stream"
)

// waitTasks is POST /v1/tasks:wait (SPEC W2).
func (h *handler) waitTasks(w http.ResponseWriter, r *request) error {
	q := r.query
	ns, stale, minIndex := q.text("namespace"), q.stale(), q.number("min_index")
	if err := q.done(); err != nil {
		return err
	}
	var req api.WaitRequest
	release, err := h.readObject(w, r, &req, false)
	if err != nil {
		return err
	}
	release() // before the wait, which needs no body
	if req.Namespace, err = bodyNamespace(r, ns, req.Namespace); err != nil {
		return err
	}
	req.Stale, req.MinIndex = stale, minIndex
	if err := req.Check(); err != nil {
		return err
	}
	ctx, meta := r.call()
	reply, err := waiting(ctx, h, func(ctx context.Context) (*api.WaitReply, error) { return h.service.WaitTasks(ctx, req) })
	if err != nil {
		return err
	}
	return answerList(w, meta, "tasks", slices.Values(reply.Tasks), append([]byte(`,"timed_out":`), codec.Encode(reply.TimedOut)...))
}

// events is GET /v1/events (SPEC W3).
func (h *handler) events(w http.ResponseWriter, r *request) error {
	q := r.query
	req := api.EventsRequest{
		Namespace: q.namespace(), Behavior: q.text("behavior"), IDs: q.texts("id"), Parent: q.text("parent"), Status: q.text("status"),
	}
	if err := q.done(); err != nil {
		return err
	}
	if err := stream.LastEvent(r.Header, &req.After, &req.HasAfter); err != nil {
		return err
	}
	if err := req.Check(); err != nil {
		return err
	}
	return streamTo(h, w, r, req.After, func(ctx context.Context) (api.EventStream, error) { return h.service.Events(ctx, req) })
}

// streamTo answers with a stream, which goes on after an event.
func streamTo(h *handler, w http.ResponseWriter, r *request, after uint64, open func(context.Context) (api.EventStream, error)) error {
	ctx, meta := r.call()
	ctx, cancel := h.untilStopping(ctx)
	defer cancel()
	events, err := open(ctx)
	if err != nil {
		return err
	}
	defer events.Close()
	setIndexHeader(w, meta)
	if socket.Over(ctx) {
		if err := stream.Write(ctx, w, events, after); r.Context().Err() == nil {
			return err // which says why the watch has ended
		}
		w.WriteHeader(http.StatusOK) // the client has ended it
		return nil
	}
	head(w, codec.EventMedia)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // else nginx would keep events back
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	_ = stream.Write(ctx, w, events, after)
	return nil
}
