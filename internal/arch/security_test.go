package arch_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestThreats: every row of the table of threats in docs/security.md names tests, and they exist.
func TestThreats(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root(t), "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), "| threat |")
	if !ok {
		t.Fatal("docs/security.md has no table of threats")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")[2:]
	if len(rows) < 15 {
		t.Fatalf("only %d threats", len(rows))
	}
	var tests []string
	for _, f := range load(t) {
		for fn := range f.functions() {
			if f.test && fn.Recv == nil {
				tests = append(tests, fn.Name.Name)
			}
		}
	}
	for _, row := range rows {
		cells := strings.Split(row, "|")
		named := threatTest.FindAllStringSubmatch(cells[len(cells)-2], -1)
		if len(named) == 0 {
			t.Errorf("no test shows: %s", row)
		}
		for _, m := range named {
			if !slices.Contains(tests, m[1]) {
				t.Errorf("there is no test %s: %s", m[1], row)
			}
		}
	}
}

var threatTest = regexp.MustCompile("`(Test\\w+)`")
