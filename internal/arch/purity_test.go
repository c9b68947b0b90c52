package arch_test

import (
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"sync"
	"testing"
)

// pureImports is all that package task and its rooms may import beside each other: nothing that knows a clock, randomness, goroutines
// or the outside.
var pureImports = []string{
	"bytes", "cmp", "container/heap", "crypto/sha256", "encoding/base32", "encoding/binary", "encoding/hex", "encoding/json", "errors",
	"fmt", "io", "iter", "maps", "math", "math/bits", "slices", "sort", "strconv", "strings", "unicode/utf8",
}

// readsJSON names the packages that read JSON, too. The same bytes mean the same on all nodes.
var readsJSON = map[string][]string{"task/match": {"encoding/json", "io"}}

// orderFree marks a line that ranges over a map in whatever order, with the reason why that is no harm.
const orderFree = "order-free: "

// pure are the packages that are held to it, with about as few files as each has.
var pure = map[string]int{"task": 50, "task/records": 2, "task/table": 2, "task/backoff": 1, "task/names": 1, "task/blobs": 2, "task/answers": 4, "task/queue": 5, "task/plan": 3, "task/hash": 1, "task/store": 4, "task/exclusive": 1, "task/access": 5, "task/audit": 5, "task/bounds": 1, "task/roster": 1, "task/holds": 1, "task/upkeep": 1, "task/match": 2, "task/jobs": 2, "task/hurdle": 1, "task/tracing": 1}

func TestTaskIsPure(t *testing.T) {
	t.Parallel()
	imp := &moduleImporter{t, map[string]*types.Package{}}
	for dir, least := range pure {
		var files []*file
		for _, f := range load(t) {
			if f.dir == dir && !f.test && f.built(t) {
				files = append(files, f)
			}
		}
		if len(files) < least {
			t.Fatalf("only %d files of package %s found", len(files), dir)
		}
		p := check(t, files, imp)
		for _, f := range files {
			for _, complaint := range p.impure(f) {
				t.Error(complaint)
			}
		}
	}
}

// checked is a type-checked package.
type checked struct {
	info *types.Info
	pkg  *types.Package
}

// stdlib imports the standard library from its source: the same packages for all tests, because that takes a while.
var stdlib types.Importer = &stdImporter{imp: importer.ForCompiler(token.NewFileSet(), "source", nil)}

type stdImporter struct {
	mu  sync.Mutex // the importer of go/importer is for one goroutine
	imp types.Importer
}

// Import implements types.Importer.
func (s *stdImporter) Import(path string) (*types.Package, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.imp.Import(path)
}

// check type-checks a package from source, in-process.
func check(t *testing.T, files []*file, imp types.Importer) checked {
	t.Helper()
	var asts []*ast.File
	for _, f := range files {
		asts = append(asts, f.ast)
	}
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
	}
	pkg, err := (&types.Config{Importer: imp}).Check(module+"/"+files[0].dir, files[0].fset, asts, info)
	if err != nil {
		t.Fatal(err)
	}
	return checked{info, pkg}
}

// impure returns what in f breaks the rules of the core.
func (c checked) impure(f *file) []string {
	var out []string
	complain := func(n ast.Node, what string) {
		p := f.fset.Position(n.Pos())
		out = append(out, f.path+":"+strings.TrimPrefix(p.String(), p.Filename+":")+": "+what)
	}
	for _, i := range f.ast.Imports {
		p := strings.Trim(i.Path.Value, `"`)
		if _, room := pure[strings.TrimPrefix(p, module+"/")]; !room && !slices.Contains(pureImports, p) && !slices.Contains(readsJSON[f.dir], p) {
			complain(i, "package "+f.dir+" must not import "+p)
		}
	}
	free := map[int]bool{}
	for _, g := range f.ast.Comments {
		for _, line := range g.List {
			if _, why, ok := strings.Cut(line.Text, orderFree); ok && len(strings.Fields(why)) >= 2 {
				free[f.line(line)] = true
			}
		}
	}
	sorted := map[ast.Expr]bool{} // arguments of slices.Sorted…: their order does not matter
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			complain(n, "a goroutine")
		case *ast.ChanType, *ast.SendStmt, *ast.SelectStmt:
			complain(n, "a channel")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				complain(n, "a channel")
			}
		case *ast.BasicLit:
			if n.Kind == token.FLOAT || n.Kind == token.IMAG {
				complain(n, "a float")
			}
		case *ast.RangeStmt:
			if c.isMap(n.X) && !free[f.line(n)] {
				complain(n, "the order of a map's range must not matter; if it does not, say why: `// "+orderFree+"…`")
			}
		case *ast.CallExpr:
			name := c.callee(n)
			if strings.HasPrefix(name, "slices.Sorted") && len(n.Args) > 0 {
				sorted[n.Args[0]] = true
			}
			if (name == "maps.All" || name == "maps.Keys" || name == "maps.Values") && !sorted[n] && !free[f.line(n)] {
				complain(n, name+" goes through a map in any order; sort it at once, or say why not: `// "+orderFree+"…`")
			}
			if name == "print" || name == "println" || name == "recover" {
				complain(n, name)
			}
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				complain(n, "an init function")
			}
		case *ast.Ident:
			if obj := c.info.Defs[n]; obj != nil {
				if v, ok := obj.(*types.Var); ok && v.Parent() == c.pkg.Scope() && n.Name != "_" && !isError(v.Type()) {
					complain(n, "a global variable")
				}
			}
		}
		if e, ok := n.(ast.Expr); ok {
			if b, ok := types.Unalias(c.typeOf(e)).Underlying().(*types.Basic); ok && b.Info()&(types.IsFloat|types.IsComplex) != 0 {
				complain(n, "a float")
			}
		}
		return true
	})
	return slices.Compact(out)
}

// typeOf returns the type of e, never nil.
func (c checked) typeOf(e ast.Expr) types.Type {
	if tv, ok := c.info.Types[e]; ok && tv.Type != nil {
		return tv.Type
	}
	return types.Typ[types.Invalid]
}

func (c checked) isMap(e ast.Expr) bool {
	switch u := c.typeOf(e).Underlying().(type) {
	case *types.Map:
		return true
	case *types.Interface: // a type parameter: any map in its type set counts
		for i := range u.NumEmbeddeds() {
			union, ok := u.EmbeddedType(i).(*types.Union)
			for j := 0; ok && j < union.Len(); j++ {
				if _, isMap := union.Term(j).Type().Underlying().(*types.Map); isMap {
					return true
				}
			}
		}
	}
	return false
}

// callee names the function that a call calls: "pkg.F" of another package, "F" of a builtin or of this one.
func (c checked) callee(call *ast.CallExpr) string {
	fun := call.Fun
	if x, ok := fun.(*ast.IndexExpr); ok {
		fun = x.X
	}
	switch fun := fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		if x, ok := fun.X.(*ast.Ident); ok {
			if _, ok := c.info.Uses[x].(*types.PkgName); ok {
				return x.Name + "." + fun.Sel.Name
			}
		}
	}
	return ""
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }
