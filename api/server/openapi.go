package server

import (
	"net/http"
	"regexp"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/internal/openapi"
	"github.com/taskrt/taskrt/api/internal/schemas"
)

// serveOpenAPI is GET /openapi.json.
func (h *handler) serveOpenAPI(w http.ResponseWriter, r *request) error {
	if err := r.query.done(); err != nil {
		return err
	}
	return h.answer(w, http.StatusOK, &api.Meta{}, h.openapi())
}

// documentOf makes the document from a table of routes.
func documentOf(table []route) *openapi.Document {
	var all []openapi.Route
	for i := range table {
		all = append(all, table[i].describe())
	}
	return openapi.New(all)
}

// wildcard matches a wildcard in a path: {id}, or {name...} for the rest of the path.
var wildcard = regexp.MustCompile(`\{([a-z]+)(\.\.\.)?\}`)

// pathParams says for what the wildcards of paths stand.
var pathParams = map[string]string{
	"id":     "The task's ID; of a member, its node ID.",
	"ids":    "IDs, separated by commas.",
	"group":  "The group's name: the rest of the path.",
	"name":   "The name.",
	"digest": "SHA-256 of the file, 64 lower-case hexadecimal digits.",
	"run":    "The run's number.",
}

// describe returns what the document is to say of a route.
func (r *route) describe() openapi.Route {
	d := openapi.Route{
		Method: r.method, Path: wildcard.ReplaceAllString(r.path, "{$1}"), ID: r.id, Summary: r.summary, Needs: r.needs.String(), Open: r.needs.Scope == auth.Open,
		Body: forms(r.body), BodyOptional: r.bodyOptional, Codes: r.errorsOf(), Store: r.problem != nil,
	}
	for _, m := range wildcard.FindAllStringSubmatch(r.path, -1) {
		d.Parameters = append(d.Parameters, openapi.Parameter{
			Name: m[1], In: "path", Description: pathParams[m[1]], Required: true, Schema: &jsonschema.Schema{Type: "string"},
		})
	}
	for _, p := range r.query {
		d.Parameters = append(d.Parameters, p.describe("query"))
	}
	for _, p := range r.header {
		d.Parameters = append(d.Parameters, p.describe("header"))
	}
	if r.traced {
		d.Parameters = append(d.Parameters, traceParam.describe("header"), stateParam.describe("header"))
	}
	if r.changes() {
		d.Parameters = append(d.Parameters, keyParam.describe("header"))
	}
	for _, a := range r.answers {
		d.Answers = append(d.Answers, openapi.Answer{Status: a.status, Doc: a.doc, Forms: forms(a.body)})
	}
	return d
}

func forms(all []media) []openapi.Form {
	var list []openapi.Form
	for _, m := range all {
		list = append(list, openapi.Form{Media: m.name, Types: m.types, Doc: m.doc, Events: m.events})
	}
	return list
}

var keyParam = param{
	name: api.KeyHeader, doc: "1 to 255 visible ASCII characters: the request is done once, however often it is sent within an hour.",
}

// These are the headers of routes that are traced.
var (
	traceParam = param{name: "traceparent", doc: "W3C Trace Context: what becomes due belongs to this trace. An invalid one is ignored."}
	stateParam = param{name: "tracestate", doc: "What becomes due keeps it beside the traceparent. An invalid one is ignored."}
)

// describe returns the description of a parameter: in which place it stands, and what it may be.
func (p param) describe(in string) openapi.Parameter {
	schema := &jsonschema.Schema{Type: "string"}
	switch p.kind {
	case numberParam:
		schema = &jsonschema.Schema{Type: "integer", Format: "int64", Minimum: new(float64)}
	case boolParam:
		schema = &jsonschema.Schema{Type: "boolean"}
	case timeParam:
		schema = schemas.Time()
	case durationParam:
		schema = schemas.Duration()
	case textParam:
	}
	if p.values != nil {
		schema = schemas.OneOf(p.values)
	}
	if p.repeat {
		schema = &jsonschema.Schema{Type: "array", Items: schema}
	}
	return openapi.Parameter{Name: p.name, In: in, Description: p.doc, Required: p.required, Schema: schema}
}
