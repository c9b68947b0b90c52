package naive_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestNaive: the model stays short, and imports nothing of this module but the contract that it models. That it calls
// no function of package task is checked by internal/arch.
func TestNaive(t *testing.T) {
	b, err := os.ReadFile("naive.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b, []byte("\n")); n > 500 {
		t.Errorf("%d lines: it must stay simple, at most 500", n)
	}
	f, err := parser.ParseFile(token.NewFileSet(), "naive.go", b, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range f.Imports {
		if p := strings.Trim(i.Path.Value, `"`); strings.Contains(p, ".") && p != "github.com/taskrt/taskrt/task" {
			t.Errorf("imports %s", p)
		}
	}
}
