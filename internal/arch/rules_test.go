package arch_test

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// contract is the page of rules; it says itself how rules are written and marked.
const contract = "docs/spec.md"

// rules is what the contract holds.
type rules struct {
	kept   map[string]bool // what of the rule is in force, if anything
	later  map[string]bool // some of the rule is not yet built
	titles map[string]bool // numbers of the page's sections
}

var (
	ruleItem = regexp.MustCompile(`^- \*\*([A-Z]\d{1,2})\*\*( \(not yet\))? \S`)
	section  = regexp.MustCompile(`^## (\d+)\. `)
)

// readRules reads the contract and complains of what it cannot read as rules.
func readRules(t *testing.T) rules {
	t.Helper()
	r := rules{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for i, line := range strings.Split(read(t, filepath.Join(root(t), contract)), "\n") {
		if m := section.FindStringSubmatch(line); m != nil {
			r.titles[m[1]] = true
		}
		m := ruleItem.FindStringSubmatch(line)
		switch {
		case m == nil && strings.Contains(line, "(not yet)") && !strings.Contains(line, "*(not yet)*"):
			t.Errorf("%s:%d: the mark stands at the begin of a rule: - **X1** (not yet) …", contract, i+1)
		case m == nil && strings.HasPrefix(line, "- **"):
			t.Errorf("%s:%d: an item that is no rule: %s", contract, i+1, line)
		case m == nil:
		case m[2] == "":
			if r.kept[m[1]] || r.later[m[1]] {
				t.Errorf("%s:%d: %s stands there before", contract, i+1, m[1])
			}
			r.kept[m[1]] = true
		default:
			if r.later[m[1]] {
				t.Errorf("%s:%d: %s (not yet) stands there before", contract, i+1, m[1])
			}
			r.later[m[1]] = true
		}
	}
	if len(r.kept) < 50 || len(r.titles) < 10 {
		t.Fatalf("%d rules, %d sections found: the search is broken", len(r.kept), len(r.titles))
	}
	return r
}

// How rules are named: SPEC L3, SPEC C4, H2, SPEC O1-O3, over the lines of a comment, too; in pages and comments also (L3), [L3].
const (
	oneRule = `[A-Z]\d{1,2}\b`
	gap     = `(?:\s|//|#)*`
	many    = oneRule + `(?:` + gap + `(?:,|-|/|\band\b|\bor\b|\bto\b)` + gap + oneRule + `)*`
)

var (
	named     = regexp.MustCompile(`\bSPEC(?:\s|//|#)+(` + many + `)`)
	bracketed = regexp.MustCompile(`(?m)(?:^|\s)[\[(](` + many + `)[\])]`)
	scripted  = regexp.MustCompile(`(?m)^# (` + many + `):`) // what a script shows
	ruleName  = regexp.MustCompile(oneRule)
	sections  = regexp.MustCompile(`\bSPEC(?:\s|//|#)+sections? (\d+(?:(?:, | and | to |-)\d+)*)`)
	number    = regexp.MustCompile(`\d+`)
	fact      = regexp.MustCompile(`\b(docs/[a-z-]+\.md)#([a-z0-9-]+)`)
)

// texts are the files that may name a rule, by how their names end.
var texts = []string{".go", ".md", ".txt", ".txtar", ".py", ".rs", ".c", ".h", ".ts", ".mjs", ".js", ".sh", ".yaml", ".yml", ".tmpl", ".wat", "Makefile"}

// TestRules: the contract and the repository agree. Every rule that something names stands in the contract. What is in
// force is named by the code that keeps it and by a test that shows it. A rule of which nothing is built is named by no code.
func TestRules(t *testing.T) {
	t.Parallel()
	r := readRules(t)
	product, tests := map[string]string{}, map[string]string{} // rule → a file that names it
	eachText(t, func(name, text string) {
		if !ruleName.MatchString(text) {
			return
		}
		for _, m := range append(named.FindAllStringSubmatch(text, -1), bracketed.FindAllStringSubmatch(text, -1)...) {
			for _, rule := range ruleName.FindAllString(m[1], -1) {
				if !r.kept[rule] && !r.later[rule] {
					t.Errorf("%s names %q; %s has no rule %s", name, strings.TrimSpace(m[0]), contract, rule)
				}
			}
		}
		for _, m := range sections.FindAllStringSubmatch(text, -1) {
			for _, n := range number.FindAllString(m[1], -1) {
				if !r.titles[n] {
					t.Errorf("%s names %q; %s has no section %s", name, m[0], contract, n)
				}
			}
		}
		into := product
		switch of(name) {
		case aTest:
			into = tests
		case aPage:
			return
		}
		found := named.FindAllStringSubmatch(text, -1)
		if strings.HasSuffix(name, ".txt") {
			found = append(found, scripted.FindAllStringSubmatch(text, -1)...)
		}
		for _, m := range found {
			for _, rule := range ruleName.FindAllString(m[1], -1) {
				into[rule] = name
			}
		}
	})
	for rule := range r.kept {
		if product[rule] == "" {
			t.Errorf("no code of the product names SPEC %s: name it where it is kept", rule)
		}
		if tests[rule] == "" {
			t.Errorf("no test names SPEC %s: name it where it is shown", rule)
		}
	}
	for rule := range r.later {
		if where := product[rule]; !r.kept[rule] && where != "" {
			t.Errorf("%s names SPEC %s, of which nothing is built by %s: say there what is", where, rule, contract)
		}
	}
}

// kind is what a file that names rules is.
type kind int

const (
	aProduct kind = iota
	aTest
	aPage
)

func of(name string) kind {
	dir := path.Dir(name)
	within := func(d string) bool { return dir == d || strings.HasPrefix(dir, d+"/") }
	switch {
	case strings.HasSuffix(name, "_test.go"), strings.Contains(name, "testdata/"), slices.ContainsFunc(testOnly, within):
		return aTest
	case !strings.HasSuffix(name, ".go"), within("internal/mutants"):
		return aPage
	}
	return aProduct
}

// eachText calls f for every text of the repository.
func eachText(t *testing.T, f func(name, text string)) {
	t.Helper()
	base := root(t)
	walk(t, "", func(name string) {
		if slices.ContainsFunc(texts, func(suffix string) bool { return strings.HasSuffix(name, suffix) }) {
			f(name, read(t, filepath.Join(base, name)))
		}
	})
}

// TestPlaces: a heading of a page that code names is there, and nothing is said to stand outside of the repository.
func TestPlaces(t *testing.T) {
	t.Parallel()
	base := root(t)
	outside := []string{"../shar" + "ed", "shar" + "ed/docs", "SPEC" + ".md", "ARCHITECTU" + "RE"} // in two pieces, or this file would be one
	headings := map[string]map[string]bool{}
	places := 0
	eachText(t, func(name, text string) {
		for _, place := range outside {
			if strings.Contains(text, place) {
				t.Errorf("%s refers to %q: the contract is %s", name, place, contract)
			}
		}
		if strings.HasSuffix(name, ".md") || !strings.Contains(text, ".md#") {
			return // pages: TestLinks
		}
		for _, m := range fact.FindAllStringSubmatch(text, -1) {
			places++
			if headings[m[1]] == nil {
				headings[m[1]] = anchors(read(t, filepath.Join(base, m[1])))
			}
			if !headings[m[1]][m[2]] {
				t.Errorf("%s: %s has no heading #%s", name, m[1], m[2])
			}
		}
	})
	if places < 10 {
		t.Errorf("only %d places found: the search is broken", places)
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"(SPEC L3)":                         "L3",
		"SPEC C4, H2; T1":                   "C4 H2",
		"SPEC O1-O3":                        "O1 O3",
		"as SPEC H4's":                      "H4",
		"// (SPEC T1,\n// T8 and B2).":      "T1 T8 B2",
		"// the rules (SPEC\n//\tM1 to M4)": "M1 M4",
		"SUSPECT T1, SPECT@1, SPEC":         "",
	} {
		var got []string
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			got = append(got, ruleName.FindAllString(m[1], -1)...)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %q, want %q", text, s, want)
		}
	}
}
