package arch_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// elsewhere are what looks like a path: what following the page makes, one of many, a package of Go.
var elsewhere = []string{"bin/taskrt", "DESIGN.md", "testing/synctest"}

// manual is the page whose lists lead through the repository.
const manual = "CONTRIBUTING.md"

var (
	listStep = regexp.MustCompile(`^([0-9]+)\. `)
	aPath    = regexp.MustCompile(`^(?:[A-Za-z0-9_.-]+/)+[A-Za-z0-9_.-]*$|^[A-Za-z]+\.md$`)
	testName = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
)

// statPaths complains of the paths in a piece of code of a page that are not there, and returns how many paths it has.
func statPaths(t *testing.T, page, quoted string) (n int) {
	t.Helper()
	for _, word := range strings.Fields(quoted) {
		name := strings.TrimPrefix(word, "./")
		if !aPath.MatchString(name) || strings.Contains(name, "NAME") || slices.Contains(elsewhere, name) {
			continue
		}
		n++
		if _, err := os.Stat(filepath.Join(root(t), strings.TrimSuffix(name, "/..."))); err != nil {
			t.Errorf("%s: there is no %s", page, word)
		}
	}
	return n
}

// TestContributing: what CONTRIBUTING.md names is there: files, packages, targets of make, tests. No list has more than seven
// steps. (That the steps are enough, only following them shows.)
func TestContributing(t *testing.T) {
	t.Parallel()
	base := root(t)
	text := read(t, filepath.Join(base, manual))
	targets := makeTargets(t)
	var tests []string
	for _, f := range load(t) {
		for fn := range f.functions() {
			if f.test {
				tests = append(tests, fn.Name.Name)
			}
		}
	}
	for i, line := range strings.Split(text, "\n") {
		if m := listStep.FindStringSubmatch(line); m != nil && (len(m[1]) > 1 || m[1] > "7") {
			t.Errorf("%s:%d: a list of more than seven steps", manual, i+1)
		}
	}
	paths, named := 0, 0
	for _, quoted := range code.FindAllString(strings.ReplaceAll(text, "\n   ", " "), -1) {
		quoted = strings.Trim(quoted, "`")
		if m := makeCall.FindStringSubmatch(quoted); m != nil {
			if _, ok := targets[m[1]]; !ok {
				t.Errorf("%s: the Makefile has no target %s", manual, m[1])
			}
		}
		for _, name := range testName.FindAllString(quoted, -1) {
			named++
			if !slices.ContainsFunc(tests, func(test string) bool { return strings.HasPrefix(test, name) }) {
				t.Errorf("%s: no test begins with %s", manual, name)
			}
		}
		paths += statPaths(t, manual, quoted)
	}
	if paths < 50 || named < 10 {
		t.Errorf("only %d paths and %d tests found: the search is broken", paths, named)
	}
}
