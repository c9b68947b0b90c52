// Package server is the HTTP front of a cluster: New makes a handler that serves any api.Service, Serve runs the handler on a
// listener. The handler knows only api.Service.
package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/jobs"
	"github.com/taskrt/taskrt/api/membership"
	"github.com/taskrt/taskrt/api/server/admission"
	"github.com/taskrt/taskrt/api/server/keyed"
	"github.com/taskrt/taskrt/api/server/pages"
	"github.com/taskrt/taskrt/api/server/socket"
	"github.com/taskrt/taskrt/api/server/traced"
	"github.com/taskrt/taskrt/api/snapshot"
	"github.com/taskrt/taskrt/api/stream"
	"github.com/taskrt/taskrt/api/tracing"
)

// Config configures New.
type Config struct {
	Logger *slog.Logger // where internal errors and panics go; default: slog.Default()
	// BodyBytes bounds the request bodies held in memory at one time. A request beyond it is refused with 429 (SPEC H3).
	// Default 256 MiB.
	BodyBytes int64
	// AddingBytes bounds the bodies of requests that add work. These bodies do not count against BodyBytes. What is made of
	// them takes several times as much memory. Default 32 MiB, or BodyBytes if BodyBytes is less.
	AddingBytes int64
	// Requests bounds the requests under way, long polls included. A request beyond it is refused with 429. Default 20,000.
	Requests int64
	// BodyTimeout bounds how long a client may take to send a JSON body. Default 30 s. A module may take ten times as long.
	BodyTimeout time.Duration
	// Stopping ends when the server begins to stop. Long polls and streams end then, because Serve waits for all requests.
	// Default: it never ends.
	Stopping context.Context
	// Door refuses requests of web pages (SPEC A6). It knows by which names clients call this server. Default: by loopback names and
	// addresses only.
	Door pages.Door
	// Metrics serves GET /metrics. Default: there is no such path.
	Metrics http.Handler
	// Cluster returns the ID of the cluster that answers, "" as long as it is not known. Default: it is never known.
	Cluster func() string
	// Gate says who makes a request. Default: the cluster is open, and nobody is asked.
	Gate Gate
	// Access serves the routes of tokens. Default: there are no tokens.
	Access auth.Access
	// SignIn serves the routes of sign-in. Default: nobody signs in.
	SignIn auth.SignIn
	// Audit serves /v1/audit. Default: nothing is recorded.
	Audit auth.Audit
	// Members changes the members of the cluster. Default: nobody does.
	Members membership.Members
	// Jobs serves bulk jobs. Default: there are none.
	Jobs jobs.Jobs
	// Insight serves /v1/failures and /v1/tasks/{id}/why. Default: there is none.
	Insight insight.Insight
	// Snapshots saves backups of the cluster. Default: nobody does.
	Snapshots snapshot.Snapshots
	// OnRefusal, if set, is told of each request whose caller lacks a role. It must not block.
	OnRefusal func(auth.Refusal)
	// OnRequest, if set, is told of every request that was answered. route is the path of a route of the table, or "" for any
	// other request. trace is its header traceparent, as it came. OnRequest must not block.
	OnRequest func(route, method string, status int, took time.Duration, trace string)
	// OnProblem, if set, is told the code of each error that was answered: of a request, or of one entry of a batch.
	OnProblem func(code string)
	// Tracer makes spans of requests that make tasks due (SPEC U2). Default: nobody does.
	Tracer traced.Tracer
}

// handler serves any Service over HTTP (SPEC section 11).
type handler struct {
	service  api.Service
	config   Config
	log      *slog.Logger
	bodies   *semaphore.Weighted
	requests *semaphore.Weighted
	uploads  *semaphore.Weighted
	adding   admission.Control
	added    *semaphore.Weighted // bodies of requests that add work
	routes   *http.ServeMux
	open     map[string]bool         // paths of routes that web pages may ask for, too
	store    map[string]http.Handler // handlers below storePrefix, by their path in the table; see serveStore
	openapi  func() json.RawMessage  // returns the document, which is made once, when it is first asked for
}

