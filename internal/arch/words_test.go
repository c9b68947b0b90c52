package arch_test

import (
	"go/ast"
	"strings"
	"testing"
)

// exact are the functions of the command line that may write to standard output and standard error as programs read them:
// "file:function". Everything else is for people and goes through internal/terminal, which makes the text of guests and
// clients safe.
var exact = exceptions{
	"cmd/taskrt/client.go:program.encodeJSON": "-o json of commands that ask no server",
	"cmd/taskrt/client.go:program.openLog":    "slog quotes what it logs",
	"cmd/taskrt/main.go:program.app":          "urfave/cli prints help, which is taskrt's own text",

	"cmd/taskrt/observe.go:observeCommand": "YAML and JSON for Prometheus and Grafana, which quote what a terminal would obey",

	"cmd/taskrt/internal/form/form.go:Printer.Write":  "-o json is the API's answer, byte for byte",
	"cmd/taskrt/internal/snapshots/snapshots.go:save": "a backup on standard output, which must not be a terminal",
}

// streams are where the process's own are named.
var streams = exceptions{
	"cmd/taskrt/internal/guests/guests.go:parts": "the log of a process that has no terminal.Output; slog quotes what it logs",
	"cmd/taskrt/main.go:main":                    "hands them to run, which makes terminal.Outputs of them",
}

// TestWordsForPeople: no command prints past internal/terminal.
func TestWordsForPeople(t *testing.T) {
	t.Parallel()
	var files []*file
	for _, f := range load(t) {
		if strings.HasPrefix(f.dir+"/", "cmd/taskrt/") && !f.test {
			files = append(files, f)
		}
	}
	if len(files) < 20 {
		t.Fatalf("only %d files of the command line found", len(files))
	}
	seen := used{}
	for _, f := range files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			key := f.path + ":" + f.enclosing(n)
			x, _ := s.X.(*ast.Ident)
			of := func(pkg string, names ...string) bool {
				for _, name := range names {
					if x != nil && x.Name == pkg && s.Sel.Name == name {
						return true
					}
				}
				return false
			}
			switch {
			case s.Sel.Name == "Exact" && !seen.allows(t, exact, key):
				t.Errorf("%s:%d writes as programs read it (%s): people's terminals obey what is in it", f.path, f.line(n), key)
			case of("os", "Stdout", "Stderr") && !seen.allows(t, streams, key):
				t.Errorf("%s:%d writes past internal/terminal (%s)", f.path, f.line(n), key)
			case of("fmt", "Print", "Printf", "Println", "Fprint", "Fprintf", "Fprintln"):
				t.Errorf("%s:%d prints past internal/terminal (%s)", f.path, f.line(n), key)
			case (s.Sel.Name == "Writer" || s.Sel.Name == "ErrWriter") && !of("io", "Writer"):
				t.Errorf("%s:%d takes a writer of urfave/cli (%s): use program.stdout or program.stderr", f.path, f.line(n), key)
			}
			return true
		})
		inspectCalls([]*file{f}, func(f *file, call *ast.CallExpr) {
			if name, ok := call.Fun.(*ast.Ident); ok && (name.Name == "print" || name.Name == "println") {
				t.Errorf("%s:%d prints past internal/terminal", f.path, f.line(call))
			}
		})
	}
	seen.complain(t, exact)
	seen.complain(t, streams)
}
