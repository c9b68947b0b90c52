// Package schemas makes JSON Schemas from Go types that travel as JSON. The handler's OpenAPI document is made of them.
package schemas

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/jobs"
	"github.com/taskrt/taskrt/api/membership"
	"github.com/taskrt/taskrt/api/snapshot"
)

// Set makes JSON Schemas from the types that travel: one component for each named struct, described by the comments of the
// struct.
type Set struct {
	Named    map[string]*jsonschema.Schema
	comments map[string]string                   // "Task", "Task.Namespace"
	known    map[reflect.Type]*jsonschema.Schema // the schema that stands for a type where the type is used
}

// New returns a Set without components.
func New() *Set {
	s := &Set{
		Named: map[string]*jsonschema.Schema{}, comments: comments(),
		known: map[reflect.Type]*jsonschema.Schema{
			reflect.TypeFor[api.Time]():        Time(),
			reflect.TypeFor[api.Duration]():    Duration(),
			reflect.TypeFor[api.Keep]():        keepSchema(),
			reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
			reflect.TypeFor[json.RawMessage](): {Description: "Any JSON value."},
			reflect.TypeFor[api.Partitions]():  partitionsSchema(),
		},
	}
	for _, e := range enums {
		s.Named[e.Name] = e.schema()
	}
	return s
}

// Time is the schema of api.Time.
func Time() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Format: "date-time", Examples: []any{"2026-11-22T10:30:00.000Z"}}
}