// New serves s over HTTP.
func New(s api.Service, c Config) http.Handler {
	if c.Stopping == nil {
		c.Stopping = context.Background()
	}
	if c.Cluster == nil {
		c.Cluster = func() string { return "" }
	}
	c.Logger, c.BodyBytes = cmp.Or(c.Logger, slog.Default()), cmp.Or(c.BodyBytes, 256<<20)
	c.AddingBytes = cmp.Or(c.AddingBytes, min(32<<20, c.BodyBytes))
	c.Requests, c.BodyTimeout = cmp.Or(c.Requests, 20_000), cmp.Or(c.BodyTimeout, 30*time.Second)
	h := &handler{
		service: s, config: c, log: c.Logger, routes: http.NewServeMux(), open: map[string]bool{}, store: map[string]http.Handler{},
		bodies: semaphore.NewWeighted(c.BodyBytes), requests: semaphore.NewWeighted(c.Requests), uploads: semaphore.NewWeighted(maxUploads),
		added: semaphore.NewWeighted(c.AddingBytes),
	}
	h.openapi = sync.OnceValue(func() json.RawMessage { return codec.Encode(documentOf(routes())) })
	for _, r := range routes() {
		if r.needs.Scope == auth.Open && !strings.HasPrefix(r.path, "/v1/") {
			h.open[r.path] = true
		}
	}
	for path, byMethod := range byPath(routes()) {
		if strings.HasPrefix(path, codec.StorePrefix) {
			h.store[path] = h.methods(byMethod)
			continue
		}
		h.routes.Handle(path, h.methods(byMethod))
	}
	h.routes.HandleFunc("/", h.nothing)
	return h
}

// nothing answers requests for paths that no route has.
func (h *handler) nothing(w http.ResponseWriter, r *http.Request) {
	h.problem(w, r, api.NewError(api.CodeNotFound, "there is nothing at %.200s", r.URL.Path))
}

// byPath arranges a table of routes by path and method. HEAD is served as GET.
func byPath(table []route) map[string]map[string]*route {
	paths := map[string]map[string]*route{}
	for i := range table {
		r := &table[i]
		r.carried = r.onStream()
		if paths[r.path] == nil {
			paths[r.path] = map[string]*route{}
		}
		paths[r.path][r.method] = r
		if r.method == http.MethodGet {
			paths[r.path][http.MethodHead] = r
		}
	}
	return paths
}

// methods dispatches by method. net/http could do so, but would answer 405 in plain text.
func (h *handler) methods(byMethod map[string]*route) http.Handler {
	allow := slices.Sorted(maps.Keys(byMethod))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found, ok := byMethod[r.Method]
		if rec, is := w.(*recorder); is && ok {
			rec.route = found
		}
		if !ok {
			w.Header().Set("Allow", strings.Join(allow, ", "))
			h.problem(w, r, api.NewError(api.CodeMethodNotAllowed, "%.20s is not possible here; use %s", r.Method, strings.Join(allow, " or ")))
			return
		}
		if err := socket.Check(r, found.carried); err != nil {
			h.problem(w, r, err)
			return
		}
		known, err := enter(h, w, r, found)
		if err != nil {
			h.problem(w, r, err)
			return
		}
		r = known
		if found.traced {
			known, end := traced.Begin(r, found.path, h.config.Tracer)
			if rec, is := w.(*recorder); is && end != nil {
				defer func() { end(rec.status) }()
			}
			r = known
		}
		if found.body == nil && r.ContentLength != 0 {
			h.problem(w, r, api.NewError(api.CodeBadRequest, "%.20s takes no body here", r.Method))
			return
		}
		if err := h.serve(w, &request{Request: r, route: found}); err != nil {
			refused(h, r, found, "", err)
			h.problem(w, r, err)
		}
	})
}

// request is an HTTP request for a route, with what the handler knows of the request.
type request struct {
	*http.Request
	route  *route
	query  *query
	once   keyed.Once
	weight int // of a request that adds work and is under way; else 0
}

// call makes the context of the call that answers a request. The Service fills in the Meta, and does a request with a key once.
// The namespace and the body, which belong to the key, must be known before.
func (r *request) call() (context.Context, *api.Meta) {
	ctx, meta := api.WithMeta(r.Context())
	if r.once.Key != "" {
		ctx = api.WithOnce(ctx, r.once.Hashes(auth.PrincipalOf(ctx)))
	}
	return ctx, meta
}

// serve answers a request for a route.
func (h *handler) serve(w http.ResponseWriter, r *request) error {
	serve := func() (err error) {
		r.query = readQuery(r.URL, r.route.query)
		if r.once, err = readKey(r); err != nil {
			return err
		}
		return r.route.serve(h, w, r)
	}
	if r.route.adds {
		return h.admit(r, serve)
	}
	return serve()
}

