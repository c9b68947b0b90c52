package server

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/internal/schemas"
	"github.com/taskrt/taskrt/api/server/location"
)

// These are the parts of an OpenAPI 3.1 document that this one has. The names and their meanings are from
// https://spec.openapis.org/oas/v3.1.1.
type (
	document struct {
		OpenAPI    string                           `json:"openapi"`
		Info       info                             `json:"info"`
		Paths      map[string]map[string]*operation `json:"paths"`
		Components components                       `json:"components"`
		Security   []requirement                    `json:"security"`
	}
	requirement map[string][]string // by the name of a security scheme
	scheme      struct {
		Type        string `json:"type"`
		Scheme      string `json:"scheme"`
		Description string `json:"description"`
	}
	info struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Description string `json:"description"`
	}
	components struct {
		Schemas map[string]*jsonschema.Schema `json:"schemas"`
		Schemes map[string]scheme             `json:"securitySchemes"`
	}
	operation struct {
		ID         string               `json:"operationId"`
		Summary    string               `json:"summary"`
		Needs      string               `json:"description"`
		Security   *[]requirement       `json:"security,omitempty"`
		Parameters []parameter          `json:"parameters,omitempty"`
		Body       *requestBody         `json:"requestBody,omitempty"`
		Responses  map[string]*response `json:"responses"`
	}
	parameter struct {
		Name        string             `json:"name"`
		In          string             `json:"in"`
		Description string             `json:"description,omitempty"`
		Required    bool               `json:"required,omitempty"`
		Schema      *jsonschema.Schema `json:"schema"`
	}
	requestBody struct {
		Required bool               `json:"required,omitempty"`
		Content  map[string]content `json:"content"`
	}
	response struct {
		Description string             `json:"description"`
		Headers     map[string]header  `json:"headers,omitempty"`
		Content     map[string]content `json:"content,omitempty"`
	}
	header struct {
		Description string             `json:"description"`
		Schema      *jsonschema.Schema `json:"schema"`
	}
	content struct {
		Schema *jsonschema.Schema `json:"schema"`
	}
)

const aboutDocument = `Run tasks reliably on a small cluster. Any node answers any request. Unknown fields and query ` +
	`parameters are refused. Times are RFC 3339 with milliseconds, durations Go style ("30s"). Every path answers other ` +
	`methods than its own with 405 method_not_allowed, and every other path is 404 not_found.`

// serveOpenAPI is GET /openapi.json.
func (h *handler) serveOpenAPI(w http.ResponseWriter, r *request) error {
	if err := r.query.done(); err != nil {
		return err
	}
	return h.answer(w, http.StatusOK, &api.Meta{}, h.openapi())
}

// documentOf makes the document from a table of routes.
func documentOf(table []route) *document {
	s := describer{schemas.New()}
	d := &document{
		OpenAPI: "3.1.1", Info: info{Title: "taskrt", Version: "1", Description: aboutDocument},
		Paths: map[string]map[string]*operation{},
	}
	for i := range table {
		r := &table[i]
		path := wildcard.ReplaceAllString(r.path, "{$1}")
		if d.Paths[path] == nil {
			d.Paths[path] = map[string]*operation{}
		}
		d.Paths[path][strings.ToLower(r.method)] = s.operation(r)
	}
	d.Components.Schemas = s.Named
	d.Components.Schemes = map[string]scheme{"token": {"http", "bearer", "A token of a cluster that asks for tokens. Other clusters are open: there nothing is needed."}}
	d.Security = []requirement{{"token": {}}, {}}
	return d
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
}

// describer describes routes by the schemas of what they take and answer.
type describer struct{ *schemas.Set }

