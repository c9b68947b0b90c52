package server

import (
	"net/http"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/server/socket"
	"github.com/taskrt/taskrt/task/access"
)

// route is one method of one path. The table of routes is the single definition of the HTTP API. The handler dispatches by it,
// and refuses query parameters that are not in it. GET /openapi.json is made from it.
type route struct {
	method, path string
	id           string // operationId in the document: the name in generated clients
	summary      string
	query        []param
	header       []param // besides Idempotency-Key, which every route has that changes something
	body         []media // the body has one of these forms; empty: there is no body
	bodyOptional bool
	answers      []success
	errors       []string // codes that it may answer, besides those that errorsOf adds
	problem      any      // fields that its problems have, besides the fields of Error
	adds         bool     // it adds work for the cluster: it is refused first when there is too much
	needs        auth.Rule
	spaceInBody  bool // the body may name the namespace, instead of the query
	traced       bool // what it makes due keeps the trace context of the request (SPEC U2)
	serve        action

	carried socket.Carried // by a stream: byPath fills it in
}

// in asks for one of the roles in the namespace of the query, or of the path below /v1/namespaces. What a route finds in the
// namespace is looked at by the Service, task by task.
func in(one access.Roles) auth.Rule { return auth.Rule{Scope: auth.Namespace, Of: one} }

// of asks for one of the roles for the path's behavior.
func of(one access.Roles) auth.Rule { return auth.Rule{Scope: auth.Behavior, Of: one} }

// whole asks for one of the roles for every behavior of the namespace.
func whole(one access.Roles) auth.Rule { return auth.Rule{Scope: auth.Whole, Of: one} }

// somewhere asks for one of the roles in some namespace.
func somewhere(one access.Roles) auth.Rule { return auth.Rule{Scope: auth.Somewhere, Of: one} }

// everywhere asks for one of the roles for everything.
func everywhere(one access.Roles) auth.Rule { return auth.Rule{Scope: auth.Everywhere, Of: one} }

var anyToken = auth.Rule{Scope: auth.Any}

// action answers one request. An error is turned into a problem in one place.
type action func(h *handler, w http.ResponseWriter, r *request) error

// param is a query parameter or a header.
type param struct {
	name     string
	kind     paramKind
	doc      string
	required bool
	repeat   bool     // it may be given more than once
	values   []string // if not nil, the only values that it may have
}

// paramKind is how a parameter is written.
type paramKind int

const (
	textParam paramKind = iota
	numberParam
	boolParam
	timeParam     // RFC 3339
	durationParam // as in Go
)

// media is one form of a body: JSON of one of the types, or, without types, something that has no schema.
type media struct {
	name  string // media type
	types []any  // zero values
	doc   string // the description of a body without a schema

	events map[string]any // of a stream of events: zero values of their data, by the name of the event
}

// success is an answer that is not an error.
type success struct {
	status int
	doc    string
	body   []media
}

// asJSON is a body or an answer that is JSON of one of these types.
func asJSON(types ...any) []media { return []media{{name: codec.JSONMedia, types: types}} }

// ok is an answer 200 with JSON of one of these types.
func ok(types ...any) success { return success{http.StatusOK, "Done.", asJSON(types...)} }

var noContent = success{status: http.StatusNoContent, doc: "Done."}

// routes returns the whole table. To add a route, add a line to one of the lists, or add a list.
func routes() []route {
	return slices.Concat(taskRoutes(), reportRoutes(), moduleRoutes(), behaviorRoutes(), clusterRoutes(), memberRoutes(), snapshotRoutes(), operationRoutes(), blobRoutes(), namespaceRoutes(), maintenanceRoutes(), storeRoutes(), watchRoutes(), insightRoutes(), jobRoutes(), accessRoutes(), signInRoutes(), streamRoutes())
}

// Parameters that many routes have.
var (
	namespaceParam = param{name: "namespace", doc: "Default: default."}
	minIndexParam  = param{name: "min_index", kind: numberParam, doc: "Answer from a state that has applied this log index (see Taskrt-Index)."}
	staleParam     = param{name: "consistency", doc: "stale reads this node's own state, which may be behind.", values: []string{"strong", "stale"}}
)

// commonErrors are the codes that every route may answer.
var commonErrors = []string{
	api.CodeBadRequest, api.CodeUnknownField, api.CodeInvalidField, api.CodeOtherCluster, api.CodeOverloaded, api.CodeInternal, api.CodeNoLeader, api.CodeNotReady, api.CodeOutcomeUnknown,
}

// errorsOf returns the codes that a route may answer, each once, in the order of the registry.
func (r *route) errorsOf() []api.CodeEntry {
	may := slices.Concat(commonErrors, r.errors)
	if r.body != nil {
		may = append(may, api.CodeInvalidJSON, api.CodeTooLarge, api.CodeUnsupportedMedia)
	}
	if r.changes() {
		may = append(may, api.CodeIdempotencyMismatch, "keys_exhausted", "origin_forgotten", "invalid_command", "token_revoked", api.CodeTooLarge, api.CodeLevelTooLow)
	}
	if r.needs.Scope != auth.Open {
		may = append(may, api.CodeCrossOrigin, api.CodeUnknownHost, api.CodeUnauthenticated, api.CodeForbidden, api.CodeRateLimited)
	}
	switch r.needs.Scope {
	case auth.Namespace, auth.Behavior, auth.Whole:
		may = append(may, "namespace_not_found")
	}
	var all []api.CodeEntry
	for _, c := range api.Codes() {
		if slices.Contains(may, c.Code) {
			all = append(all, c)
		}
	}
	return all
}

// changes reports whether the route may change something. Such a route takes an Idempotency-Key (SPEC H4).
func (r *route) changes() bool { return r.method != http.MethodGet }
