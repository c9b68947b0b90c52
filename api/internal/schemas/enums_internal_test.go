package schemas

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/jobs"
)

// source is where the constants of an enumeration stand: those of a type, or those whose names begin in a way.
type source struct {
	file, typ, prefix string
	zero              int      // how many of them are no word of the API
	more              []string // words that are no constant of the type
}

var sources = map[string]source{
	"TaskStatus":      {file: "task/task.go", typ: "Status"},
	"OperationStatus": {file: "task/operation.go", typ: "OperationStatus"},
	"NamespaceStatus": {file: "task/namespace.go", typ: "NamespaceStatus"},
	"SubmitOutcome":   {file: "task/result.go", typ: "SubmitOutcome"},
	"IfExists":        {file: "task/submit.go", typ: "IfExists"},
	"IDStrategy":      {file: "task/behavior.go", typ: "IDStrategy"},
	"OnTimeout":       {file: "task/behavior.go", typ: "OnError", zero: 1},
	"Role":            {file: "task/access/access.go", typ: "Roles", zero: 1}, // All
	"ReasonKind":      {file: "task/result.go", prefix: "Reason"},
	"NodeRole":        {file: "raftstore/status.go", typ: "Role", more: []string{"unreachable", "removed"}},
	"NodeVote":        {file: "task/roster/roster.go", typ: "Vote"},
	"RunStatus":       {file: "task/run.go", prefix: "outcome", more: []string{"WAITING", "RUNNING", "FAILURE", "REMOVED"}},
}

// TestEnumsHaveEveryConstant: a constant that is added to a Go type is a word of its enumeration, or this fails.
func TestEnumsHaveEveryConstant(t *testing.T) {
	for _, e := range enums {
		if e.Doc == "" || len(e.Words) == 0 || len(e.Fields) == 0 {
			t.Errorf("%s: a description, words and fields are needed", e.Name)
		}
		s, ok := sources[e.Name]
		if !ok {
			continue
		}
		count, texts := constants(t, "../../../"+s.file, s)
		if want := count - s.zero + len(s.more); len(e.Words) != want {
			t.Errorf("%s: %d words for %d constants and %q: %q", e.Name, len(e.Words), count-s.zero, s.more, e.Words)
		}
		for _, word := range append(texts, s.more...) {
			if !slices.Contains(e.Words, word) {
				t.Errorf("%s: %s lacks %q", s.file, e.Name, word)
			}
		}
	}
	for name := range sources {
		if !slices.ContainsFunc(enums, func(e Enum) bool { return e.Name == name }) {
			t.Errorf("%s is no enumeration", name)
		}
	}
	if got := Words("ErrorCode"); len(got) != len(api.Codes()) || len(got) < 80 {
		t.Errorf("%d codes", len(got))
	}
}

// constants counts constants, and returns the texts of those that are texts.
func constants(t *testing.T, path string, s source) (count int, texts []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		last := "" // the type of a line without one
		for _, spec := range group.Specs {
			v := spec.(*ast.ValueSpec)
			if id, ok := v.Type.(*ast.Ident); ok {
				last = id.Name
			} else if len(v.Values) > 0 && s.typ != "Roles" { // All = Read | … has the type of its parts
				last = ""
			}
			for i, name := range v.Names {
				if s.typ != "" && last != s.typ || s.prefix != "" && !strings.HasPrefix(name.Name, s.prefix) {
					continue
				}
				count++
				if len(v.Values) > i {
					if text, ok := v.Values[i].(*ast.BasicLit); ok && text.Kind == token.STRING {
						word, _ := strconv.Unquote(text.Value)
						texts = append(texts, word)
					}
				}
			}
		}
	}
	return count, texts
}

// TestEnumeratedFields: every field of the table exists, and its schema refers to the enumeration.
func TestEnumeratedFields(t *testing.T) {
	s := New()
	for _, v := range []any{
		codec.TaskAnswer{}, codec.OperationAnswer{}, codec.NamespaceAnswer{}, api.SubmitReply{}, api.Error{}, auth.Token{}, auth.CreateTokenRequest{},
		auth.Issuer{}, api.SubmitRequest{}, codec.MaintenanceRunAnswer{}, api.Cluster{}, codec.BehaviorAnswer{}, api.Behavior{}, api.WaitRequest{}, api.ExternalBehavior{}, jobs.JobReply{},
	} {
		s.Of(v, false)
	}
	seen := map[string]bool{}
	for _, e := range enums {
		for _, f := range e.Fields {
			typ, field, _ := strings.Cut(f, ".")
			if seen[f] {
				t.Errorf("%s has two enumerations", f)
			}
			seen[f] = true
			c := s.Named[strings.Replace(typ, "Error", "Problem", 1)]
			if c == nil {
				t.Errorf("%s: no such type", f)
				continue
			}
			found := false
			for _, p := range c.Properties {
				if p.Items != nil {
					p = p.Items
				}
				found = found || p.Ref == "#/components/schemas/"+e.Name
			}
			if !found {
				t.Errorf("%s (%s) does not refer to %s", f, field, e.Name)
			}
		}
	}
}

// TestAnyValue: no schema is written as true.
func TestAnyValue(t *testing.T) {
	s := New()
	s.Of(api.SubmitRequest{}, true)
	for name, p := range s.Named["SubmitRequest"].Properties {
		text, err := p.MarshalJSON()
		if err != nil || string(text) == "true" {
			t.Errorf("%s: %s %v", name, text, err)
		}
	}
}
