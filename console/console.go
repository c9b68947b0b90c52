// Package console is the web console of a cluster (SPEC U1): pages that are embedded, and put before a handler of the API.
//
// A page is a client of the API like any other. What this package serves is the same for everybody, and holds no data.
package console

import (
	"net/http"
	"strings"

	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/server/pages"
	"github.com/taskrt/taskrt/api/server/session"
)

// Config configures New.
type Config struct {
	// Door refuses requests of pages of other origins (SPEC A6). It is that of the API.
	Door pages.Door
	// Gate says who makes a request. Nil: the cluster is open, and nobody signs in.
	Gate session.Gate
	// Devices are by whom browsers sign in at an issuer of OpenID Connect. Nil: they cannot (SPEC A7).
	Devices auth.Devices
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
		h.desk = &session.Desk{Gate: c.Gate, Cluster: c.Cluster, Devices: c.Devices}
	}
	return h
}

// ServeHTTP serves the console, or the API for requests that a cookie may stand for.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case path == root && wantsPage(r):
		h.door.Keep(http.HandlerFunc(h.page)).ServeHTTP(w, pages.Visit(r))
	case strings.HasPrefix(path, assetPrefix):
		h.door.Keep(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { embedded().file(w, r) })).ServeHTTP(w, r)
	case h.desk == nil:
		h.api.ServeHTTP(w, r)
	case path == session.Path:
		h.door.Keep(h.desk).ServeHTTP(w, r)
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

// wantsPage reports whether a browser asks for a page, not a program for JSON.
func wantsPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html")
}
