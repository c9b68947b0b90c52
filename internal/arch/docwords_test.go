package arch_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// documented is a declaration with a comment of its own, and the names that the comment may begin with.
type documented struct {
	names []string
	doc   *ast.CommentGroup
}

// documentedIn returns the declarations of a file that have comments of their own. The comment of a group in parentheses says
// what its members have in common; that of an example is printed under its name by documentation tools.
func documentedIn(f *ast.File) []documented {
	var all []documented
	add := func(doc *ast.CommentGroup, names ...*ast.Ident) {
		if doc == nil || strings.TrimSpace(doc.Text()) == "" || names[0].Name == "_" { // directives only; a check of an interface
			return
		}
		d := documented{doc: doc}
		for _, n := range names {
			d.names = append(d.names, n.Name)
		}
		all = append(all, d)
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if !strings.HasPrefix(d.Name.Name, "Example") {
				add(d.Doc, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				doc := d.Doc
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if d.Lparen.IsValid() {
						doc = spec.Doc
					}
					add(doc, spec.Name)
				case *ast.ValueSpec:
					if d.Lparen.IsValid() {
						doc = spec.Doc
					}
					add(doc, spec.Names...)
				}
			}
		}
	}
	return all
}

// firstWord is the word that a comment begins with, without what stands behind it: a colon, a comma, an apostrophe and an s.
func firstWord(doc *ast.CommentGroup) string {
	word, _, _ := strings.Cut(strings.TrimSpace(doc.Text()), " ")
	word, _, _ = strings.Cut(word, "\n")
	return strings.TrimSuffix(strings.TrimRight(word, ":,."), "'s")
}

// TestDocCommentsBeginWithTheName: who reads a comment in a listing knows what it speaks of, and whoever moves or renames the
// declaration sees that the comment goes with it.
func TestDocCommentsBeginWithTheName(t *testing.T) {
	t.Parallel()
	n := 0
	for _, f := range load(t) {
		for _, d := range documentedIn(f.ast) {
			n++
			if word := firstWord(d.doc); !slices.Contains(d.names, word) {
				t.Errorf("%s:%d: the comment of %s begins with %q", f.path, f.line(d.doc), strings.Join(d.names, ", "), word)
			}
		}
	}
	if n < 3000 {
		t.Errorf("only %d comments found: the search is broken", n)
	}
}
