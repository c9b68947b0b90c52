package arch_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the table of packages anew, lower the ceilings of the ratchet")

// The table of packages stands between these lines of the page.
const (
	packagesPage  = "docs/architecture.md"
	packagesBegin = "<!-- packages: made by go test ./internal/arch -run TestPackageTable -rewrite -->\n"
	packagesEnd   = "<!-- end of packages -->\n"
)

// TestPackageTable: every package of the product has a row in docs/architecture.md, and every row is a package. What a row says is
// written by -rewrite alone: lines change with every commit.
func TestPackageTable(t *testing.T) {
	t.Parallel()
	lines, what := packages(t)
	page := filepath.Join(root(t), packagesPage)
	text := read(t, page)
	before, rest, ok := strings.Cut(text, packagesBegin)
	table, after, closed := strings.Cut(rest, packagesEnd)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", packagesPage)
	}
	if *rewrite {
		table = packageTable(lines, what)
		if err := os.WriteFile(page, []byte(before+packagesBegin+table+packagesEnd+after), 0o644); err != nil { //nolint:gosec // a page that all may read
			t.Fatal(err)
		}
	}
	rows := map[string]bool{}
	for _, line := range strings.Split(table, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 3 && strings.HasPrefix(cells[1], " `") {
			rows[strings.Trim(cells[1], " `")] = true
		}
	}
	const how = "go test ./internal/arch -run TestPackageTable -rewrite"
	for dir := range lines {
		if !rows[dir] {
			t.Errorf("%s has no row for %s: %s", packagesPage, dir, how)
		}
	}
	for dir := range rows {
		if lines[dir] == 0 {
			t.Errorf("%s has a row for %s, which is no package: %s", packagesPage, dir, how)
		}
	}
}

// packages counts the lines of each package of the product, without tests and what is generated, and says what it is for.
func packages(t *testing.T) (lines map[string]int, what map[string]string) {
	t.Helper()
	lines, what = map[string]int{}, map[string]string{}
	for _, f := range load(t) {
		if f.test || !ofProduct(f) {
			continue
		}
		if !ast.IsGenerated(f.ast) {
			lines[f.dir] += f.fset.File(f.ast.FileStart).LineCount() - 1
		}
		if f.ast.Doc != nil {
			what[f.dir] = new(doc.Package).Synopsis(f.ast.Doc.Text())
		}
	}
	return lines, what
}

// ofProduct reports whether f's package is more than tests, an example or a test's data.
func ofProduct(f *file) bool {
	return !slices.Contains(testOnly, f.dir) && !strings.Contains(f.path, "examples/") && !strings.Contains(f.path, "testdata/")
}

func packageTable(lines map[string]int, what map[string]string) string {
	var dirs []string
	sum := 0
	for dir, n := range lines {
		dirs = append(dirs, dir)
		sum += n
	}
	slices.Sort(dirs)
	var b strings.Builder
	fmt.Fprintf(&b, "| package | what it is for | lines |\n|---|---|---:|\n")
	for _, dir := range dirs {
		fmt.Fprintf(&b, "| `%s` | %s | %d |\n", dir, strings.ReplaceAll(purpose(what[dir]), "|", `\|`), lines[dir])
	}
	fmt.Fprintf(&b, "| all | | %d |\n", sum)
	return b.String()
}

// purpose is a package's first sentence without what the row says already.
func purpose(sentence string) string {
	if first, rest, ok := strings.Cut(sentence, " "); ok && (first == "Package" || first == "Command") {
		_, rest, _ = strings.Cut(rest, " ")
		sentence = rest
	}
	return sentence
}

// TestArchitectureNames: the files and packages that docs/architecture.md names are there, and the glossary says where each word is at home.
func TestArchitectureNames(t *testing.T) {
	t.Parallel()
	base := root(t)
	text := read(t, filepath.Join(base, packagesPage))
	words, paths := 0, 0
	in := false
	for i, line := range strings.Split(text, "\n") {
		in = in && !strings.HasPrefix(line, "## ") || line == "## Glossary"
		for _, quoted := range code.FindAllString(line, -1) {
			paths += statPaths(t, fmt.Sprintf("%s:%d", packagesPage, i+1), strings.Trim(quoted, "`"))
		}
		cells := strings.Split(line, "|")
		if !in || len(cells) < 5 || cells[1] == " word " || strings.HasPrefix(cells[1], "---") {
			continue
		}
		words++
		for _, where := range strings.Split(cells[2], ",") {
			if info, err := os.Stat(filepath.Join(base, strings.Trim(where, " `"))); err != nil || !info.IsDir() {
				t.Errorf("%s:%d: %s is at home in%s, which is no package", packagesPage, i+1, strings.TrimSpace(cells[1]), where)
			}
		}
	}
	if words < 40 || paths < 100 {
		t.Errorf("only %d words and %d paths found: the search is broken", words, paths)
	}
}
