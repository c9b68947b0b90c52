package arch_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	largeList = regexp.MustCompile(`(?m)^LARGE := \\\n((?:.*\\\n)*.*)$`)
	testFunc  = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
)

// TestLargeTests: `make test` and `make test-large` together run every test once. Each name in the Makefile's LARGE is that of one test of one
// package, or a pattern for some of its subtests. Every package keeps a test that `make test` runs. .ci/run makes both.
func TestLargeTests(t *testing.T) {
	t.Parallel()
	makefile := read(t, filepath.Join(root(t), "Makefile"))
	m := largeList.FindStringSubmatch(makefile)
	if m == nil {
		t.Fatal("the Makefile has no LARGE")
	}
	whole := map[string]bool{} // by name of the test: all of its subtests are large
	for _, name := range strings.Fields(strings.ReplaceAll(m[1], "\\\n", " ")) {
		test, sub, part := strings.Cut(name, "/")
		if _, err := regexp.Compile("^" + sub + "$"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, twice := whole[test]; twice && (whole[test] || !part) {
			t.Errorf("LARGE has all of %s, and a part of it", test)
		}
		whole[test] = !part
	}
	places := map[string][]string{} // by name of a large test
	kept := map[string]bool{}       // by package
	walk(t, "_test.go", func(name string) {
		dir := filepath.Dir(name)
		kept[dir] = kept[dir] || false
		for _, f := range testFunc.FindAllStringSubmatch(read(t, filepath.Join(root(t), name)), -1) {
			all, large := whole[f[1]]
			if large {
				places[f[1]] = append(places[f[1]], name)
			}
			kept[dir] = kept[dir] || f[1] != "TestMain" && !all
		}
	})
	for test := range whole {
		if in := places[test]; len(in) != 1 {
			t.Errorf("LARGE names %s, which is a test of %q, want one place", test, in)
		}
		if dir := filepath.Dir(slices.Concat(places[test], []string{"-"})[0]); dir != "." && !kept[dir] {
			t.Errorf("`make test` runs no test of %s", dir)
		}
	}
	for _, want := range []string{"-skip '$(LARGE_TESTS)'", "-run '$(LARGE_TESTS)'"} {
		if strings.Count(makefile, want) != 1 {
			t.Errorf("the Makefile says %s %d times, want once", want, strings.Count(makefile, want))
		}
	}
	var made []string
	for _, call := range ciCall.FindAllStringSubmatch(read(t, filepath.Join(root(t), ".ci", "run")), -1) {
		made = append(made, strings.Fields(call[1])...)
	}
	if !slices.Contains(made, "test") || !slices.Contains(made, "test-large") {
		t.Errorf(".ci/run makes %q", made)
	}
}
