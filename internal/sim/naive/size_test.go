package naive_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The model covers all of SPEC sections 3, 4 and 7 to 10, and Q3. The machine that is measured by it has many times as many
// lines. The model had 500 lines when it had only submits, runs and sessions. Limits, external leases, behaviors'
// lives, transactions, the TaskStore, operations, namespaces, blobs, maintenance, imports, rights and bulk
// jobs are a file or two each.
// Nobody can check a model at a glance when it grows beyond these numbers.
const (
	maxFile = 220
	maxAll  = 4_250
)

// TestNaive: the model stays short. Of this module it imports only the contract that it models, and of it the numbers of spans, which are
// a hash. internal/arch checks that it calls no function of package task.
func TestNaive(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n := bytes.Count(b, []byte("\n"))
		if all += n; n > maxFile {
			t.Errorf("%s: %d lines: a topic must stay simple, at most %d", name, n, maxFile)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, b, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if p := strings.Trim(i.Path.Value, `"`); strings.Contains(p, ".") && p != "github.com/taskrt/taskrt/task" && p != "github.com/taskrt/taskrt/task/tracing" {
				t.Errorf("%s imports %s", name, p)
			}
		}
	}
	if all > maxAll || all < 1_000 {
		t.Errorf("%d lines in all: want 1,000 to %d", all, maxAll)
	}
}
