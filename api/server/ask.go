package server

import (
	"context"
	"net/http"

	"github.com/taskrt/taskrt/api"
)

// ask answers what call returns of a part of the server, an interface that is nil where the server does not have the part.
func ask[P any](h *handler, w http.ResponseWriter, r *request, part P, call func(context.Context, P) (any, error)) error {
	if err := r.query.done(); err != nil {
		return err
	}
	if any(part) == nil {
		return api.NewError(api.CodeNotFound, "this server does not answer that")
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) { return call(ctx, part) })
}

// askWith is ask with an object in the body, which may be left out.
func askWith[P, Q any](h *handler, w http.ResponseWriter, r *request, part P, call func(context.Context, P, Q) (any, error)) error {
	var q Q
	release, err := h.readObject(w, r, &q, true)
	if err != nil {
		return err
	}
	defer release()
	return ask(h, w, r, part, func(ctx context.Context, p P) (any, error) { return call(ctx, p, q) })
}
