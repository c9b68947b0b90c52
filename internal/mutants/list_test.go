package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEntries finds entries that went stale without running them: the fragment is no longer where the entry says, what it
// makes is not Go, or the test is not there.
func TestEntries(t *testing.T) {
	t.Chdir("../..")
	names := map[string]bool{}
	srcs := newSources()
	for _, m := range mutants {
		if names[m.Name] {
			t.Errorf("%s: twice", m.Name)
		}
		names[m.Name] = true
		if m.Old == m.New || strings.Count(m.New, "\n") > strings.Count(m.Old, "\n") || m.Why == "" {
			t.Errorf("%s: changes nothing, adds lines, or has no reason", m.Name)
		}
		if filepath.Ext(m.File) == ".go" {
			t.Errorf("%s: what is in Go is named by Dir and In", m.Name)
		}
		file, text, err := srcs.sabotage(m)
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
		} else if filepath.Ext(file) == ".go" {
			if _, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution); err != nil {
				t.Errorf("%s: what it makes is not Go: %v", m.Name, err)
			}
		}
		for name := range strings.SplitSeq(m.Run, "|") {
			name, _, _ = strings.Cut(name, "/") // subtests are named at run time
			if name = strings.TrimSuffix(name, "$"); !hasTest(t, m.Pkg, name) {
				t.Errorf("%s: %s has no test %s", m.Name, m.Pkg, name)
			}
		}
	}
}

func hasTest(t *testing.T, pkg, name string) bool {
	files, err := filepath.Glob(filepath.Join(pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(`)
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if declared.Match(src) {
			return true
		}
	}
	return false
}
