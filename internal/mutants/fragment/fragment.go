// Package fragment finds pieces of Go in a text, however either is laid out.
package fragment

import (
	"go/scanner"
	"go/token"
)

// Span is a piece of a text, from one offset up to another.
type Span struct{ From, To int }

// Find returns where a fragment stands in a text.
func Find(text, fragment string) []Span { return occurrences(tokens(text), tokens(fragment)) }

// word is a token of Go and its place.
type word struct {
	text string
	at   Span
}

// tokens splits a piece of Go into its tokens, without comments, and without semicolons: a line's end stands for one.
func tokens(piece string) []word {
	fset := token.NewFileSet()
	f := fset.AddFile("", -1, len(piece))
	var s scanner.Scanner
	s.Init(f, []byte(piece), func(token.Position, string) {}, 0) // a fragment may end anywhere
	var all []word
	for {
		pos, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return all
		case tok == token.SEMICOLON:
			continue
		case lit == "":
			lit = tok.String()
		}
		from := f.Offset(pos)
		all = append(all, word{lit, Span{from, from + len(lit)}})
	}
}

// occurrences returns where the words of a fragment stand in a text, one behind the other.
func occurrences(text, fragment []word) []Span {
	var all []Span
	for i := 0; len(fragment) > 0 && i+len(fragment) <= len(text); i++ {
		n := 0
		for n < len(fragment) && text[i+n].text == fragment[n].text {
			n++
		}
		if n == len(fragment) {
			all = append(all, Span{text[i].at.From, text[i+n-1].at.To})
		}
	}
	return all
}
