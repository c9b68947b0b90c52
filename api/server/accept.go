package server

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/server/socket"
)

// accept is POST /v1/behaviors/{name}/accept (SPEC J2). If the answer cannot be written, its tasks are given back, and so are
// those of an accept over a stream that is cancelled, however late. A wait ends when the client hangs up or the server stops.
func (h *handler) accept(w http.ResponseWriter, r *request) error {
	q := r.query
	var req api.AcceptRequest
	req.Namespace, req.Behavior = ofBehavior(r, q)
	if err := q.done(); err != nil {
		return err
	}
	release, err := h.readObject(w, r, &req, false)
	if err != nil {
		return err
	}
	release() // before the wait, which needs no body
	if req.RequestID == "" {
		req.RequestID = codec.RequestID(r.once.Key)
	}
	if err := req.Check(); err != nil {
		return err
	}
	ctx, meta := r.call()
	reply, err := waiting(ctx, h, func(ctx context.Context) (*api.AcceptReply, error) { return h.service.Accept(ctx, req) })
	if err != nil {
		return err
	}
	delivered, undo := false, func() {}
	if reply.Undelivered != nil {
		undo = sync.OnceFunc(reply.Undelivered)
		socket.IfUnwanted(r.Context(), undo)
	}
	defer func() {
		if !delivered {
			undo()
		}
	}()
	// This looks before the answer is written, not afterwards: a client that has the answer may hang up at once.
	if r.Context().Err() != nil {
		return r.Context().Err()
	}
	delivered = writeList(w, meta, "tasks", slices.Values(notNil(reply.Tasks)), nil) == nil &&
		http.NewResponseController(w).Flush() == nil
	return nil
}
