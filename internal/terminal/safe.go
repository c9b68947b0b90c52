package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Cell makes text safe to stand in one line among other text. It shows everything that is no visible character or space as an escape
// in the manner of Go: line feeds, carriage returns and tabs, escape sequences and all other controls (C0, DEL, C1),
// overrides and isolates of the direction of writing, characters without width, and bytes that are no UTF-8.
func Cell(s string) string { return escape(s, "") }

// Block makes text of several lines safe: it does to each line what Cell does. Tabs stay, too.
func Block(s string) string { return escape(s, "\n\t") }

// Text is text of several lines that Printf takes as it is.
type Text struct{ safe string }

// Lines is Block for a text behind a word of taskrt's own: the lines after the first are indented, so that nobody takes
// one of them for a line of taskrt.
func Lines(s string) Text {
	return Text{strings.ReplaceAll(Block(strings.TrimRight(s, "\n")), "\n", "\n  ")}
}

// String implements fmt.Stringer.
func (t Text) String() string { return t.safe }

// Clip cuts text to at most n bytes, between characters, and marks the cut.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// escape leaves the characters of keep as they are.
func escape(s, keep string) string {
	if isSafe(s, keep) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case shows(r, keep):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[n:]
	}
	return b.String()
}

func isSafe(s, keep string) bool {
	for i, r := range s {
		if !shows(r, keep) || r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)) {
			return false
		}
	}
	return true
}

func shows(r rune, keep string) bool { return strconv.IsGraphic(r) || strings.ContainsRune(keep, r) }