func (s describer) operation(r *route) *operation {
	o := &operation{ID: r.id, Summary: r.summary, Needs: "Needs " + r.needs.String() + ".", Responses: map[string]*response{}}
	if r.needs.Scope == auth.Open {
		o.Security = &[]requirement{}
	}
	for _, m := range wildcard.FindAllStringSubmatch(r.path, -1) {
		o.Parameters = append(o.Parameters, parameter{
			Name: m[1], In: "path", Description: pathParams[m[1]], Required: true, Schema: &jsonschema.Schema{Type: "string"},
		})
	}
	for _, p := range r.query {
		o.Parameters = append(o.Parameters, p.describe("query"))
	}
	for _, p := range r.header {
		o.Parameters = append(o.Parameters, p.describe("header"))
	}
	if r.changes() {
		o.Parameters = append(o.Parameters, keyParam.describe("header"))
	}
	if r.body != nil {
		o.Body = &requestBody{Required: !r.bodyOptional, Content: s.contents(r.body, true)}
	}
	for _, a := range r.answers {
		headers := map[string]header{codec.IndexHeader: indexDoc, codec.ClusterHeader: clusterDoc}
		if a.status == http.StatusCreated && r.method == http.MethodPost {
			headers[location.Header] = header{"The path of what was created.", &jsonschema.Schema{Type: "string"}}
		}
		o.Responses[strconv.Itoa(a.status)] = &response{Description: a.doc, Headers: headers, Content: s.contents(a.body, false)}
	}
	for status, codes := range byStatus(r.errorsOf()) {
		o.Responses[strconv.Itoa(status)] = s.problem(status, codes, r.problem)
	}
	return o
}

var keyParam = param{
	name: api.KeyHeader, doc: "1 to 255 visible ASCII characters: the request is done once, however often it is sent within an hour.",
}

var indexDoc = header{"The log index that the answer reflects, if it reflects one.", &jsonschema.Schema{Type: "integer"}}

var clusterDoc = header{
	"The ID of the cluster that answers. A request may have the header, too: another cluster refuses it with 421.", &jsonschema.Schema{Type: "string"},
}

// describe returns the description of a parameter: in which place it stands, and what it may be.
func (p param) describe(in string) parameter {
	schema := &jsonschema.Schema{Type: "string"}
	switch p.kind {
	case numberParam:
		schema = &jsonschema.Schema{Type: "integer", Minimum: new(float64)}
	case boolParam:
		schema = &jsonschema.Schema{Type: "boolean"}
	case timeParam:
		schema = schemas.Time()
	case durationParam:
		schema = schemas.Duration()
	case textParam:
	}
	for _, v := range p.values {
		schema.Enum = append(schema.Enum, v)
	}
	if p.repeat {
		schema = &jsonschema.Schema{Type: "array", Items: schema}
	}
	return parameter{Name: p.name, In: in, Description: p.doc, Required: p.required, Schema: schema}
}

// contents describes the forms of a body.
func (s describer) contents(forms []media, request bool) map[string]content {
	all := map[string]content{}
	for _, m := range forms {
		var either []*jsonschema.Schema
		for _, t := range m.types {
			either = append(either, s.Of(t, request))
		}
		switch len(either) {
		case 0:
			all[m.name] = content{&jsonschema.Schema{Description: m.doc}}
		case 1:
			all[m.name] = content{either[0]}
		default:
			all[m.name] = content{&jsonschema.Schema{AnyOf: either}}
		}
	}
	return all
}

// byStatus groups codes by their HTTP status.
func byStatus(all []api.CodeEntry) map[int][]api.CodeEntry {
	m := map[int][]api.CodeEntry{}
	for _, c := range all {
		m[c.Status] = append(m[c.Status], c)
	}
	return m
}

// problem describes the errors of one status: a problem as in RFC 9457, with one of these codes, and with the fields of more.
func (s describer) problem(status int, may []api.CodeEntry, more any) *response {
	var doc strings.Builder
	code := &jsonschema.Schema{Type: "string"}
	for _, c := range may {
		fmt.Fprintf(&doc, "%s: %s\n", c.Code, c.Meaning)
		code.Enum = append(code.Enum, c.Code)
	}
	all := []*jsonschema.Schema{s.Of(api.Error{}, false), {Properties: map[string]*jsonschema.Schema{"code": code}}}
	if more != nil {
		all = append(all, s.Of(more, false))
	}
	res := &response{
		Description: strings.TrimSpace(doc.String()),
		Content:     map[string]content{codec.ProblemMedia: {&jsonschema.Schema{AllOf: all}}},
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		res.Headers = map[string]header{"Retry-After": {"Seconds; absent if nobody knows whether the request was done.", &jsonschema.Schema{Type: "integer"}}}
	}
	return res
}
