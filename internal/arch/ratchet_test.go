package arch_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a package and a type of the product may have without being in the list.
const (
	maxPackageLines = 3000 // lines without tests and generated files
	maxTypeMethods  = 40
)

// ratchetList holds what has more: "lines task 12900", "methods task.Machine 268". It is the list of what is to be parted.
//
// A number is a ceiling, and a ceiling only falls: -rewrite lowers it when the package or the type has shrunk, and takes the
// line away when the package or the type is within the bound. It raises nothing and adds nothing. So a mended fault finds room,
// and no sum of small additions gets past the ceiling of the day it was set.
const ratchetList = "internal/arch/ratchet.txt"

// steps are how finely ceilings are set.
var steps = map[string]int{"lines": 100, "methods": 4}

var bounds = map[string]int{"lines": maxPackageLines, "methods": maxTypeMethods}

// ceiling is what a ceiling is lowered to: at least half a step above what there is, at most one and a half.
func ceiling(n, step int) int { return (n + step/2 + step - 1) / step * step }

// ratchet compares what there is with the list: what is wrong, and the list as -rewrite leaves it.
func ratchet(kind string, have, listed map[string]int) (complaints []string, lowered map[string]int) {
	const how = "go test ./internal/arch -run TestRatchet -rewrite"
	step, bound := steps[kind], bounds[kind]
	lowered = map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if n := have[name]; n > bound && listed[name] == 0 {
			complaints = append(complaints, fmt.Sprintf("%s has %d %s, more than %d: two ideas?", name, n, kind, bound))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		n, most := have[name], listed[name]
		if n <= bound {
			complaints = append(complaints, fmt.Sprintf("%s has only %d %s now, take it out of %s: %s", name, n, kind, ratchetList, how))
			continue
		}
		next := ceiling(n, step)
		switch {
		case n > most:
			complaints = append(complaints, fmt.Sprintf("%s grew to %d %s, the ceiling is %d: part it, or take away as much as you add", name, n, kind, most))
		case next+step < most:
			complaints = append(complaints, fmt.Sprintf("%s fell to %d %s, lower the ceiling from %d to %d: %s", name, n, kind, most, next, how))
		}
		lowered[name] = min(next, most)
	}
	return complaints, lowered
}

// TestRatchet: large packages and types shrink, and no other becomes large.
func TestRatchet(t *testing.T) {
	t.Parallel()
	name := filepath.Join(root(t), ratchetList)
	listed := readRatchet(t, name)
	lines, _ := packages(t)
	have := map[string]map[string]int{"lines": lines, "methods": methods(t)}
	if *rewrite {
		var b bytes.Buffer
		for _, line := range strings.SplitAfter(read(t, name), "\n") {
			if strings.HasPrefix(line, "#") {
				b.WriteString(line)
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(have)) {
			_, listed[kind] = ratchet(kind, have[kind], listed[kind])
			for _, name := range slices.Sorted(maps.Keys(listed[kind])) {
				fmt.Fprintf(&b, "%s %s %d\n", kind, name, listed[kind][name])
			}
		}
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(have)) {
		complaints, _ := ratchet(kind, have[kind], listed[kind])
		for _, c := range complaints {
			t.Error(c)
		}
	}
}

// readRatchet reads the list: kind → name → ceiling.
func readRatchet(t *testing.T, name string) map[string]map[string]int {
	t.Helper()
	listed := map[string]map[string]int{"lines": {}, "methods": {}}
	for i, line := range strings.Split(read(t, name), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var kind, what string
		var n int
		if _, err := fmt.Sscanf(line, "%s %s %d", &kind, &what, &n); err != nil || listed[kind] == nil || listed[kind][what] != 0 || n <= bounds[kind] {
			t.Fatalf("%s:%d: a line is like `lines task 12900`, once, over the bound: %s", ratchetList, i+1, line)
		}
		listed[kind][what] = n
	}
	return listed
}

// methods counts the methods of each type of the product, those of generated files apart.
func methods(t *testing.T) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, f := range load(t) {
		if f.test || !ofProduct(f) || ast.IsGenerated(f.ast) {
			continue
		}
		for fn := range f.functions() {
			if typ, _, ok := strings.Cut(funcName(fn), "."); ok {
				n[f.dir+"."+typ]++
			}
		}
	}
	if len(n) < 300 {
		t.Fatalf("only %d types with methods found: the count is broken", len(n))
	}
	return n
}

// TestRatchetOnlyFalls: what the test says of a list, and what -rewrite makes of it.
func TestRatchetOnlyFalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		have, most int // lines, and the ceiling in the list, 0 for none
		says       string
		lowered    int // 0: not in the list
	}{
		{2999, 0, "", 0},
		{3000, 0, "", 0},
		{3001, 0, "more than 3000", 0}, // -rewrite does not help
		{3000, 3200, "take it out", 0},
		{0, 3200, "take it out", 0}, // a package that is gone
		{5010, 5100, "", 5100},
		{5100, 5100, "", 5100},
		{5101, 5100, "grew to 5101", 5100},
		{4960, 5200, "", 5100},
		{4950, 5200, "fell to 4950", 5000},
		{3001, 9000, "to 3100", 3100},
	} {
		have, listed := map[string]int{"p": c.have}, map[string]int{}
		if c.most != 0 {
			listed["p"] = c.most
		}
		complaints, lowered := ratchet("lines", have, listed)
		if said := strings.Join(complaints, "\n"); c.says == "" && said != "" || !strings.Contains(said, c.says) || len(complaints) > 1 {
			t.Errorf("%d lines under %d: %q, want %q", c.have, c.most, said, c.says)
		}
		if lowered["p"] != c.lowered {
			t.Errorf("%d lines under %d: the ceiling becomes %d, want %d", c.have, c.most, lowered["p"], c.lowered)
		}
		if again, _ := ratchet("lines", have, lowered); c.lowered != 0 && c.have <= c.most && len(again) > 0 {
			t.Errorf("%d lines under %d: after -rewrite %q", c.have, c.most, again)
		}
	}
}
