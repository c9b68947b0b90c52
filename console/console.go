// Package console is the web console of a cluster (SPEC U1): pages that are embedded, and put before a handler of the API.
//
// A page is a client of the API like any other. What this package serves is the same for everybody, and holds no data.
package console

import (
	"net/http"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/server/pages"
	"github.com/taskrt/taskrt/api/server/session"
)

// Config configures New.
type Config struct {
	// Door refuses requests of pages of other origins (SPEC A6). It is that of the API.
	Door pages.Door
	// Gate says who makes a request. Nil: the cluster is open, and nobody signs in.
	Gate session.Gate
	// Cluster returns the ID of the cluster, "" as long as it is not known.
	Cluster func() string
}

// policy lets a page use what this server serves, and nothing else: no inline code, no frames, no other host.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// root is where the page is. Programs that ask there get the API's answer, as before there was a console.
const root = "/"

// handler serves the console, and hands on everything else.
type handler struct {
	api  http.Handler
	door pages.Door
	desk *session.Desk // nil: nobody signs in
}

// New puts the console before a handler of the API.
func New(next http.Handler, c Config) http.Handler {
	h := &handler{api: next, door: c.Door}
	if c.Gate != nil {
		h.desk = &session.Desk{Gate: c.Gate, Cluster: c.Cluster}
	}
	return h
}

// ServeHTTP serves the console, or the API for requests that a cookie may stand for.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case path == root && wantsPage(r):
		h.guarded(w, navigation(r), h.page)
	case strings.HasPrefix(path, assetPrefix):
		h.guarded(w, r, func(w http.ResponseWriter, r *http.Request) { embedded().file(w, r) })
	case h.desk == nil:
		h.api.ServeHTTP(w, r)
	case path == session.Path:
		h.guarded(w, r, h.desk.ServeHTTP)
	default:
		h.api.ServeHTTP(w, h.desk.Admit(r))
	}
}

func (h *handler) page(w http.ResponseWriter, r *http.Request) {
	access := openAccess
	if h.desk != nil {
		access = tokenAccess
	}
	embedded().page(w, r, access)
}

// guarded serves a request that the Door lets pass.
func (h *handler) guarded(w http.ResponseWriter, r *http.Request, serve http.HandlerFunc) {
	pages.Mark(w.Header())
	if err := h.door.Check(r); err != nil {
		http.Error(w, err.Error(), api.StatusOf(api.CodeOf(err)))
		return
	}
	serve(w, r)
}

// wantsPage reports whether a browser asks for a page, not a program for JSON.
func wantsPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// navigation lets the page be opened by a link on a page of another origin, in a tab of its own: what the page is to show it asks for itself,
// as the same origin. The page of the link gets nothing of it (Cross-Origin-Opener-Policy, frame-ancestors).
func navigation(r *http.Request) *http.Request {
	if r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document" {
		return r
	}
	typed := new(http.Request)
	*typed = *r
	typed.Header = r.Header.Clone()
	typed.Header.Set("Sec-Fetch-Site", "none")
	typed.Header.Del("Origin")
	return typed
}
