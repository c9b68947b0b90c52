package site

import (
	"fmt"
	"html"

	"github.com/yuin/goldmark/ast"
	extended "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// look renders what the library would render in another way: what may be wider than a window can be scrolled, by keyboard too, and headings
// have a link to themselves.
type look struct{}

var _ renderer.NodeRenderer = look{}

// RegisterFuncs implements renderer.NodeRenderer.
func (look) RegisterFuncs(to renderer.NodeRendererFuncRegisterer) {
	to.Register(extended.KindTable, func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			return ast.WalkContinue, write(w, `<div class="table" tabindex="0"><table>`+"\n")
		}
		return ast.WalkContinue, write(w, "</table></div>\n")
	})
	to.Register(extended.KindTableCell, cell)
	to.Register(ast.KindHeading, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		id, _ := n.AttributeString("id")
		level := n.(*ast.Heading).Level
		anchor := html.EscapeString(string(id.([]byte)))
		if entering {
			return ast.WalkContinue, write(w, fmt.Sprintf(`<h%d id="%s">`, level, anchor))
		}
		if level > 1 {
			if err := write(w, ` <a class="here" href="#`+anchor+`" tabindex="-1" aria-hidden="true">#</a>`); err != nil {
				return ast.WalkStop, err
			}
		}
		return ast.WalkContinue, write(w, fmt.Sprintf("</h%d>\n", level))
	})
	block := func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		return ast.WalkSkipChildren, write(w, `<pre tabindex="0"><code>`+html.EscapeString(string(n.Lines().Value(source)))+"</code></pre>\n")
	}
	to.Register(ast.KindFencedCodeBlock, block)
	to.Register(ast.KindCodeBlock, block)
}

// cell renders a cell of a table. An empty one at the head is none that others stand below.
func cell(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "td"
	if n.Parent().Kind() == extended.KindTableHeader && n.HasChildren() {
		tag = "th"
	}
	if !entering {
		return ast.WalkContinue, write(w, "</"+tag+">\n")
	}
	if to := n.(*extended.TableCell).Alignment; to != extended.AlignNone {
		return ast.WalkContinue, write(w, "<"+tag+` class="`+to.String()+`">`)
	}
	return ast.WalkContinue, write(w, "<"+tag+">")
}

func write(w util.BufWriter, text string) error {
	_, err := w.WriteString(text)
	return err
}
