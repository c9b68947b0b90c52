package arch_test

import (
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// step matches a step of docs/way-of-params.md: number, package, function.
var step = regexp.MustCompile("(?m)^\\| (\\d+) \\| `([^`]+)` \\| `([^`]+)` \\|")

// TestWay: each function on the page that follows params exists, and no function is visited twice.
func TestWay(t *testing.T) {
	t.Parallel()
	const page = "docs/way-of-params.md"
	functions := map[string]bool{}
	for _, f := range load(t) {
		for fn := range f.functions() {
			if !f.test {
				functions[f.dir+" "+funcName(fn)] = true
			}
		}
	}
	seen := map[string]bool{}
	steps := step.FindAllStringSubmatch(read(t, filepath.Join(root(t), page)), -1)
	for i, s := range steps {
		if s[1] != strconv.Itoa(i+1) {
			t.Errorf("%s: step %d has number %s", page, i+1, s[1])
		}
		name := s[2] + " " + s[3]
		if !functions[name] {
			t.Errorf("%s: step %s: %s has no function %s", page, s[1], s[2], s[3])
		}
		if seen[name] {
			t.Errorf("%s: step %s: %s is visited twice", page, s[1], name)
		}
		seen[name] = true
	}
	if len(steps) < 40 {
		t.Errorf("%s has %d steps: the search is broken", page, len(steps))
	}
}