// Duration is the schema of api.Duration.
func Duration() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$|^0$`, Examples: []any{"30s", "1h30m0s"}}
}

// keepSchema is the schema of api.Keep: a duration, or never.
func keepSchema() *jsonschema.Schema {
	s := Duration()
	s.Pattern, s.Examples = "^never$|"+s.Pattern, append(s.Examples, "never")
	return s
}

// partitionsSchema is the schema of api.Partitions: a number, or names.
func partitionsSchema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		{Type: "integer", Minimum: new(1.0), Maximum: new(float64(api.MaxPartitions))},
		{
			Type: "array", MinItems: new(1), MaxItems: new(api.MaxPartitions), UniqueItems: true,
			Items: &jsonschema.Schema{Type: "string", MinLength: new(1), MaxLength: new(api.MaxPartitionName)},
		},
	}}
}

// Of returns the schema of a value's type. For a named struct it is a reference to a component. An object in a request may have
// no other fields than these (SPEC H2); an answer may get more fields later.
func (s *Set) Of(v any, request bool) *jsonschema.Schema {
	return s.reference(reflect.TypeOf(v), request)
}

func (s *Set) reference(t reflect.Type, request bool) *jsonschema.Schema {
	switch {
	case t.Kind() == reflect.Slice:
		return &jsonschema.Schema{Type: "array", Items: s.reference(t.Elem(), request)}
	case t.Kind() == reflect.Pointer: // an element of a list, which may be null
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{s.reference(t.Elem(), request), {Type: "null"}}}
	case t.Kind() == reflect.String:
		return &jsonschema.Schema{Type: "string"}
	case t.Name() == "":
		return &jsonschema.Schema{Type: "object", AdditionalProperties: noOther()}
	}
	s.add(t, request)
	return s.known[t].CloneSchemas()
}

// noOther is the schema that no value has.
func noOther() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

// Name returns the name of a type in the document.
func Name(t reflect.Type) string {
	if t == reflect.TypeFor[api.Error]() {
		return "Problem"
	}
	return strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
}

// add makes the component of a struct, and the components of the structs in it.
func (s *Set) add(t reflect.Type, request bool) {
	if s.known[t] != nil {
		if c := s.Named[Name(t)]; request && c != nil && c.Type == "object" && c.Properties != nil {
			c.AdditionalProperties = noOther()
		}
		return
	}
	name := Name(t)
	s.known[t] = &jsonschema.Schema{Ref: "#/components/schemas/" + name}
	s.Named[name] = &jsonschema.Schema{} // so that a type that contains itself comes to an end
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("json") != "-" && !f.Anonymous {
			s.addInner(f.Type, request)
		}
	}
	s.Named[name] = s.object(t, request)
}

// addInner finds the structs in the type of a field.
func (s *Set) addInner(t reflect.Type, request bool) {
	for s.known[t] == nil && slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, t.Kind()) {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct {
		s.add(t, request)
	}
}

// object returns the schema of a struct. A struct that embeds a pointer is either what the pointer points to, or its other
// fields.
func (s *Set) object(t reflect.Type, request bool) *jsonschema.Schema {
	others := map[reflect.Type]*jsonschema.Schema{}
	for k, v := range s.known {
		others[k] = v
	}
	delete(others, t)
	var either *jsonschema.Schema
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && f.Type.Kind() == reflect.Pointer {
			either = s.reference(f.Type.Elem(), request)
		} else if f.Anonymous {
			delete(others, f.Type)
			for j := range f.Type.NumField() {
				s.addInner(f.Type.Field(j).Type, request)
			}
		}
	}
	o, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: others})
	if err != nil {
		panic(fmt.Sprintf("the type %v of the table of routes has no schema: %v", t, err))
	}
	s.finish(o, t)
	if !request {
		o.AdditionalProperties = nil
	}
	switch t {
	case reflect.TypeFor[api.SubmitReply](), reflect.TypeFor[api.FinishReply]():
		o.Properties["task"] = s.submitted()
	}
	if either == nil {
		o.Description = s.comment(t.Name())
		return o
	}
	embedded, _ := s.lookup(either)
	for name := range embedded.Properties {
		delete(o.Properties, name)
	}
	o.PropertyOrder, o.Required = nil, nil
	for name := range o.Properties {
		o.Required = append(o.Required, name)
	}
	return &jsonschema.Schema{Description: s.comment(t.Name()), OneOf: []*jsonschema.Schema{either, o}}
}

// submitted is the schema of a task in the answer to a submit or a finish, which may be short (codec.MinimalTask): more is optional in it than in a
// Task.
func (s *Set) submitted() *jsonschema.Schema {
	const name = "SubmittedTask"
	one := s.Named["Task"].CloneSchemas()
	one.Description = "SubmittedTask is a Task in the answer to a submit or a finish. With \"Prefer: return=minimal\" it has only what is required here."
	one.Required = nil
	for _, f := range reflect.VisibleFields(reflect.TypeFor[codec.MinimalTask]()) {
		one.Required = append(one.Required, f.Tag.Get("json"))
	}
	s.Named[name] = one
	return &jsonschema.Schema{Ref: "#/components/schemas/" + name}
}

// lookup follows a reference to a component.
func (s *Set) lookup(ref *jsonschema.Schema) (c *jsonschema.Schema, ok bool) {
	c, ok = s.Named[strings.TrimPrefix(ref.Ref, "#/components/schemas/")]
	return c, ok
}

// finish corrects what the library infers from a struct, and describes the fields. This API never writes null for a pointer or
// a list that is not there.
func (s *Set) finish(o *jsonschema.Schema, t reflect.Type) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := o.Properties[name]
		if p == nil || f.Anonymous {
			continue
		}
		notNull(p)
		if f.Tag.Get("null") == "items" {
			p.Items = &jsonschema.Schema{OneOf: []*jsonschema.Schema{p.Items, {Type: "null"}}}
		}
		owner := t
		if len(f.Index) > 1 {
			owner = t.FieldByIndex(f.Index[:len(f.Index)-1]).Type
			if owner.Kind() == reflect.Pointer {
				owner = owner.Elem()
			}
		}
		enumerate(owner.Name()+"."+f.Name, p)
		wide(p, f.Type)
		if doc := s.comment(owner.Name() + "." + f.Name); doc != "" {
			p.Description = doc
		}
	}
}

// wide says of whole numbers that they have 64 bits, as in Go: some generators take 32 otherwise.
func wide(p *jsonschema.Schema, t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	switch at := cmp.Or(p.Items, p.AdditionalProperties, p); {
	case at.Type == "integer" && (t.Kind() == reflect.Int64 || t.Kind() == reflect.Uint64):
		at.Format = "int64"
	}
}

// notNull takes the type null away from a schema and from the schemas in it.
func notNull(p *jsonschema.Schema) {
	if i := slices.Index(p.Types, "null"); i >= 0 {
		p.Types = slices.Delete(p.Types, i, i+1)
	}
	if len(p.Types) == 1 {
		p.Type, p.Types = p.Types[0], nil
	}
	if len(p.Types) == 0 {
		p.Types = nil
	}
	if p.Items != nil {
		notNull(p.Items)
	}
	if p.AdditionalProperties != nil {
		notNull(p.AdditionalProperties)
	}
}

func (s *Set) comment(name string) string { return s.comments[name] }

// specRule matches a reference to a rule, which means nothing to readers of the document.
var specRule = regexp.MustCompile(`\s*\(SPEC [^)]*\)`)

// comments returns the comment of each type and field of the sources.
func comments() map[string]string {
	all := map[string]string{}
	for _, sources := range []embed.FS{api.Sources, auth.Sources, insight.Sources, jobs.Sources, membership.Sources, snapshot.Sources, codec.Sources} {
		files, err := sources.ReadDir(".")
		if err != nil {
			panic(err) // cannot happen: the file is embedded
		}
		for _, entry := range files {
			text, err := sources.ReadFile(entry.Name())
			if err != nil {
				panic(err)
			}
			commentsOf(all, entry.Name(), text)
		}
	}
	return all
}

func commentsOf(all map[string]string, name string, text []byte) {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		panic(err) // cannot happen: the source was compiled
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if decl, ok := n.(*ast.GenDecl); ok && decl.Tok == token.TYPE {
			for _, spec := range decl.Specs {
				ofType(all, decl, spec.(*ast.TypeSpec))
			}
		}
		return true
	})
}

func ofType(all map[string]string, decl *ast.GenDecl, spec *ast.TypeSpec) {
	all[spec.Name.Name] = prose(decl.Doc, spec.Doc)
	fields, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range fields.Fields.List {
		for _, name := range f.Names {
			all[spec.Name.Name+"."+name.Name] = prose(f.Doc, f.Comment)
		}
	}
}

// prose returns the text of the first group that has a text.
func prose(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if text := strings.Join(strings.Fields(g.Text()), " "); text != "" {
			return specRule.ReplaceAllString(text, "")
		}
	}
	return ""
}