// ServeHTTP keeps web pages out, bounds the requests under way, survives panics, and refuses unknown paths with a problem.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{ResponseWriter: w}
	if h.config.OnRequest != nil {
		defer h.tell(rec, r, time.Now())
	}
	defer func() {
		if p := recover(); p != nil {
			h.panicked(rec, r, p)
		}
	}()
	pages.Mark(w.Header())
	if r.URL.Path == stream.Path && h.config.Gate != nil {
		r = socket.Introduce(r)
	}
	if !h.open[r.URL.Path] { // SPEC A6
		if err := h.config.Door.Check(r); err != nil {
			leaveBody(w, r)
			h.problem(rec, r, err)
			return
		}
	}
	if !h.requests.TryAcquire(1) {
		h.problem(rec, r, api.NewError(api.CodeOverloaded, "%d requests are under way", h.config.Requests))
		return
	}
	defer h.requests.Release(1)
	if err := h.identify(rec, r); err != nil {
		h.problem(rec, r, err)
		return
	}
	if r.ContentLength == 0 {
		// The server's ReadTimeout must not end a long poll. A body that nobody reads keeps this deadline; readBody sets its
		// own.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	if strings.HasPrefix(r.URL.Path, codec.StorePrefix) {
		h.serveStore(rec, r)
		return
	}
	if path.Clean(r.URL.Path) != r.URL.Path || r.Method == http.MethodConnect || r.RequestURI == "*" {
		h.nothing(rec, r) // because net/http would redirect, or answer in plain text
		return
	}
	h.routes.ServeHTTP(rec, r)
}

// identify says in the answer which cluster answers, and refuses a request that names another one (SPEC C2): behind an address that a
// client knows stands another cluster by now. A request names a cluster before anything is done for it. A node that belongs to no cluster
// yet serves nobody who names one.
func (h *handler) identify(w http.ResponseWriter, r *http.Request) error {
	own, meant := h.config.Cluster(), r.Header.Get(codec.ClusterHeader)
	if own != "" {
		w.Header().Set(codec.ClusterHeader, own)
	}
	switch {
	case meant == "" || meant == own:
		return nil
	case own == "":
		return api.NewError(api.CodeNotReady, "this node belongs to no cluster yet")
	}
	return api.NewError(api.CodeOtherCluster, "this is cluster %s, not %.100q", own, meant)
}

func (h *handler) panicked(rec *recorder, r *http.Request, p any) {
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	h.log.Error("panic while answering", "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
	if rec.wrote {
		panic(http.ErrAbortHandler) // half an answer must not look like a whole one
	}
	h.problem(rec, r, api.NewError(api.CodeInternal, "the request failed inside the server; its log says why"))
}

// tell tells OnRequest of a request. It does not tell apart methods that no route has, because a client could make up any
// number of them.
func (h *handler) tell(rec *recorder, r *http.Request, begun time.Time) {
	route, method := "", ""
	if rec.route != nil {
		route, method = rec.route.path, r.Method
	}
	h.config.OnRequest(route, method, rec.status, time.Since(begun), r.Header.Get(tracing.Header))
}

// recorder remembers whether an answer has begun, with which status, and for which route.
type recorder struct {
	http.ResponseWriter
	wrote  bool
	status int    // 0: no status was sent
	route  *route // nil: no route has this path and method
}

func (w *recorder) WriteHeader(status int) {
	if !w.wrote {
		w.status = status
	}
	w.wrote = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(b []byte) (int, error) {
	if !w.wrote {
		w.status = http.StatusOK
	}
	w.wrote = true
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController find the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// problem writes err as problem+json (SPEC H3).
func (h *handler) problem(w http.ResponseWriter, r *http.Request, err error) {
	e := h.asError(r, err)
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="taskrt"`)
	}
	if e.RetryMS > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt((e.RetryMS+999)/1000, 10))
	}
	if strings.HasPrefix(r.URL.Path, codec.StorePrefix) {
		h.write(w, e.Status, codec.ProblemMedia, newStoreProblem(e))
		return
	}
	h.write(w, e.Status, codec.ProblemMedia, e)
}

// asError returns the *Error in err, complete. Any other error is internal: asError logs it, and the client does not see it.
func (h *handler) asError(r *http.Request, err error) *api.Error {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return h.typed(e)
	}
	if r.Context().Err() != nil || errors.Is(err, context.Canceled) {
		// The client has gone, or the server is stopping. What the request asked for may still happen.
		return h.typed(api.NewError(api.CodeOutcomeUnknown, "the request was given up before its outcome was known"))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return h.typed(api.NewError(api.CodeOutcomeUnknown, "the request took too long; its outcome is not known"))
	}
	h.log.Error("request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	return h.typed(api.NewError(api.CodeInternal, "the request failed inside the server; its log says why"))
}

// typed is a copy of an error as it is answered: complete, and with its type. It tells OnProblem.
func (h *handler) typed(e *api.Error) *api.Error {
	if h.config.OnProblem != nil {
		h.config.OnProblem(e.Code)
	}
	e = e.Complete()
	e.Type = api.TypeOf(e.Code)
	return e
}
