package server

import (
	"context"
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
)

// manager returns who manages tokens.
func manager(h *handler) (auth.Access, error) {
	if h.config.Access == nil {
		return nil, api.NewError(api.CodeTokenNotFound, "this cluster is open: it has no tokens")
	}
	return h.config.Access, nil
}

// ofToken reads what every route of one token has: the name in the path, and no query.
func ofToken(h *handler, r *request) (a auth.Access, name string, err error) {
	if err := r.query.done(); err != nil {
		return nil, "", err
	}
	name = r.PathValue("name")
	if err := auth.CheckName(name); err != nil {
		return nil, "", err
	}
	a, err = manager(h)
	return a, name, err
}

// listTokens is GET /v1/tokens.
func listTokens(h *handler, w http.ResponseWriter, r *request) error {
	req := auth.TokensRequest{Limit: r.query.limit(), Cursor: r.query.text("cursor")}
	if err := r.query.done(); err != nil {
		return err
	}
	a, err := manager(h)
	if err != nil {
		return err
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		reply, err := a.Tokens(ctx, req)
		if err == nil {
			reply.Tokens = notNil(reply.Tokens)
		}
		return reply, err
	})
}

// createToken is POST /v1/tokens.
func createToken(h *handler, w http.ResponseWriter, r *request) error {
	if err := r.query.done(); err != nil {
		return err
	}
	a, err := manager(h)
	if err != nil {
		return err
	}
	var req auth.CreateTokenRequest
	release, err := h.readObject(w, r, &req, false)
	if err != nil {
		return err
	}
	defer release()
	return replySecret(h, w, r, http.StatusCreated, func(ctx context.Context) (any, error) { return a.CreateToken(ctx, req) })
}

// replySecret is replyAs for an answer with a credential, which nobody between here and the client may keep.
func replySecret(h *handler, w http.ResponseWriter, r *request, status int, call func(context.Context) (any, error)) error {
	w.Header().Set("Cache-Control", "no-store")
	return h.replyAs(w, r, status, call)
}

// getToken is GET /v1/tokens/{name}.
func getToken(h *handler, w http.ResponseWriter, r *request) error {
	a, name, err := ofToken(h, r)
	if err != nil {
		return err
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) { return a.Token(ctx, name) })
}

// revokeToken is DELETE /v1/tokens/{name}.
func revokeToken(h *handler, w http.ResponseWriter, r *request) error {
	a, name, err := ofToken(h, r)
	if err != nil {
		return err
	}
	return replyNothing(h, w, r, func(ctx context.Context) error { return a.RevokeToken(ctx, name) })
}

// replyNothing answers 204 after a call without a result.
func replyNothing(h *handler, w http.ResponseWriter, r *request, call func(context.Context) error) error {
	ctx, meta := r.call()
	if err := call(ctx); err != nil {
		return err
	}
	setIndexHeader(w, meta)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// rotateToken is POST /v1/tokens/{name}/rotate.
func rotateToken(h *handler, w http.ResponseWriter, r *request) error {
	a, name, err := ofToken(h, r)
	if err != nil {
		return err
	}
	var req auth.RotateTokenRequest
	release, err := h.readObject(w, r, &req, true)
	if err != nil {
		return err
	}
	defer release()
	req.Name = name
	return replySecret(h, w, r, http.StatusOK, func(ctx context.Context) (any, error) { return a.RotateToken(ctx, req) })
}

// disableRoot is POST /v1/tokens:disable-root.
func disableRoot(h *handler, w http.ResponseWriter, r *request) error {
	if err := r.query.done(); err != nil {
		return err
	}
	if err := h.noBody(w, r); err != nil {
		return err
	}
	a, err := manager(h)
	if err != nil {
		return err
	}
	return replyNothing(h, w, r, a.DisableRoot)
}

// getSelf is GET /v1/self.
func getSelf(h *handler, w http.ResponseWriter, r *request) error {
	if err := r.query.done(); err != nil {
		return err
	}
	a, err := manager(h)
	if err != nil {
		return err
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) { return a.Self(ctx) })
}
