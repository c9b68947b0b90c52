package server

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
)

// Gate knows who makes a request (SPEC A4, A9).
type Gate interface {
	// Enter returns who makes a request, by the value of its header Authorization, and by the address that it comes from. An
	// error is an *api.Error.
	Enter(authorization, addr string) (*auth.Principal, error)
	// Guess counts an attempt from an address to get in without a token. An error, an *api.Error, says that there were too many.
	Guess(addr string) error
}

// enter finds out who makes a request, and refuses a caller that may not make it. It does so before anything is looked up and before a byte of the
// body is read (SPEC A5, A9). Nothing is asked in a cluster that is open.
func enter(h *handler, w http.ResponseWriter, r *http.Request, to *route) (*http.Request, error) {
	if h.config.Gate == nil || to.needs.Scope == auth.Open {
		return r, nil
	}
	p, err := h.config.Gate.Enter(r.Header.Get("Authorization"), r.RemoteAddr)
	if err != nil {
		leaveBody(w, r)
		return nil, err
	}
	ctx := auth.WithPrincipal(r.Context(), p)
	if err := to.check(p, r); err != nil {
		refused(h, r.WithContext(ctx), to, "", err)
		return nil, err
	}
	if to.changes() && p.Grant.Roles&auth.Audited != 0 {
		ctx = auth.WithTrail(ctx, to.trail(p, r))
	}
	return r.WithContext(ctx), nil
}

// trail is what the audit says of a request for the route (SPEC A8). Whether it is recorded the Service decides if that depends on what the
// request is about.
func (to *route) trail(p *auth.Principal, r *http.Request) *auth.Trail {
	c := &auth.Trail{From: r.RemoteAddr, Route: to.method + " " + to.path}
	if to.needs.Marks(p) {
		c.Mark()
	}
	return c
}

// leaveBody makes net/http close the connection of a request that is refused, instead of reading its body to the end (SPEC A9).
func leaveBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
}

// check returns an error if a principal may not use the route for the request. The Service looks at the same again, and at what
// only the body and the state say.
func (to *route) check(p *auth.Principal, r *http.Request) error {
	rule, namespace := to.needs, ""
	switch rule.Scope {
	case auth.Namespace, auth.Behavior, auth.Whole:
		if strings.HasPrefix(to.path, "/v1/namespaces/") {
			namespace = r.PathValue("name")
			if err := api.CheckNamespaceName(namespace); err != nil {
				return err
			}
			break
		}
		namespace = r.URL.Query().Get("namespace")
		if namespace == "" && to.spaceInBody {
			rule.Scope = auth.Somewhere
		} else if err := api.CheckNamespace(&namespace); err != nil {
			return err
		}
	}
	return rule.Check(p, namespace, r.PathValue("name"))
}

// refused tells of a request, or of a part of one, whose caller lacks a role for the route (SPEC A8). A part says its namespace.
func refused(h *handler, r *http.Request, to *route, namespace string, err error) {
	p := auth.PrincipalOf(r.Context())
	switch to.needs.Scope {
	case auth.Namespace, auth.Behavior, auth.Whole:
		if strings.HasPrefix(to.path, "/v1/namespaces/") {
			namespace = r.PathValue("name")
		} else if namespace = cmp.Or(namespace, r.URL.Query().Get("namespace")); namespace == "" && !to.spaceInBody {
			namespace = api.DefaultNamespace
		}
	}
	if h.config.OnRefusal != nil && auth.LacksRole(p, namespace, err) {
		h.config.OnRefusal(auth.Refusal{Token: p.Number, From: r.RemoteAddr, Route: to.method + " " + to.path, Namespace: namespace})
	}
}
