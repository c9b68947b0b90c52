package arch_test

import (
	"go/ast"
	"path"
	"strings"
	"testing"
)

// What a file and a function may have at most. Not in tests.
const (
	maxFileLines = 500
	maxFuncLines = 70
)

// longFiles and longFuncs ("package:function") are the exceptions.
var (
	longFiles = exceptions{}
	longFuncs = exceptions{}
)

func TestSizes(t *testing.T) {
	t.Parallel()
	seen := used{}
	for _, f := range load(t) {
		if f.test || ast.IsGenerated(f.ast) {
			continue
		}
		if n := f.fset.File(f.ast.FileStart).LineCount() - 1; n > maxFileLines && !seen.allows(t, longFiles, f.path) {
			t.Errorf("%s has %d lines, more than %d: two ideas?", f.path, n, maxFileLines)
		}
		for fn := range f.functions() {
			n := f.fset.Position(fn.End()).Line - f.line(fn) + 1
			if key := f.dir + ":" + funcName(fn); n > maxFuncLines && !seen.allows(t, longFuncs, key) {
				t.Errorf("%s: %s has %d lines, more than %d", f.path, funcName(fn), n, maxFuncLines)
			}
		}
	}
	seen.complain(t, longFiles)
	seen.complain(t, longFuncs)
}

// TestPackageComments: every package says what it is for, in one place that starts with its name.
func TestPackageComments(t *testing.T) {
	t.Parallel()
	said := map[string]string{}
	only := map[string]bool{} // packages of tests alone
	for _, f := range load(t) {
		if !f.test {
			only[f.dir] = false
		} else if _, ok := only[f.dir]; !ok {
			only[f.dir] = true
		}
	}
	for _, f := range load(t) {
		if _, ok := said[f.dir]; !ok {
			said[f.dir] = ""
		}
		if f.ast.Doc == nil || f.test && !only[f.dir] {
			continue
		}
		text := f.ast.Doc.Text()
		want := "Package " + strings.TrimSuffix(f.ast.Name.Name, "_test")
		if f.ast.Name.Name == "main" {
			want = "Command "
			if name := path.Base(f.dir); strings.HasPrefix(text, strings.ToUpper(name[:1])+name[1:]+" ") {
				want = "" // Go's other custom for programs
			}
		}
		if !strings.HasPrefix(text, want) {
			t.Errorf("%s: the package comment starts with %q, want %q", f.path, strings.SplitN(text, "\n", 2)[0], want)
		}
		if said[f.dir] != "" {
			t.Errorf("%s and %s both have a package comment", said[f.dir], f.path)
		}
		said[f.dir] = f.path
	}
	for dir, where := range said {
		if where == "" {
			t.Errorf("package %s has no package comment", dir)
		}
	}
}
