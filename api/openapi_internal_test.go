package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// TestDocumentIsWhole walks the table of routes and the Go types by reflection: everything that is there is in the
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
		for _, p := range r.query {
			if !slices.ContainsFunc(o.Parameters, func(x parameter) bool { return x.In == "query" && x.Name == p.name }) {
				t.Errorf("%s: the query parameter %s is not in the document", r.id, p.name)
			}
		}
		hasKey := slices.ContainsFunc(o.Parameters, func(x parameter) bool { return x.Name == KeyHeader })
		if hasKey != (r.method != http.MethodGet) {
			t.Errorf("%s: Idempotency-Key in the document: %v", r.id, hasKey)
		}
		forms := slices.Clone(r.body)
		for _, a := range r.answers {
			forms = append(forms, a.body...)
		}
		for _, m := range forms {
			for _, v := range m.types {
				checkFields(t, d, reflect.TypeOf(v), named)
			}
		}
		if r.problem != nil {
			checkFields(t, d, reflect.TypeOf(r.problem), named)
		}
		for _, code := range r.errorsOf() {
			c, ok := codeTable[code]
			if res := o.Responses[strconv.Itoa(c.status)]; !ok || res == nil || !strings.Contains(res.Description, code+": "+c.meaning) {
				t.Errorf("%s: the code %s is not in the document", r.id, code)
			}
		}
		for _, code := range r.errors {
			if _, ok := codeTable[code]; !ok {
				t.Errorf("%s: the code %s is not in the registry", r.id, code)
			}
		}
	}
	for name, c := range d.Components.Schemas {
		if c.Description == "" {
			t.Errorf("%s has no description: write a comment at the type, in a file types*.go", name)
		}
		if !named[name] {
			t.Errorf("%s is in the document, but in no route", name)
		}
	}
}

// checkFields checks that every field of a type, and of those in it, is a property of its component.
func checkFields(t *testing.T, d *document, typ reflect.Type, named map[string]bool) {
	t.Helper()
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ.Name() == "" || typ == reflect.TypeFor[Time]() || typ == reflect.TypeFor[Partitions]() || typ == reflect.TypeFor[Keep]() {
		return // they write themselves
	}
	name := componentName(typ)
	if named[name] {
		return
	}
	named[name] = true
	named["Problem"], named["Reason"] = true, true // of every route
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

// TestCodesAreRegistered: every code that this package, the state machine and the check of uploads name has a line.
func TestCodesAreRegistered(t *testing.T) {
	word := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	seen := map[string]bool{}
	for _, c := range codes {
		if seen[c.code] || !word.MatchString(c.code) || http.StatusText(c.status) == "" || !strings.HasSuffix(c.meaning, ".") {
			t.Errorf("line %+v", c)
		}
		seen[c.code] = true
	}
	for file, atLeast := range map[string]int{"error.go": 20, "../task/result.go": 20, "../runtime/errors.go": 15} {
		names := constants(t, file)
		if len(names) < atLeast {
			t.Errorf("%s: found only %d codes", file, len(names))
		}
		for name, code := range names {
			if !seen[code] {
				t.Errorf("%s: %s = %q is not in the registry of codes", file, name, code)
			}
		}
	}
}

// constants returns the string constants of a file that are codes.
func constants(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			v := spec.(*ast.ValueSpec)
			kind, typed := v.Type.(*ast.Ident)
			for i, value := range v.Values {
				text, ok := value.(*ast.BasicLit)
				if !ok || text.Kind != token.STRING || text.Value == `""` {
					continue
				}
				if typed && strings.HasSuffix(kind.Name, "Code") || strings.HasPrefix(v.Names[i].Name, "Code") {
					found[v.Names[i].Name], _ = strconv.Unquote(text.Value)
				}
			}
		}
	}
	return found
}
