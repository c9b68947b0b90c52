package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/internal/golist"
)

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
}

// list asks go for packages.
func list(flags, packages []string) (map[string]listed, error) {
	found, err := golist.Packages[listed](".", slices.Concat([]string{"-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports"}, flags, packages)...)
	all := map[string]listed{}
	for _, p := range found {
		all[p.ImportPath] = p
	}
	return all, err
}

// harmless are packages of other modules that call nobody back on a goroutine of their own, and packages of this module that run a program and wait
// for its end.
var harmless = []string{
	"github.com/fxamacker/cbor/v2", "github.com/google/jsonschema-go", "github.com/santhosh-tekuri/jsonschema/v6", "github.com/tetratelabs/wazero", "golang.org/x/mod", "golang.org/x/text", "golang.org/x/tools",
	"github.com/taskrt/taskrt/internal/leash", "github.com/taskrt/taskrt/internal/built",
}

// concurrent are packages of the standard library that call back on goroutines of their own.
var concurrent = []string{"net", "net/http", "net/http/httptest", "net/http/httputil", "net/rpc", "os/exec", "os/signal", "testing/synctest"}

// starters are functions and methods that call back on another goroutine.
var starters = []string{"AddCleanup", "AfterFunc", "Go", "RunParallel", "SetFinalizer"}

// judge finds the packages whose tests run in one goroutine: the race detector has nothing to see in them.
type judge struct {
	all   map[string]listed
	known map[string]traits // of code without tests
}

// traits are what matters of some files.
type traits struct {
	starts   bool // a goroutine
	writes   bool // variables of the package
	parallel bool // tests
}

func (t *traits) add(u traits) {
	t.starts, t.writes, t.parallel = t.starts || u.starts, t.writes || u.writes, t.parallel || u.parallel
}

// part divides packages into packages that are worth a run with the race detector, and quiet packages. Tests of a quiet package start no goroutine:
// neither they nor what they import have a way to. Parallel tests are quiet, too, if there is no variable that somebody writes: they share nothing else.
func (j *judge) part(paths []string) (worth, quiet []string) {
	for _, path := range paths {
		p, ok := j.all[path]
		t := j.files(p, slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles))
		t.add(j.imports(slices.Concat(p.Imports, p.TestImports, p.XTestImports)))
		switch {
		case !ok || t.starts || t.parallel && t.writes:
			worth = append(worth, path)
		case len(p.TestGoFiles)+len(p.XTestGoFiles) > 0:
			quiet = append(quiet, path)
		}
	}
	return worth, quiet
}

// imports returns what there is in packages, and in what they import.
func (j *judge) imports(paths []string) (t traits) {
	for _, path := range paths {
		_, ours := j.all[path]
		first, _, _ := strings.Cut(path, "/")
		switch {
		case slices.ContainsFunc(harmless, func(h string) bool { return path == h || strings.HasPrefix(path, h+"/") }):
		case ours:
			t.add(j.code(path))
		case strings.Contains(first, ".") || slices.Contains(concurrent, path):
			t.starts = true
		}
	}
	return t
}

// code returns what there is in a package without its tests, and in what it imports.
func (j *judge) code(path string) traits {
	t, ok := j.known[path]
	if !ok {
		p := j.all[path]
		t = j.files(p, p.GoFiles)
		t.add(j.imports(p.Imports))
		j.known[path] = t
	}
	return t
}

// files returns what there is in files of a package.
func (j *judge) files(p listed, names []string) (t traits) {
	var files []*ast.File
	globals := map[string]bool{}
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, 0)
		if err != nil {
			return traits{starts: true} // who knows
		}
		files = append(files, f)
		for name, o := range f.Scope.Objects { // a file's own names are all that it need resolve
			globals[name] = globals[name] || o.Kind == ast.Var
		}
	}
	for _, f := range files {
		t.add(look(f, f.Scope, globals))
	}
	return t
}

// look returns what there is in a node of a file of a package with such variables.
func look(node ast.Node, file *ast.Scope, globals map[string]bool) (t traits) { //nolint:staticcheck // the type checker would need all imports
	global := func(e ast.Expr) bool {
		id := written(e)
		return id != nil && globals[id.Name] && (id.Obj == nil || id.Obj == file.Lookup(id.Name))
	}
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
			t.starts = true
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok {
				t.add(traits{starts: slices.Contains(starters, s.Sel.Name), parallel: s.Sel.Name == "Parallel"})
			}
		case *ast.AssignStmt:
			t.add(traits{writes: n.Tok != token.DEFINE && slices.ContainsFunc(n.Lhs, global)})
		case *ast.RangeStmt:
			t.add(traits{writes: n.Tok == token.ASSIGN && (n.Key != nil && global(n.Key) || n.Value != nil && global(n.Value))})
		case *ast.IncDecStmt:
			t.add(traits{writes: global(n.X)})
		case *ast.UnaryExpr:
			t.add(traits{writes: n.Op == token.AND && global(n.X)})
		}
		return true
	})
	return t
}

// written returns the variable of which e is a part, or nil.
func written(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		default:
			return nil
		}
	}
}
