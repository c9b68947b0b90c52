package arch_test

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestPurityFindsSins: each of these must be found, and nothing in the last.
func TestPurityFindsSins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, src, want string }{
		{"clock", `import "time"; func f() any { return time.Now() }`, "must not import time"},
		{"random", `import "math/rand/v2"; func f() int { return rand.Int() }`, "must not import math/rand/v2"},
		{"sync", `import "sync"; type t struct{ mu sync.Mutex }`, "must not import sync"},
		{"goroutine", `func f() { go f() }`, "a goroutine"},
		{"channel", `type t chan int`, "a channel"},
		{"receive", `func f(c <-chan int) int { return <-c }`, "a channel"},
		{"select", `func f() { select {} }`, "a channel"},
		{"float literal", `const x = 1.5`, "a float"},
		{"float type", `func f(x float64) bool { return x > 1 }`, "a float"},
		{"float hidden", `type t float32; func f(n int) t { return t(n) }`, "a float"},
		{"map range", `func f(m map[int]int) (s int) { for k := range m { s = k }; return s }`, "order of a map"},
		{"named map range", `type t map[int]int; func f(m t) (s int) { for k := range m { s = k }; return s }`, "order of a map"},
		{"generic map range", `func f[M ~map[int]int](m M) (s int) { for k := range m { s = k }; return s }`, "order of a map"},
		{"map range without a reason", "func f(m map[int]int) (n int) {\nfor range m { // order-free: \nn++ }\nreturn n }", "order of a map"},
		{"map iterator", `import "maps"; func f(m map[int]int) (s int) { for k := range maps.Keys(m) { s = k }; return s }`, "maps.Keys"},
		{"global", `var n int`, "a global variable"},
		{"init", `func init() {}`, "an init function"},
		{"recover", `func f() { defer func() { _ = recover() }() }`, "recover"},
		{"none", `import ("errors"; "maps"; "slices"); var ErrX = errors.New("x"); var _ error = ErrX
			func f(m map[int]int) (n int) { for range m { // order-free: it only counts
				n++
			}
			for _, k := range slices.Sorted(maps.Keys(m)) { n += k }
			for _, k := range []int{1} { n += k }
			return n }`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fset := token.NewFileSet()
			parsed, err := parser.ParseFile(fset, "x.go", "package task\n"+c.src, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			f := &file{path: "task/x.go", dir: "task", ast: parsed, fset: fset}
			found := strings.Join(check(t, []*file{f}, stdlib).impure(f), "\n")
			if (c.want == "") != (found == "") || !strings.Contains(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}
