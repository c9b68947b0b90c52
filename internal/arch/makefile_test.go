package arch_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	makeRule = regexp.MustCompile(`(?m)^([a-z][a-z-]*):(?:$| )([^#\n]*)`)
	phony    = regexp.MustCompile(`(?m)^\.PHONY: (.*)$`)
	makeCall = regexp.MustCompile(`(?m)^make ([a-z-]+)`)
	ciCall   = regexp.MustCompile(`(?m)^make ([a-z][a-z -]*)`) // several targets at a time
)

// makeTargets returns the targets of the Makefile that have rules, with what each needs first.
func makeTargets(t *testing.T) map[string][]string {
	t.Helper()
	targets := map[string][]string{}
	for _, m := range makeRule.FindAllStringSubmatch(read(t, filepath.Join(root(t), "Makefile")), -1) {
		targets[m[1]] = strings.Fields(m[2])
	}
	return targets
}

// TestMakeTargets: each target that is phony, that another one needs or that .ci/run makes has a rule: make calls a phony target
// without a rule done. Each target is phony, so that no file of its name stands in for it.
func TestMakeTargets(t *testing.T) {
	t.Parallel()
	targets := makeTargets(t)
	if len(targets) < 20 {
		t.Fatalf("only %d targets found: the search is broken", len(targets))
	}
	declared := map[string]bool{}
	for _, m := range phony.FindAllStringSubmatch(read(t, filepath.Join(root(t), "Makefile")), -1) {
		for _, name := range strings.Fields(m[1]) {
			declared[name] = true
		}
	}
	want := func(by, name string) {
		if _, ok := targets[name]; !ok {
			t.Errorf("%s names %s, for which the Makefile has no rule", by, name)
		}
	}
	for name := range declared {
		want(".PHONY", name)
	}
	for name, needs := range targets {
		if !declared[name] {
			t.Errorf("%s has a rule and is not in .PHONY", name)
		}
		for _, need := range needs {
			want("the rule of "+name, need)
		}
	}
	made := ciCall.FindAllStringSubmatch(read(t, filepath.Join(root(t), ".ci", "run")), -1)
	if len(made) < 5 {
		t.Errorf("only %d calls of make found in .ci/run: the search is broken", len(made))
	}
	for _, m := range made {
		for _, name := range strings.Fields(m[1]) {
			if !strings.HasPrefix(name, "-") { // a flag
				want(".ci/run", name)
			}
		}
	}
}
