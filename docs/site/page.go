package site

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/taskrt/taskrt/internal/anchor"
)

// How files of pages end: in the repository, and in the site.
const (
	sourceEnd = ".md"
	pageEnd   = ".html"
)

// repository is where files are that are no pages.
const repository = "https://github.com/taskrt/taskrt/blob/main/"

// page is one page.
type page struct {
	Name           string // without its end
	Title          string // its first heading
	Short          string // what README.md calls it
	Line           string // what README.md says of it
	Group          string
	Body           template.HTML
	Contents       []heading // without the title
	Previous, Next *page
	source         []byte
	root           ast.Node
	sections       []section
}

// Source is the file of the page in Markdown.
func (p *page) Source() string {
	if p.Name == homePage {
		return listPage + sourceEnd
	}
	return p.Name + sourceEnd
}

// heading is a place in a page.
type heading struct {
	Level    int
	ID, Text string
}

// section is a heading with the text below it, up to the next heading.
type section struct {
	heading

	text string
}

// markdown is what GitHub makes of these pages: no other syntax is used in them.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Linkify),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(look{}, 1))),
)

// readPage reads and renders NAME.md.
func readPage(tree fs.FS, name string) (*page, error) {
	source, err := fs.ReadFile(tree, name+sourceEnd)
	if err != nil {
		return nil, err
	}
	p := &page{Name: name, source: source, root: markdown.Parser().Parse(text.NewReader(source))}
	if err := p.prepare(); err != nil {
		return nil, fmt.Errorf("%s%s: %w", name, sourceEnd, err)
	}
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, source, p.root); err != nil {
		return nil, err
	}
	p.Body = template.HTML(body.String()) //nolint:gosec // of files of this build, without HTML of their own
	return p, nil
}

// prepare gives headings their anchors and links their addresses, and takes the page apart into sections.
func (p *page) prepare() error {
	seen := map[string]int{}
	var comments []ast.Node
	err := ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			h := heading{Level: n.Level, Text: textOf(n, p.source)}
			h.ID = anchor.Of(h.Text)
			if seen[h.ID]++; seen[h.ID] > 1 {
				h.ID += "-" + strconv.Itoa(seen[h.ID]-1)
			}
			n.SetAttributeString("id", []byte(h.ID))
			p.sections = append(p.sections, section{heading: h})
		case *ast.Link:
			if to := addressOf(string(n.Destination)); to != string(n.Destination) || strings.Contains(to, "://") {
				n.Destination = []byte(to)
				if strings.Contains(to, "://") {
					n.SetAttributeString("class", []byte("away"))
				}
			}
		case *ast.HTMLBlock:
			comments = append(comments, n)
		case *ast.RawHTML:
			return ast.WalkStop, fmt.Errorf("HTML in the text: %q", n.Segments.Value(p.source))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return err
	}
	for _, n := range comments {
		if html := bytes.TrimSpace(n.Lines().Value(p.source)); !bytes.HasPrefix(html, []byte("<!--")) || !bytes.HasSuffix(html, []byte("-->")) {
			return fmt.Errorf("HTML that is no comment: %.80q", html)
		}
		n.Parent().RemoveChild(n.Parent(), n)
	}
	return p.divide()
}

// divide gives sections their texts.
func (p *page) divide() error {
	at := -1
	for n := p.root.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindHeading {
			at++
			continue
		}
		if at < 0 {
			return fmt.Errorf("text before the title")
		}
		p.sections[at].text += textOf(n, p.source) + " "
	}
	if len(p.sections) == 0 || p.sections[0].Level != 1 {
		return fmt.Errorf("no title")
	}
	if at+1 != len(p.sections) {
		return fmt.Errorf("a heading in a list or a quotation")
	}
	p.Title = p.sections[0].Text
	for _, s := range p.sections[1:] {
		p.Contents = append(p.Contents, s.heading)
	}
	return nil
}

// textOf is the text of a node, as it is read, on one line.
func textOf(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch {
		case !entering:
			if n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		case n.Kind() == ast.KindText:
			one := n.(*ast.Text)
			if words := one.Segment.Value(source); n.Parent().Kind() == ast.KindCodeSpan {
				b.Write(words)
			} else {
				b.Write(util.UnescapePunctuations(words))
			}
			if one.SoftLineBreak() || one.HardLineBreak() {
				b.WriteByte(' ')
			}
		case n.Kind() == ast.KindString:
			b.Write(n.(*ast.String).Value)
		case n.Kind() == ast.KindAutoLink:
			b.Write(n.(*ast.AutoLink).Label(source))
		case n.Kind() == ast.KindFencedCodeBlock, n.Kind() == ast.KindCodeBlock:
			b.Write(n.Lines().Value(source))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// addressOf is what a link of a page leads to in the site.
func addressOf(link string) string {
	file, anchor, within := strings.Cut(link, "#")
	name, isPage := strings.CutSuffix(file, sourceEnd)
	switch {
	case file == "":
		return link
	case strings.Contains(file, "/") || !isPage:
		return elsewhere(link)
	case name == listPage:
		name = homePage
	}
	if within {
		return name + pageEnd + "#" + anchor
	}
	return name + pageEnd
}

// elsewhere is the address of a file of the repository that is no page. Where there is no network nothing of the site depends on it.
func elsewhere(link string) string {
	if strings.Contains(link, "://") {
		return link
	}
	return repository + path.Join("docs", link)
}
