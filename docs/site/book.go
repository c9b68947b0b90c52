package site

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/taskrt/taskrt/internal/anchor"
)

// The page that lists all others, and what it is called in the site.
const (
	listPage = "README"
	homePage = "index"
)

// book is all pages in the order in which they are read, as README.md lists them.
type book struct {
	Home    *page
	Summary string // the first paragraph of README.md
	Groups  []*group
	pages   []*page // with the home page, which is the first
}

// group is pages for one purpose.
type group struct {
	Name, ID string
	Entries  []*entry
}

// entry is a line of the list: a page, or an address elsewhere.
type entry struct {
	Name, Line string
	Page       *page  // nil: it is elsewhere
	Address    string // relative to the pages, or absolute
}

// Away reports whether the address is not one of the site.
func (e *entry) Away() bool { return e.Page == nil }

// readBook reads the pages of a tree. Each must be in the list once.
func readBook(tree fs.FS) (*book, error) {
	home, err := readPage(tree, listPage)
	if err != nil {
		return nil, err
	}
	b := &book{Home: home, pages: []*page{home}}
	home.Name = homePage
	var in *group
	for n := home.root.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Paragraph:
			if b.Summary == "" {
				b.Summary = textOf(n, home.source)
			}
		case *ast.Heading:
			if n.Level == 2 {
				name := textOf(n, home.source)
				in = &group{Name: name, ID: anchor.Of(name)}
				b.Groups = append(b.Groups, in)
			}
		case *ast.List:
			if in == nil {
				return nil, fmt.Errorf("%s.md: a list before the first group", listPage)
			}
			for item := n.FirstChild(); item != nil; item = item.NextSibling() {
				if err := b.add(tree, in, item); err != nil {
					return nil, fmt.Errorf("%s.md: %w", listPage, err)
				}
			}
		}
	}
	for i, p := range b.pages {
		if i > 0 {
			p.Previous = b.pages[i-1]
		}
		if i+1 < len(b.pages) {
			p.Next = b.pages[i+1]
		}
	}
	return b, b.complete(tree)
}

// add reads the page that an item of the list links to.
func (b *book) add(tree fs.FS, to *group, item ast.Node) error {
	var link *ast.Link
	for n := item.FirstChild().FirstChild(); n != nil && link == nil; n = n.NextSibling() {
		link, _ = n.(*ast.Link)
	}
	if link == nil {
		return fmt.Errorf("%q has no link", textOf(item, b.Home.source))
	}
	name := textOf(link, b.Home.source)
	_, line, _ := strings.Cut(textOf(item, b.Home.source), name+": ")
	e := &entry{Name: name, Line: line, Address: string(link.Destination)} // as readPage has made it
	if file, ok := strings.CutSuffix(e.Address, pageEnd); ok && !strings.Contains(e.Address, "://") {
		p, err := readPage(tree, file)
		if err != nil {
			return err
		}
		p.Short, p.Line, p.Group = name, line, to.Name
		e.Page = p
		b.pages = append(b.pages, p)
	}
	to.Entries = append(to.Entries, e)
	return nil
}

// complete says which page of the tree is not in the list, or twice.
func (b *book) complete(tree fs.FS) error {
	files, err := fs.Glob(tree, "*"+sourceEnd)
	if err != nil {
		return err
	}
	listed := map[string]int{listPage + sourceEnd: 1}
	for _, p := range b.pages[1:] {
		listed[p.Name+sourceEnd]++
	}
	for _, f := range files {
		if listed[f] != 1 {
			return fmt.Errorf("%s.md lists %s %d times, not once", listPage, f, listed[f])
		}
	}
	return nil
}
