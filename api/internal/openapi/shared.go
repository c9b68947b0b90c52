package openapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/internal/schemas"
)

// The headers of answers.
const (
	retryHeader = "Retry-After"
	askHeader   = "WWW-Authenticate"
	placeHeader = "Location"
)

// headers are the headers that answers of many routes have.
func headers() map[string]Header {
	text := &jsonschema.Schema{Type: "string"}
	return map[string]Header{
		codec.IndexHeader:   {Description: "The log index that the answer reflects, if it reflects one.", Schema: &jsonschema.Schema{Type: "integer", Format: "int64"}},
		codec.ClusterHeader: {Description: "The ID of the cluster that answers. A request may have the header, too: another cluster refuses it with 421.", Schema: text},
		retryHeader:         {Description: "Seconds; absent if nobody knows whether the request was done.", Schema: &jsonschema.Schema{Type: "integer"}},
		placeHeader:         {Description: "The path of what was created.", Schema: text},
		askHeader:           {Description: "How to say who one is.", Schema: text},
	}
}

// refer returns references to shared headers.
func refer(names ...string) map[string]Header {
	all := map[string]Header{}
	for _, n := range names {
		all[n] = Header{Ref: "#/components/headers/" + n}
	}
	return all
}

// problemName is the name of the shared response that has the errors of a status.
func problemName(status int, store bool) string {
	name := strings.NewReplacer(" ", "", "-", "").Replace(http.StatusText(status))
	if store {
		return "Store" + name
	}
	return name
}

// problem describes all errors of one status: a problem as in RFC 9457. Those below /taskstore have a further field.
func problem(s *schemas.Set, status int, store bool) *Response {
	var doc strings.Builder
	for _, c := range api.Codes() {
		if c.Status == status {
			fmt.Fprintf(&doc, "%s: %s\n", c.Code, c.Meaning)
		}
	}
	schema := s.Of(api.Error{}, false)
	if store {
		schema = &jsonschema.Schema{AllOf: []*jsonschema.Schema{schema, s.Of(codec.StoreProblemFields{}, false)}}
	}
	r := &Response{
		Description: strings.TrimSpace(doc.String()), Headers: refer(codec.ClusterHeader),
		Content: map[string]Media{codec.ProblemMedia: {Schema: schema}},
	}
	switch status {
	case http.StatusUnauthorized:
		r.Headers[askHeader] = refer(askHeader)[askHeader]
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		r.Headers[retryHeader] = refer(retryHeader)[retryHeader]
	}
	return r
}

// problems adds the errors of an operation: references to what all operations share, and which of the codes this one has.
func (d *Document) problems(s *schemas.Set, o *Operation, r *Route) {
	for _, c := range r.Codes {
		o.Codes = append(o.Codes, c.Code)
		name := problemName(c.Status, r.Store)
		if d.Components.Responses[name] == nil {
			d.Components.Responses[name] = problem(s, c.Status, r.Store)
		}
		o.Responses[strconv.Itoa(c.Status)] = &Response{Ref: "#/components/responses/" + name}
	}
}

// shareParameters turns parameters that several operations have alike into references. Of those that have one name and are not alike, the
// most frequent one is shared.
func (d *Document) shareParameters() {
	count, one := map[string]int{}, map[string]Parameter{}
	for _, methods := range d.Paths {
		for _, o := range methods {
			for _, p := range o.Parameters {
				count[text(&p)]++
				one[text(&p)] = p
			}
		}
	}
	shared := map[string]string{} // by name, the text of the one that is shared
	for t, p := range one {
		if best, ok := shared[key(&p)]; count[t] > 1 && (!ok || count[t] > count[best] || count[t] == count[best] && t < best) {
			shared[key(&p)] = t
		}
	}
	for name, t := range shared {
		d.Components.Parameters[name] = one[t]
	}
	for _, methods := range d.Paths {
		for _, o := range methods {
			for i, p := range o.Parameters {
				if shared[key(&p)] == text(&p) {
					o.Parameters[i] = Parameter{Ref: "#/components/parameters/" + key(&p)}
				}
			}
		}
	}
}

// key is the name of a shared parameter.
func key(p *Parameter) string { return p.In + "." + p.Name }

func text(p *Parameter) string {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // cannot happen: a schema of few words
	}
	return string(b)
}

// Parameter returns a parameter of an operation, followed to the components.
func (d *Document) Parameter(o *Operation, in, name string) (Parameter, bool) {
	for _, p := range o.Parameters {
		if p.Ref != "" {
			p = d.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
		}
		if p.In == in && p.Name == name {
			return p, true
		}
	}
	return Parameter{}, false
}

// Has reports whether an operation may answer a code, with its meaning.
func (d *Document) Has(o *Operation, c api.CodeEntry) bool {
	r := o.Responses[strconv.Itoa(c.Status)]
	if r == nil || !slices.Contains(o.Codes, c.Code) {
		return false
	}
	r = d.Components.Responses[strings.TrimPrefix(r.Ref, "#/components/responses/")]
	return r != nil && strings.Contains(r.Description, c.Code+": "+c.Meaning)
}
