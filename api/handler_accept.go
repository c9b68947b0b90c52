package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
)

// accept is POST /v1/behaviors/{name}/accept (SPEC J2). Tasks whose answer cannot be written are given back; a wait ends
// when its client hangs up or the server stops.
func (h *handler) accept(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r)
	var req AcceptRequest
	req.Namespace, req.Behavior = ofBehavior(r, q)
	if err := q.done(); err != nil {
		return err
	}
	release, err := h.readObject(w, r, &req, false)
	if err != nil {
		return err
	}
	release() // before the wait: what it waits for is small
	if req.RequestID == "" {
		req.RequestID = requestOf(keyedOf(r.Context()).key)
	}
	if err := req.Check(); err != nil {
		return err
	}
	ctx, meta := WithMeta(r.Context())
	ctx, cancel := untilStopping(ctx)
	defer cancel()
	reply, err := h.service.Accept(ctx, req)
	if err != nil && ctx.Err() != nil && r.Context().Err() == nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	delivered := false
	defer func() {
		if !delivered && reply.Undelivered != nil {
			reply.Undelivered()
		}
	}()
	// Looked at before writing only: who has got an answer may hang up at once.
	if r.Context().Err() != nil {
		return r.Context().Err()
	}
	delivered = writeList(w, meta, "tasks", slices.Values(notNil(reply.Tasks)), nil) == nil &&
		http.NewResponseController(w).Flush() == nil
	return nil
}

// requestOf makes a request_id of an Idempotency-Key, which may be longer.
func requestOf(key string) string {
	if len(key) <= MaxWorker {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
