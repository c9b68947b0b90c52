package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPart: a package is left out only if no test of it can start a goroutine, by whatever it imports.
func TestPart(t *testing.T) {
	t.Parallel()
	const quiet, worth = true, false
	parallel := "func TestX(t *testing.T) { t.Parallel(); F() }"
	for _, c := range []struct {
		name, code, test string
		imports          []string
		quiet            bool
	}{
		{name: "pure", code: "func F() int { return 1 }", test: "func TestX(t *testing.T) { F() }", quiet: quiet},
		{name: "in the code", code: "func F() { go G() }"},
		{name: "in a test", test: "func TestX(t *testing.T) { go F() }"},
		{name: "in a function's variable", code: "var f = func() { go F() }"},
		{name: "a group", test: "func TestX(t *testing.T) { var g sync.WaitGroup; g.Go(F) }"},
		{name: "a timer", code: "func F() { time.AfterFunc(1, G) }"},
		{name: "a cleanup", code: "func F() { runtime.AddCleanup(x, f, 1) }"},
		{name: "a channel", code: "func F(c chan int) { }"},
		{name: "a server", imports: []string{"net/http"}},
		{name: "addresses", imports: []string{"net/netip"}, quiet: quiet},
		{name: "virtual time", imports: []string{"testing/synctest"}},
		{name: "somebody's library", imports: []string{"example.com/lib"}},
		{name: "a library that is known", imports: []string{"github.com/tetratelabs/wazero/api"}, quiet: quiet},
		{name: "a library of a similar name", imports: []string{"github.com/tetratelabs/wazero2"}},
		{name: "it imports one that starts some", imports: []string{"m/starts"}},
		{name: "it imports one that imports it", imports: []string{"m/above"}},
		{name: "it imports a pure one", imports: []string{"m/reads"}, quiet: quiet},
		{name: "a variable is written", code: "var n int\nfunc F() { n = 1 }", quiet: quiet},
		{name: "parallel", code: "var n = 1\nfunc F() { m := n; m = 2; _ = m }", test: parallel, quiet: quiet},
		{name: "parallel, written", code: "var n int\nfunc F() { n = 1 }", test: parallel},
		{name: "parallel, counted", code: "var n int\nfunc F() { n++ }", test: parallel},
		{name: "parallel, a part written", code: "var n struct{ a []int }\nfunc F() { (n.a)[1:][0] += 1 }", test: parallel},
		{name: "parallel, its address", code: "var n int\nfunc F() { G(&n) }", test: parallel},
		{name: "parallel, ranged into", code: "var n int\nfunc F() { for n = range 3 { } }", test: parallel},
		{name: "parallel, a local of the name", code: "var n int\nfunc F() { n := 1; n++ }", test: parallel, quiet: quiet},
		{name: "parallel, written in a package below", test: parallel, imports: []string{"m/writes"}},
		{name: "no Go", code: "func", quiet: worth},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			pkg := func(name, code string, imports ...string) listed {
				file := name + ".go"
				if err := os.WriteFile(filepath.Join(dir, file), []byte("package p\n"+code), 0o600); err != nil {
					t.Fatal(err)
				}
				return listed{ImportPath: "m/" + name, Dir: dir, GoFiles: []string{file}, Imports: imports}
			}
			it := pkg("it", c.code)
			if err := os.WriteFile(filepath.Join(dir, "it_test.go"), []byte("package p\n"+c.test), 0o600); err != nil {
				t.Fatal(err)
			}
			it.TestGoFiles, it.TestImports = []string{"it_test.go"}, c.imports
			j := &judge{known: map[string]traits{}, all: map[string]listed{
				"m/it": it, "m/starts": pkg("starts", "func F() { go F() }"), "m/above": pkg("above", "", "m/starts"),
				"m/writes": pkg("writes", "var n int\nfunc F() { n++ }"), "m/reads": pkg("reads", ""),
			}}
			w, q := j.part([]string{"m/it", "m/reads", "m/elsewhere"})
			if want := []string{"m/it", "m/elsewhere"}; !c.quiet && (len(q) != 0 || !slices.Equal(w, want)) || c.quiet && (!slices.Equal(q, want[:1]) || !slices.Equal(w, want[1:])) {
				t.Errorf("worth a run %v, quiet %v", w, q)
			}
		})
	}
}

// sequential are the names of tests that the Makefile leaves out under the race detector.
var sequential = regexp.MustCompile(`(?m)^SEQUENTIAL := (\^Test\(.*\)\$)\$$`)

// TestSequentialNames: the tests whose names the Makefile leaves out run in one goroutine, wherever a test has such a name: nothing that they can
// reach in their packages starts another. TestDocs starts processes.
func TestSequentialNames(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	m := sequential.FindSubmatch(text)
	if m == nil {
		t.Fatal("the Makefile has no SEQUENTIAL")
	}
	name := regexp.MustCompile(string(m[1]))
	found := 0
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if base := d.Name(); base == "testdata" || base == "node_modules" || len(base) > 2 && strings.HasPrefix(base, ".") {
			return fs.SkipDir
		}
		decls, err := declared(path)
		if err != nil {
			return err
		}
		for test := range decls {
			if name.MatchString(test) && test != "TestDocs" {
				found++
				if by := starter(decls, test); by != "" {
					t.Errorf("%s of %s is left out by its name, and %s may start a goroutine", test, path, by)
				}
			}
		}
		return nil
	})
	if err != nil || found < 12 {
		t.Errorf("%d tests found: %v", found, err)
	}
}

// TestStarter: a goroutine is found behind calls, methods, variables and function literals, and not where nothing leads.
func TestStarter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	code := "package p\nfunc (x t) M() { go f() }\nvar v = func() { t{}.M() }\nfunc f() {}\nfunc TestA() { v() }\nfunc TestB() { f() }\nfunc TestC() { func() { TestA() }() }\n"
	if err := os.WriteFile(filepath.Join(dir, "a_test.go"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	decls, err := declared(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(starter(decls, "TestA"), "|", starter(decls, "TestB"), "|", starter(decls, "TestC"))
	if got != "M||M" {
		t.Errorf("found %q", got)
	}
}

// declared are the functions, methods and variables of the Go files of a directory, by their bare names.
func declared(dir string) (map[string][]ast.Node, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	all := map[string][]ast.Node{}
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				all[d.Name.Name] = append(all[d.Name.Name], d)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok {
						for _, n := range v.Names {
							all[n.Name] = append(all[n.Name], v)
						}
					}
				}
			}
		}
	}
	return all, nil
}

// starter names what starts a goroutine among all that a function's names, and theirs, may mean; "" if nothing does.
func starter(decls map[string][]ast.Node, from string) string {
	seen, next := map[string]bool{from: true}, []string{from}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		for _, d := range decls[name] {
			if look(d, nil, nil).starts {
				return name
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && !seen[id.Name] {
					seen[id.Name] = true
					next = append(next, id.Name)
				}
				return true
			})
		}
	}
	return ""
}
