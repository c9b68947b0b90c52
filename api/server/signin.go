package server

import (
	"context"
	"net/http"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
)

// desk returns who lets people and workloads sign in, for a request without a query.
func desk(h *handler, r *request) (auth.SignIn, error) {
	if err := r.query.done(); err != nil {
		return nil, err
	}
	if h.config.SignIn == nil {
		return nil, api.NewError(api.CodeIssuerNotFound, "this cluster is open: nobody signs in")
	}
	return h.config.SignIn, nil
}

// asking is an action that only asks.
func asking(call func(context.Context, auth.SignIn) (any, error)) action {
	return func(h *handler, w http.ResponseWriter, r *request) error {
		d, err := desk(h, r)
		if err != nil {
			return err
		}
		return h.reply(w, r, func(ctx context.Context) (any, error) { return call(ctx, d) })
	}
}

// signInPlaces is GET /v1/sign-in, and listIssuers GET /v1/issuers.
var (
	signInPlaces = asking(func(ctx context.Context, d auth.SignIn) (any, error) { return d.Places(ctx) })
	listIssuers  = asking(func(ctx context.Context, d auth.SignIn) (any, error) { return d.Issuers(ctx) })
)

// signIn is POST /v1/sign-in.
func signIn(h *handler, w http.ResponseWriter, r *request) error {
	d, err := desk(h, r)
	if err != nil {
		return err
	}
	if h.config.Gate != nil {
		if err := h.config.Gate.Guess(r.RemoteAddr); err != nil {
			leaveBody(w, r.Request)
			return err
		}
	}
	var req auth.SignInRequest
	release, err := h.readObject(w, r, &req, false)
	if err != nil {
		return err
	}
	defer release()
	return replySecret(h, w, r, http.StatusCreated, func(ctx context.Context) (any, error) { return d.SignIn(ctx, req) })
}

// signOut is DELETE /v1/self.
func signOut(h *handler, w http.ResponseWriter, r *request) error {
	d, err := desk(h, r)
	if err != nil {
		return err
	}
	return replyNothing(h, w, r, d.SignOut)
}

// putIssuer is PUT /v1/issuers/{name}.
func putIssuer(h *handler, w http.ResponseWriter, r *request) error {
	d, err := desk(h, r)
	if err != nil {
		return err
	}
	var req auth.Issuer
	release, err := h.readObject(w, r, &req, false)
	if err != nil {
		return err
	}
	defer release()
	if name := r.PathValue("name"); req.Name != "" && req.Name != name {
		return api.FieldError(api.CodeInvalidField, "name", "is not the one of the path")
	}
	req.Name = r.PathValue("name")
	return h.reply(w, r, func(ctx context.Context) (any, error) { return d.PutIssuer(ctx, req) })
}

// removeIssuer is DELETE /v1/issuers/{name}.
func removeIssuer(h *handler, w http.ResponseWriter, r *request) error {
	d, err := desk(h, r)
	if err != nil {
		return err
	}
	name := r.PathValue("name")
	return replyNothing(h, w, r, func(ctx context.Context) error { return d.RemoveIssuer(ctx, name) })
}
