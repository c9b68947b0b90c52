package arch_test

import (
	"go/ast"
	"testing"
)

// sleeps are the calls of time.Sleep in tests that may stay: "file:function". In a synctest bubble sleeping takes no
// time and is how virtual time passes: function literals given to synctest.Test, or to a helper of the same package
// that calls it, need no entry.
var sleeps = exceptions{
	"internal/clustertest/ops.go:Cluster.Eventually":            "clusters live in a bubble: polls in virtual time",
	"internal/clustertest/ops.go:Cluster.Sleep":                 "clusters live in a bubble: lets virtual time pass",
	"worker/hub_test.go:hub.serve":                              "the hub lives in the test's bubble: a slow answer in virtual time",
	"worker/hub_test.go:bench.at":                               "the bench is a bubble: goes to a point of virtual time",
	"worker/session_test.go:TestLongLossStopsGuestsInTheMargin": "a guest that is slow to die, run in the bubble",
}

// TestNoSleep: a test that sleeps is slow, or flaky, or both.
func TestNoSleep(t *testing.T) {
	t.Parallel()
	files := load(t)
	helpers := map[string]bool{} // "dir:function" that call synctest.Test
	inspectCalls(files, func(f *file, call *ast.CallExpr) {
		if isCall(call, "synctest", "Test") {
			helpers[f.dir+":"+f.enclosing(call)] = true
		}
	})
	bubbles := map[*file][]ast.Expr{}
	inspectCalls(files, func(f *file, call *ast.CallExpr) {
		name, ok := call.Fun.(*ast.Ident)
		if isCall(call, "synctest", "Test") || ok && helpers[f.dir+":"+name.Name] {
			for _, a := range call.Args {
				if _, ok := a.(*ast.FuncLit); ok {
					bubbles[f] = append(bubbles[f], a)
				}
			}
		}
	})
	seen := used{}
	inspectCalls(files, func(f *file, call *ast.CallExpr) {
		if !isCall(call, "time", "Sleep") || !f.test && f.dir != "internal/clustertest" {
			return
		}
		for _, b := range bubbles[f] {
			if b.Pos() <= call.Pos() && call.End() <= b.End() {
				return
			}
		}
		if key := f.path + ":" + f.enclosing(call); !seen.allows(t, sleeps, key) {
			t.Errorf("%s:%d sleeps (%s)", f.path, f.line(call), key)
		}
	})
	seen.complain(t, sleeps)
}

func inspectCalls(files []*file, visit func(*file, *ast.CallExpr)) {
	for _, f := range files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				visit(f, call)
			}
			return true
		})
	}
}

// isCall reports whether call is pkg.name(…), going by the usual name of the package.
func isCall(call *ast.CallExpr, pkg, name string) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}
