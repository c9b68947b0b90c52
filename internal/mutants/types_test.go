package main

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/taskrt/taskrt/internal/golist"
)

// TestEntriesCompile type-checks what each entry makes. A sabotage that does not compile is noticed by the compiler and proves
// nothing of the tests; CI tries only a share of the entries, so it would find out on some later day.
func TestEntriesCompile(t *testing.T) {
	t.Chdir("../..")
	srcs, pkgs := newSources(), listPackages(t)
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(pkgs[path].Export) }
	var group sync.WaitGroup
	next := make(chan mutant)
	for range runtime.GOMAXPROCS(0) {
		fset := token.NewFileSet()
		c := checker{fset, importer.ForCompiler(fset, "gc", lookup), map[string]*ast.File{}}
		group.Go(func() {
			for m := range next {
				if err := c.check(srcs, pkgs, m); err != nil {
					t.Errorf("%s: what it makes does not compile: %v", m.Name, err)
				}
			}
		})
	}
	for _, m := range mutants {
		if m.File == "" {
			next <- m
		}
	}
	close(next)
	group.Wait()
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Export string
	GoFiles            []string
}

// listPackages returns the packages of this module and all that they import, by import path; this module's also by directory.
func listPackages(t *testing.T) map[string]listed {
	t.Helper()
	type whose struct {
		listed
		Dir    string
		Module *struct{ Main bool }
	}
	found, err := golist.Packages[whose](".", "-export", "-deps", "-tags", "urfave_cli_no_docs", "-json=ImportPath,Export,GoFiles,Dir,Module", "./...")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]listed{}
	for _, p := range found {
		all[p.ImportPath] = p.listed
		if p.Module != nil && p.Module.Main {
			dir, err := filepath.Rel(root, p.Dir)
			if err != nil {
				t.Fatal(err)
			}
			all["./"+filepath.ToSlash(dir)] = p.listed
		}
	}
	return all
}

// checker type-checks packages; one goroutine uses it.
type checker struct {
	fset    *token.FileSet
	imports types.Importer
	parsed  map[string]*ast.File // without bodies
}

// check type-checks the file that m changes beside the declarations of its package's other files.
func (c checker) check(srcs *sources, pkgs map[string]listed, m mutant) error {
	file, text, err := srcs.sabotage(m)
	if err != nil {
		return nil //nolint:nilerr // TestEntries says so
	}
	pkg, ok := pkgs["./"+filepath.ToSlash(m.Dir)]
	if !ok || !slices.Contains(pkg.GoFiles, filepath.Base(file)) {
		return nil // a file of another system, or of a module of its own
	}
	var files []*ast.File
	for _, name := range pkg.GoFiles {
		name = filepath.Join(m.Dir, name)
		f, err := c.declarations(name)
		if name == file {
			f, err = parser.ParseFile(c.fset, name, text, parser.SkipObjectResolution)
		}
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	var first error
	config := types.Config{Importer: c.imports, Sizes: types.SizesFor("gc", runtime.GOARCH), Error: func(err error) {
		var e types.Error
		if first == nil && errors.As(err, &e) && e.Fset.Position(e.Pos).Filename == file {
			first = err
		}
	}}
	_, _ = config.Check(pkg.ImportPath, c.fset, files, nil) // Error has heard
	return first
}

// declarations returns a file without the bodies of its functions.
func (c checker) declarations(name string) (*ast.File, error) {
	if f := c.parsed[name]; f != nil {
		return f, nil
	}
	f, err := parser.ParseFile(c.fset, name, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	withoutBodies(f)
	c.parsed[name] = f
	return f, nil
}

// withoutBodies leaves of each function what others need to know of it. Its imports look unused then.
func withoutBodies(f *ast.File) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name != "init" && fn.Name.Name != "main" {
			fn.Body = nil
		}
	}
}
