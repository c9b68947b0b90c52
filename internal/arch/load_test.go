package arch_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// ignored are directories that git does not see: what was built, and what the pages' blocks leave.
var ignored = []string{"bin", "dist", "tmp"}

const module = "github.com/taskrt/taskrt"

// file is one Go file of the module.
type file struct {
	path string // from the root, with slashes
	dir  string
	test bool
	ast  *ast.File
	fset *token.FileSet
}

// root is the directory of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the working directory")
		}
		dir = parent
	}
}

// walk calls f for every file of the repository whose name ends so.
func walk(t *testing.T, suffix string, f func(name string)) {
	t.Helper()
	base := root(t)
	err := filepath.WalkDir(base, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(base, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if name := d.Name(); rel != "." && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "node_modules" || slices.Contains(ignored, rel)) {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil && rel != "." {
				return filepath.SkipDir // a module of its own
			}
			return nil
		}
		if strings.HasSuffix(rel, suffix) {
			f(rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// loaded parses the module once for all tests.
var loaded = sync.OnceValues(func() ([]*file, error) {
	var t testing.T
	fset := token.NewFileSet()
	var files []*file
	var failed error
	base := root(&t)
	walk(&t, ".go", func(name string) {
		f, err := parser.ParseFile(fset, filepath.Join(base, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			failed = err
			return
		}
		files = append(files, &file{name, path.Dir(name), strings.HasSuffix(name, "_test.go"), f, fset})
	})
	return files, failed
})

func load(t *testing.T) []*file {
	t.Helper()
	files, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("only %d files found: the walk is broken", len(files))
	}
	return files
}

// line returns the line of a node in its file.
func (f *file) line(n ast.Node) int { return f.fset.Position(n.Pos()).Line }

// imports returns the import paths of f.
func (f *file) imports() []string {
	var paths []string
	for _, i := range f.ast.Imports {
		paths = append(paths, strings.Trim(i.Path.Value, `"`))
	}
	return paths
}

// built reports whether f is compiled on this machine.
func (f *file) built(t *testing.T) bool {
	t.Helper()
	p := filepath.Join(root(t), f.path)
	ok, err := build.Default.MatchFile(filepath.Dir(p), filepath.Base(p))
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// functions yields the functions and methods that f declares.
func (f *file) functions() iter.Seq[*ast.FuncDecl] {
	return func(yield func(*ast.FuncDecl) bool) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && !yield(fn) {
				return
			}
		}
	}
}

// enclosing returns the name of the function declaration that holds n: "F", "T.M", or "" at package level.
func (f *file) enclosing(n ast.Node) string {
	for fn := range f.functions() {
		if fn.Pos() <= n.Pos() && n.End() <= fn.End() {
			return funcName(fn)
		}
	}
	return ""
}

// funcName returns "F" or, of a method, "T.M".
func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	typ, _, _ := strings.Cut(types.ExprString(fn.Recv.List[0].Type), "[") // without type parameters
	return strings.TrimPrefix(typ, "*") + "." + fn.Name.Name
}

// exceptions is a table of what is allowed although the rule says no, with the reason.
type exceptions map[string]string

// used notes which entries were needed, to find those that no longer are.
type used map[string]bool

func (u used) allows(t *testing.T, e exceptions, key string) bool {
	t.Helper()
	why, ok := e[key]
	if ok && strings.TrimSpace(why) == "" {
		t.Errorf("exception %q has no reason", key)
	}
	u[key] = true
	return ok
}

func (u used) complain(t *testing.T, e exceptions) {
	t.Helper()
	var stale []string
	for key := range e {
		if !u[key] {
			stale = append(stale, key)
		}
	}
	slices.Sort(stale)
	for _, key := range stale {
		t.Errorf("exception %q is no longer needed: remove it", key)
	}
}
