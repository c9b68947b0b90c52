package openapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/taskrt/taskrt"
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/internal/schemas"
)

// Route describes a route for the document.
type Route struct {
	Method, Path string
	ID, Summary  string
	Needs        string // what its caller must have, in words
	Open         bool   // it needs no token
	Parameters   []Parameter
	Body         []Form // empty: there is none
	BodyOptional bool
	Answers      []Answer
	Codes        []api.CodeEntry // of its errors
	Store        bool            // its errors have the fields of the TaskStore API, too
}

// Answer is an answer that is not an error.
type Answer struct {
	Status int
	Doc    string
	Forms  []Form
}

// Form is one form of a body: JSON of one of some types, or, without types, something else.
type Form struct {
	Media  string
	Types  []any // zero values
	Doc    string
	Events map[string]any // of a stream of events: zero values of their data, by the name of the event
}

const about = `Run tasks reliably on a small cluster. Any node answers any request. Unknown fields and query ` +
	`parameters are refused. Times are RFC 3339 with milliseconds, durations Go style ("30s"). Every path answers other ` +
	`methods than its own with 405 method_not_allowed, and every other path is 404 not_found. Later versions may add fields ` +
	`to answers: a client ignores those that it does not know. x-error-codes of an operation are the codes of its errors; each problem has a ` +
	`type, the address where its code is explained. x-events of a stream are the schemas of its events' data, by the name of the event.`

// New makes the document.
func New(routes []Route) *Document {
	s := schemas.New()
	d := &Document{
		OpenAPI: "3.1.1",
		Info: Info{
			Title: "taskrt", Summary: "The HTTP API of taskrt.", Version: taskrt.Version, Description: about,
			License: License{"Apache License 2.0", "Apache-2.0"},
		},
		Servers: []Server{{"/", "The node that serves this document. Every node of a cluster answers every request."}},
		Tags:    tags, Paths: map[string]map[string]*Operation{},
		Components: Components{
			Parameters: map[string]Parameter{}, Headers: headers(), Responses: map[string]*Response{},
			Schemes: map[string]Scheme{"bearer": {"http", "bearer", "A token of a cluster that asks for tokens. Other clusters are open: there nothing is needed."}},
		},
		Security: []Requirement{{"bearer": {}}, {}},
	}
	examples := Examples()
	for i := range routes {
		r := &routes[i]
		if d.Paths[r.Path] == nil {
			d.Paths[r.Path] = map[string]*Operation{}
		}
		o := d.operation(s, r)
		o.exemplify(examples[r.ID])
		d.Paths[r.Path][strings.ToLower(r.Method)] = o
	}
	d.shareParameters()
	d.Components.Schemas = s.Named
	return d
}

func (d *Document) operation(s *schemas.Set, r *Route) *Operation {
	o := &Operation{
		ID: r.ID, Tags: []string{tagOf(r.Path)}, Summary: r.Summary, Description: "Needs " + r.Needs + ".", Parameters: r.Parameters, Responses: map[string]*Response{},
	}
	if r.Open {
		o.Security = &[]Requirement{}
	}
	if r.Body != nil {
		o.Body = &RequestBody{Required: !r.BodyOptional, Content: contents(s, r.Body, true)}
	}
	for _, a := range r.Answers {
		names := []string{codec.IndexHeader, codec.ClusterHeader}
		if a.Status == http.StatusCreated && r.Method == http.MethodPost {
			names = append(names, placeHeader)
		}
		o.Responses[strconv.Itoa(a.Status)] = &Response{Description: a.Doc, Headers: refer(names...), Content: contents(s, a.Forms, false)}
	}
	d.problems(s, o, r)
	return o
}

// contents describes the forms of a body.
func contents(s *schemas.Set, forms []Form, request bool) map[string]Media {
	all := map[string]Media{}
	for _, m := range forms {
		var either []*jsonschema.Schema
		for _, t := range m.Types {
			either = append(either, s.Of(t, request))
		}
		switch len(either) {
		case 0:
			all[m.Media] = Media{Schema: plain(m), Events: eventsOf(s, m)}
		case 1:
			all[m.Media] = Media{Schema: either[0]}
		default:
			all[m.Media] = Media{Schema: &jsonschema.Schema{OneOf: either}}
		}
	}
	return all
}

// eventsOf are the schemas of the data of a stream's events.
func eventsOf(s *schemas.Set, m Form) (all map[string]*jsonschema.Schema) {
	for name, data := range m.Events {
		if all == nil {
			all = map[string]*jsonschema.Schema{}
		}
		all[name] = s.Of(data, false)
	}
	return all
}

// plain is the schema of a body that no Go type describes. A format of binary says that it is a stream of any length.
func plain(m Form) *jsonschema.Schema {
	text := &jsonschema.Schema{Type: "string"}
	switch m.Media {
	case "multipart/form-data":
		return &jsonschema.Schema{
			Type: "object", Description: m.Doc, Required: []string{"module"},
			Properties: map[string]*jsonschema.Schema{"module": {Type: "string", Format: "binary"}, "name": text, "manifest": text},
		}
	case codec.JSONMedia:
		return &jsonschema.Schema{Type: "object", Description: m.Doc}
	case "text/plain":
		return &jsonschema.Schema{Type: "string", Description: m.Doc}
	}
	return &jsonschema.Schema{Type: "string", Format: "binary", Description: m.Doc}
}
