package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestCodesAreRegistered: every code that this package, the state machine and the check of uploads name has a line in the
// registry.
func TestCodesAreRegistered(t *testing.T) {
	word := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	seen := map[string]bool{}
	for _, c := range codes {
		if seen[c.Code] || !word.MatchString(c.Code) || http.StatusText(c.Status) == "" || !strings.HasSuffix(c.Meaning, ".") {
			t.Errorf("line %+v", c)
		}
		seen[c.Code] = true
	}
	for file, atLeast := range map[string]int{"error.go": 20, "../task/result.go": 20, "../runtime/upload/upload.go": 15} {
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

// TestStatusTable: every code of the machine and of this package has a status in the table. An unknown code is an internal
// error.
func TestStatusTable(t *testing.T) {
	for code, want := range map[string]int{
		CodeBadRequest: 400, CodeInvalidJSON: 400, CodeUnknownField: 400, CodeInvalidField: 400,
		CodeNotFound: 404, CodeTaskNotFound: 404, CodeBehaviorNotFound: 404, CodeModuleNotFound: 404, CodeRemoved: 404, "namespace_not_found": 404,
		CodeMethodNotAllowed: 405, "already_exists": 409, "other_behavior": 409, "cancelling": 409, "not_cancellable": 409, "halt": 409, "worker_in_use": 409,
		CodeTooLarge: 413, CodeUnsupportedMedia: 415, CodeInvalidParams: 422, CodeParamsSchema: 422, CodeOverloaded: 429,
		CodeInternal: 500, "never heard of": 500, CodeNoLeader: 503, CodeOutcomeUnknown: 503, CodeNotReady: 503,
	} {
		if e := NewError(code, "x"); e.Status != want || e.Title == "" {
			t.Errorf("%s: status %d %q, want %d", code, e.Status, e.Title, want)
		}
	}
	if e := UploadError("not_wasm", "", "x"); e.Status != 422 {
		t.Errorf("upload error: %+v", e)
	}
	if e := UploadError("too_large", "", "x"); e.Status != 413 {
		t.Errorf("upload error: %+v", e)
	}
}
