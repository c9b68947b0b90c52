// Package site is the documentation as a web site (SPEC U4): the pages of docs/, rendered, with a search, for nodes that serve it and for a
// directory.
package site

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"

	"github.com/taskrt/taskrt/docs"
)

// Config configures Render.
type Config struct {
	Version string // of taskrt, whose pages these are
	Console bool   // whether the console of a cluster is beside the site, one level above it
}

// Files of the site besides the pages.
const (
	indexFile  = "search-index.js"
	searchPage = "search"
	llmsFile   = "llms.txt"
	fullFile   = "llms-full.txt"
)

//go:embed assets
var assets embed.FS

// layout is the page around all pages.
var layout = template.Must(template.ParseFS(assets, "assets/layout.html"))

// shown is what the layout is filled with.
type shown struct {
	Config
	*page

	Book   *book
	Search bool // it is the page of the search
}

// Heading is the title of the page's own, and of what.
func (s shown) Heading() string {
	if s.Name == homePage {
		return "taskrt: the documentation"
	}
	return s.Title + " · taskrt"
}

// Render makes all files of the site, by their names.
func Render(c Config) (map[string][]byte, error) {
	b, err := readBook(docs.Pages)
	if err != nil {
		return nil, err
	}
	return b.render(c)
}

func (b *book) render(c Config) (map[string][]byte, error) {
	files := map[string][]byte{llmsFile: b.llms(""), fullFile: b.full()}
	pages := append([]*page{{Name: searchPage, Title: "Search", Short: "Search", Line: "Search the documentation."}}, b.pages...)
	for _, p := range pages {
		var html bytes.Buffer
		if err := layout.Execute(&html, shown{c, p, b, p.Name == searchPage}); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		files[p.Name+pageEnd] = html.Bytes()
		if p.source != nil {
			files[p.Source()] = p.source
		}
	}
	var err error
	if files[indexFile], err = b.index(); err != nil {
		return nil, err
	}
	return files, copyAssets(files)
}

func copyAssets(to map[string][]byte) error {
	return fs.WalkDir(assets, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) == pageEnd {
			return err
		}
		to[path.Base(name)], err = fs.ReadFile(assets, name)
		return err
	})
}

// index is what the search looks through: a script, as a page that is opened as a file may read no other.
func (b *book) index() ([]byte, error) {
	var all [][5]string // file, title of the page, anchor, heading, text
	for _, p := range b.pages[1:] {
		for i, s := range p.sections {
			anchor := s.ID
			if i == 0 {
				anchor = "" // the page itself
			}
			all = append(all, [5]string{p.Name + pageEnd, p.Title, anchor, s.Text, strings.TrimSpace(s.text)})
		}
	}
	list, err := json.Marshal(all)
	return append(append([]byte("globalThis.searchIndex = "), list...), ";\n"...), err
}

// llms is the list of pages for language models, as llmstxt.org describes it. The links begin with the path from the list to the pages.
func (b *book) llms(to string) []byte {
	var text strings.Builder
	fmt.Fprintf(&text, "# %s\n\n> %s\n\nThe pages are Markdown. All of them in one file: [%s](%s%s).\n", b.Home.Title, b.Summary, fullFile, to, fullFile)
	for _, g := range b.Groups {
		fmt.Fprintf(&text, "\n## %s\n\n", g.Name)
		for _, e := range g.Entries {
			address := e.Address
			if e.Page != nil {
				address = to + e.Page.Source()
			}
			fmt.Fprintf(&text, "- [%s](%s): %s\n", e.Name, address, e.Line)
		}
	}
	return []byte(text.String())
}

// full is all pages in one file.
func (b *book) full() []byte {
	var text bytes.Buffer
	for _, p := range b.pages[1:] {
		fmt.Fprintf(&text, "<!-- %s -->\n\n%s\n\n", p.Source(), bytes.TrimSpace(p.source))
	}
	return text.Bytes()
}
