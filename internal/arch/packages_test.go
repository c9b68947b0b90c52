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

var rewrite = flag.Bool("rewrite", false, "write the table of packages anew")

// The table of packages stands between these lines of the page.
const (
	packagesPage  = "docs/architecture.md"
	packagesBegin = "<!-- packages: made by go test ./internal/arch -run TestPackageTable -rewrite -->\n"
	packagesEnd   = "<!-- end of packages -->\n"
)

// TestPackageTable writes the table of packages in docs/architecture.md with -rewrite. Else it looks only whether there is one: lines
// change with every commit.
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
	if len(rows) < 20 {
		t.Errorf("%s has %d rows of packages", packagesPage, len(rows))
	}
}

// packages counts the lines of each package of the product, without tests and what is generated, and says what it is for.
func packages(t *testing.T) (lines map[string]int, what map[string]string) {
	t.Helper()
	lines, what = map[string]int{}, map[string]string{}
	for _, f := range load(t) {
		if f.test || slices.Contains(testOnly, f.dir) || strings.Contains(f.path, "examples/") || strings.Contains(f.path, "testdata/") {
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
