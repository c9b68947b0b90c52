package arch_test

import (
	"go/ast"
	"strings"
	"testing"
)

// sleeps are the calls of time.Sleep in tests that may stay: "file:function". In a synctest bubble sleeping takes no
// time and is how virtual time passes: function literals given to synctest.Test, or to a helper of the same package
// that gets there, need no entry.
var sleeps = exceptions{
	"extworker/cluster_test.go:bench.after":                     "the bench is a bubble: goes to a point of virtual time",
	"extworker/cluster_test.go:bench.ended":                     "the bench is a bubble: looks again a moment later",
	"node/accept/client_test.go:links.lead":                     "in the test's bubble: lets the news of a leader arrive",
	"worker/hub_test.go:hub.serve":                              "the hub lives in the test's bubble: a slow answer in virtual time",
	"worker/hub_test.go:bench.at":                               "the bench is a bubble: goes to a point of virtual time",
	"worker/session_test.go:TestLongLossStopsGuestsInTheMargin": "a guest that is slow to die, run in the bubble",
}

// bubblePackages are packages of which every test is a bubble; each of their tests must call synctest.Test or a helper.
var bubblePackages = exceptions{
	"internal/clustertest": "whole clusters in virtual time, and what drives them",
}

// TestNoSleep: a test that sleeps is slow, or flaky, or both.
func TestNoSleep(t *testing.T) {
	t.Parallel()
	files := load(t)
	helpers := bubbleHelpers(files)
	bubbles := bubblesOf(files, helpers)
	seen := used{}
	inspectCalls(files, func(f *file, call *ast.CallExpr) {
		if !isCall(call, "time", "Sleep") || !f.test && bubblePackages[f.dir] == "" || seen.allows(t, bubblePackages, f.dir) {
			return
		}
		if bubbles.hold(f, call) {
			return
		}
		if key := f.path + ":" + f.enclosing(call); !seen.allows(t, sleeps, key) {
			t.Errorf("%s:%d sleeps (%s)", f.path, f.line(call), key)
		}
	})
	seen.complain(t, sleeps)
	seen.complain(t, bubblePackages)
	for _, f := range files {
		for fn := range f.functions() {
			if f.test && bubblePackages[f.dir] != "" && isTest(fn) && !helpers[f.dir+":"+fn.Name.Name] {
				t.Errorf("%s: %s is not a bubble, as all tests of the package should be", f.path, fn.Name.Name)
			}
		}
	}
}

// bubbles are the function literals of each file that run in virtual time.
type bubbles map[*file][]ast.Expr

func bubblesOf(files []*file, helpers map[string]bool) bubbles {
	all := bubbles{}
	inspectCalls(files, func(f *file, call *ast.CallExpr) {
		name, ok := call.Fun.(*ast.Ident)
		if isCall(call, "synctest", "Test") || isCall(call, "clustertest", "Run") || ok && helpers[f.dir+":"+name.Name] {
			for _, a := range call.Args {
				if _, ok := a.(*ast.FuncLit); ok {
					all[f] = append(all[f], a)
				}
			}
		}
	})
	return all
}

func (b bubbles) hold(f *file, n ast.Node) bool {
	for _, lit := range b[f] {
		if lit.Pos() <= n.Pos() && n.End() <= lit.End() {
			return true
		}
	}
	return false
}

func isTest(fn *ast.FuncDecl) bool {
	return fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") && fn.Name.Name != "TestMain"
}

// bubbleHelpers returns the functions ("dir:function") that call synctest.Test, or another of them. Methods ("dir:type.method") are also
// there by their name alone ("dir:.method").
func bubbleHelpers(files []*file) map[string]bool {
	helpers := map[string]bool{}
	for n := -1; n < len(helpers); {
		n = len(helpers)
		inspectCalls(files, func(f *file, call *ast.CallExpr) {
			if isCall(call, "synctest", "Test") || callsHelper(helpers, f.dir, call) {
				name := f.enclosing(call)
				helpers[f.dir+":"+name] = true
				if _, method, ok := strings.Cut(name, "."); ok {
					helpers[f.dir+":."+method] = true
				}
			}
		})
	}
	return helpers
}

// callsHelper reports whether call is one of a helper: a function, or a method, going by its name alone.
func callsHelper(helpers map[string]bool, dir string, call *ast.CallExpr) bool {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return helpers[dir+":"+fun.Name]
	case *ast.SelectorExpr:
		return helpers[dir+":."+fun.Sel.Name]
	}
	return false
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
