package explain

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
)

var rewrite = flag.Bool("rewrite", false, "write docs/errors.md anew")

// root is that of the repository.
const root = "../../../.."

// TestEachCodeIsExplained: whatever code a request, a task or a process ends with, there is one entry, which says what it means and what to do; and
// nothing else is explained (SPEC U3).
func TestEachCodeIsExplained(t *testing.T) {
	seen, headings := map[string]Kind{}, map[string]bool{}
	for _, e := range All() {
		if seen[e.Code] != "" || headings[strings.ToLower(e.Heading())] {
			t.Errorf("%s is explained twice", e.Code)
		}
		seen[e.Code], headings[strings.ToLower(e.Heading())] = e.Of, true
		for _, text := range []string{e.Means, e.Do} {
			if !strings.HasSuffix(text, ".") || strings.ToUpper(text[:1]) != text[:1] && text[0] != '`' {
				t.Errorf("%s: %q is no sentence", e.Code, text)
			}
		}
	}
	for code := range todo {
		if seen[code] == "" {
			t.Errorf("%s is no code of a request", code)
		}
	}
	for code := range afterExit {
		if seen[strconv.Itoa(code)] == "" {
			t.Errorf("%d is no exit code", code)
		}
	}
	for _, m := range exit.Meanings {
		if afterExit[m.Code] == "" {
			t.Errorf("exit code %d has no advice", m.Code)
		}
	}
	found := 0
	for _, dir := range []string{"task", "runtime", "api/client", "node/scheduled"} {
		for name, code := range codesIn(t, filepath.Join(root, dir)) {
			if found++; seen[code] == "" {
				t.Errorf("%s.%s: %s is not explained", dir, name, code)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d constants found: the search is broken", found)
	}
}

// codesIn are the constants of a package's files that are codes: CodeX = "…".
func codesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]string{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != len(v.Names) {
				return true
			}
			for i, name := range v.Names {
				text, is := v.Values[i].(*ast.BasicLit)
				if is && text.Kind == token.STRING && text.Value != `""` && strings.HasPrefix(name.Name, "Code") {
					codes[name.Name], _ = strconv.Unquote(text.Value)
				}
			}
			return true
		})
	}
	return codes
}

// TestTypes: the type of a problem is the place in the page where its code is explained (SPEC H3).
func TestTypes(t *testing.T) {
	for _, c := range api.Codes() {
		e, ok := Find(strings.ToUpper(c.Code))
		if !ok || e.Type != api.TypeOf(c.Code) {
			t.Errorf("%s: %+v, %s", c.Code, e, api.TypeOf(c.Code))
		}
	}
}

const pageHow = "go test ./cmd/taskrt/internal/explain -run TestPage -rewrite"

// TestPage: docs/errors.md says of each code what the program says.
func TestPage(t *testing.T) {
	path := filepath.Join(root, "docs", "errors.md")
	want := page()
	if *rewrite {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%v: docs/errors.md is not what it would be made; run: %s", err, pageHow)
	}
	anchor := regexp.MustCompile(`(?m)^### (.*)$`)
	anchors := map[string]bool{}
	for _, m := range anchor.FindAllStringSubmatch(want, -1) {
		anchors[strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")] = true
	}
	for _, e := range All() {
		if _, at, _ := strings.Cut(e.Type, "#"); !anchors[at] {
			t.Errorf("%s: the page has no %s", e.Code, at)
		}
	}
}

// aPage is what an advice calls a page, for people who have the repository; on the page it is a link.
var aPage = regexp.MustCompile(`docs/([a-z-]+\.md)`)

// page is docs/errors.md.
func page() string {
	var b strings.Builder
	b.WriteString("# Errors\n\nWhat each code means, and what to do. `taskrt explain CODE` says the same on the command line, without a network. Codes are stable:\n" +
		"later versions add some.\n\n<!-- made by " + pageHow + " -->\n")
	for _, part := range []struct {
		of          Kind
		title, text string
	}{
		{Request, "Requests", "The field `code` of a problem, and what a command prints when it is refused. The `type` of a problem is the address of its section here."},
		{Task, "Tasks", "The `code` in the `error` of a task that failed. Modules and external workers may give codes of their own."},
		{Process, "Exit codes", "What `taskrt` ends with."},
	} {
		b.WriteString("\n## " + part.title + "\n\n" + part.text + "\n")
		for _, e := range All() {
			if e.Of != part.of {
				continue
			}
			b.WriteString("\n### " + e.Heading() + "\n\n")
			if e.Status > 0 {
				b.WriteString(of(e)[len("request, "):] + ". ")
			}
			b.WriteString(e.Means + "\n\n" + aPage.ReplaceAllString(e.Do, "[$0]($1)") + "\n")
		}
	}
	return b.String()
}
