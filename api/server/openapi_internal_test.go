package server

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/internal/openapi"
	"github.com/taskrt/taskrt/api/internal/schemas"
)

// TestDocumentIsWhole walks through the table of routes, and through the Go types by reflection: everything in them is in the
// document.
func TestDocumentIsWhole(t *testing.T) {
	d := documentOf(routes())
	named, seenID := map[string]bool{}, map[string]bool{}
	for _, r := range routes() {
		o := d.Paths[wildcard.ReplaceAllString(r.path, "{$1}")][strings.ToLower(r.method)]
		if o == nil {
			t.Fatalf("%s %s is not in the document", r.method, r.path)
		}
		if r.id == "" || seenID[r.id] || r.summary == "" || r.serve == nil || len(r.answers) == 0 {
			t.Errorf("%s %s: an operationId of its own, a summary, an action and an answer are needed", r.method, r.path)
		}
		seenID[r.id] = true
		if len(o.Tags) != 1 || !slices.ContainsFunc(d.Tags, func(x openapi.Tag) bool { return x.Name == o.Tags[0] }) {
			t.Errorf("%s %s: no area of the API has it: %q", r.method, r.path, o.Tags)
		}
		for _, p := range r.query {
			if _, ok := d.Parameter(o, "query", p.name); !ok {
				t.Errorf("%s: the query parameter %s is not in the document", r.id, p.name)
			}
		}
		if _, hasKey := d.Parameter(o, "header", api.KeyHeader); hasKey != (r.method != http.MethodGet) {
			t.Errorf("%s: Idempotency-Key in the document: %v", r.id, hasKey)
		}
		forms := slices.Clone(r.body)
		for _, a := range r.answers {
			forms = append(forms, a.body...)
		}
		for _, m := range forms {
			for _, v := range slices.Concat(m.types, slices.Collect(maps.Values(m.events))) {
				checkFields(t, d, reflect.TypeOf(v), named)
			}
		}
		if r.problem != nil {
			checkFields(t, d, reflect.TypeOf(r.problem), named)
		}
		for _, c := range r.errorsOf() {
			if !d.Has(o, c) {
				t.Errorf("%s: the code %s is not in the document", r.id, c.Code)
			}
		}
		for _, code := range r.errors {
			if !slices.ContainsFunc(api.Codes(), func(c api.CodeEntry) bool { return c.Code == code }) {
				t.Errorf("%s: the code %s is not in the registry", r.id, code)
			}
		}
	}
	for name, c := range d.Components.Schemas {
		if c.Description == "" {
			t.Errorf("%s has no description: write a comment at the type, in a file types*.go", name)
		}
		if !named[name] && c.Enum == nil {
			t.Errorf("%s is in the document, but in no route", name)
		}
	}
}

// checkFields checks that every field of a type, and of the types in it, is a property of the type's component.
func checkFields(t *testing.T, d *openapi.Document, typ reflect.Type, named map[string]bool) {
	t.Helper()
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ.Name() == "" || typ == reflect.TypeFor[api.Time]() || typ == reflect.TypeFor[api.Partitions]() || typ == reflect.TypeFor[api.Keep]() {
		return // types that write their JSON themselves
	}
	name := schemas.Name(typ)
	if named[name] {
		return
	}
	named[name] = true
	named["Problem"], named["Reason"], named["SubmittedTask"] = true, true, true // every route may answer the first two
	c := d.Components.Schemas[name]
	if c == nil {
		t.Errorf("%s is not in the document", name)
		return
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		tag := f.Tag.Get("json")
		field, options, _ := strings.Cut(tag, ",")
		if f.Anonymous {
			checkFields(t, d, f.Type, named)
			continue
		}
		if tag == "-" || !f.IsExported() {
			continue
		}
		if tag == "" {
			t.Errorf("%s.%s has no JSON name", name, f.Name)
		}
		if !propertyOf(c, field) {
			t.Errorf("%s.%s is not in the document", name, field)
		}
		if required := slices.Contains(c.Required, field); c.OneOf == nil && required == strings.Contains(options, "omit") {
			t.Errorf("%s.%s: required is %v", name, field, required)
		}
		checkFields(t, d, f.Type, named)
	}
}

func propertyOf(c *jsonschema.Schema, field string) bool {
	if c.Properties[field] != nil {
		return true
	}
	return slices.ContainsFunc(c.OneOf, func(s *jsonschema.Schema) bool { return propertyOf(s, field) })
}

// TestDocumentIsShort: what routes have alike is said once. It was 478 KB with all errors, parameters and headers written out.
func TestDocumentIsShort(t *testing.T) {
	examples := len(codec.Encode(openapi.Examples()))
	if n := len(codec.Encode(documentOf(routes()))); n-examples > 272_000 || examples > 40_000 {
		t.Errorf("%d bytes, of which examples are %d", n, examples)
	}
}

// TestEachBodyHasAnExample: each request and each answer in JSON that is not just any JSON has an example, which apitest holds against its schema;
// and each example belongs to a body.
func TestEachBodyHasAnExample(t *testing.T) {
	without := []string{"metrics", "openapi", "beginBackup", "storeTasks", "storeGroupsAlias", "importNamespace", "signIn"} // too long, or as others
	d, examples := documentOf(routes()), openapi.Examples()
	shown := 0
	for path, methods := range d.Paths {
		for _, o := range methods {
			e, known := examples[o.ID]
			wanted := o.Body != nil && o.Body.Content[codec.JSONMedia].Schema != nil && o.Body.Required
			for _, r := range o.Responses {
				wanted = wanted || r.Content[codec.JSONMedia].Schema != nil
			}
			if known != (wanted && !slices.Contains(without, o.ID)) {
				t.Errorf("%s: has an example %v, has a body %v: they are in api/internal/openapi/examples.json", o.ID, known, wanted)
			}
			delete(examples, o.ID)
			for status, r := range o.Responses {
				n := len(r.Content[codec.JSONMedia].Examples)
				if _, has := e.Answers[status]; has != (n > 0) {
					t.Errorf("%s %s: the answer %s and its example do not belong together", o.ID, path, status)
				}
				shown += n
			}
		}
	}
	if len(examples) > 0 || shown < 60 {
		t.Errorf("%d answers have an example; of no operation are %v", shown, slices.Collect(maps.Keys(examples)))
	}
}

// TestNoSchemaIsTrue: a generator need not know that a schema may be a boolean.
func TestNoSchemaIsTrue(t *testing.T) {
	var d any
	if err := json.Unmarshal(codec.Encode(documentOf(routes())), &d); err != nil {
		t.Fatal(err)
	}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case bool:
			if v && !slices.ContainsFunc([]string{"required", "uniqueItems", "value"}, func(s string) bool { return strings.HasSuffix(at, "/"+s) }) {
				t.Errorf("%s is true", at)
			}
		case []any:
			for i, e := range v {
				walk(at+"/"+strconv.Itoa(i), e)
			}
		case map[string]any:
			for name, e := range v {
				if name != "examples" && name != "example" {
					walk(at+"/"+name, e)
				}
			}
		}
	}
	walk("", d)
}
