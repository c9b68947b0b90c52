// Package words counts words. A word stands between characters that are neither letters nor digits, of any script;
// case is kept.
package words

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

// Counter counts the words of texts that come in pieces, cut anywhere. The zero value begins at the start of a text, and
// counts every word.
type Counter struct {
	Counts map[string]int64
	Total  int64

	from, to int64  // where a word must begin to count; to 0: anywhere
	at       int64  // in the text: where rest ends
	rest     []byte // the start of a character whose end is in the next piece
	word     []byte // the one at work
	begun    int64  // where it began
	in       bool   // in a word
}

// Before is how many bytes in front of a place tell whether a word begins there: the length of the longest character.
const Before = utf8.UTFMax

// Begin ends the text, if there was one, and begins another. Of this text it counts the words that begin at from or behind it, but
// before to (both in bytes). So a text may be counted in parts: each word counts in the part in which it begins. Begin returns the
// place from which to write.
func (c *Counter) Begin(from, to int64) (at int64) {
	c.End()
	c.from, c.to, c.at = from, to, max(from-Before, 0)
	return c.at
}

// Write counts on.
func (c *Counter) Write(piece []byte) {
	for len(c.rest) > 0 && len(piece) > 0 { // at most three times
		c.rest, piece = append(c.rest, piece[0]), piece[1:]
		for len(c.rest) > 0 && utf8.FullRune(c.rest) {
			c.rest = c.rest[c.character(c.rest):]
		}
	}
	for len(piece) > 0 {
		if !utf8.FullRune(piece) {
			c.rest = append(c.rest[:0], piece...)
			return
		}
		piece = piece[c.character(piece):]
	}
}

// character takes one character from the front of text, and returns its length.
func (c *Counter) character(text []byte) int {
	r, n := utf8.DecodeRune(text)
	switch letter := unicode.IsLetter(r) || unicode.IsDigit(r); {
	case !letter:
		c.endWord()
	case !c.in:
		c.in, c.begun, c.word = true, c.at, append(c.word[:0], text[:n]...)
	default:
		c.word = append(c.word, text[:n]...)
	}
	c.at += int64(n)
	return n
}

func (c *Counter) endWord() {
	if !c.in {
		return
	}
	c.in = false
	if c.begun < c.from || c.to > 0 && c.begun >= c.to {
		return
	}
	if c.Counts == nil {
		c.Counts = map[string]int64{}
	}
	c.Counts[string(c.word)]++
	c.Total++
}

// Done reports that nothing in the rest of the text counts.
func (c *Counter) Done() bool { return c.to > 0 && c.at >= c.to && (!c.in || c.begun >= c.to) }

// End counts the last word of the text.
func (c *Counter) End() {
	for len(c.rest) > 0 {
		c.rest = c.rest[c.character(c.rest):]
	}
	c.endWord()
}

// Encode writes {"words":{…},"total":…}, words in order, so that equal counts give equal bytes.
func Encode(counts map[string]int64, total int64) []byte {
	names := make([]string, 0, len(counts))
	for w := range counts { // order-free: sorted below
		names = append(names, w)
	}
	slices.Sort(names)
	buf := []byte(`{"words":{`)
	for _, w := range names {
		buf = tinyjson.AppendInt(tinyjson.AppendMember(buf, w), counts[w])
	}
	buf = append(buf, '}')
	buf = tinyjson.AppendInt(tinyjson.AppendMember(buf, "total"), total)
	return append(buf, '}')
}
