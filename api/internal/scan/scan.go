// Package scan passes over JSON once: it says whether a text is valid and compact, and reads values that are written plainly.
package scan

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Scanner passes over JSON once. It checks what it passes by the grammar of encoding/json, not deeper than MaxDepth. It only
// says whether a text is right. Decoders such as codec.Strict look again at a wrong text and word the error. The Scanner does
// not check that strings are valid UTF-8: utf8.Valid of a whole body costs next to nothing.
type Scanner struct {
	b     []byte
	i     int
	loose bool // white space outside of strings has been passed
}

// Valid reports whether b is one JSON text as bodies and payloads may be, and whether it is compact: without insignificant
// white space.
func Valid(b []byte) (valid, compact bool) {
	s := Scanner{b: b}
	s.Space()
	valid = s.Value(0) && s.Whole()
	return valid, valid && !s.loose
}

// New makes a Scanner of a text.
func New(b []byte) Scanner { return Scanner{b: b} }

// Pos returns the place of the next byte.
func (s *Scanner) Pos() int { return s.i }

// Back goes back to a place.
func (s *Scanner) Back(to int) { s.i = to }

// Since returns the text between a place and the next byte.
func (s *Scanner) Since(from int) []byte { return s.b[from:s.i:s.i] }

// Whole reports whether the text has ended, and is valid UTF-8.
func (s *Scanner) Whole() bool { return s.end() && utf8.Valid(s.b) }

// end reports whether only white space is left.
func (s *Scanner) end() bool {
	s.Space()
	return s.i == len(s.b)
}

// Space passes white space.
func (s *Scanner) Space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
			s.loose = true
		default:
			return
		}
	}
}

// at reports whether the next byte after white space is c, and passes it.
func (s *Scanner) at(c byte) bool {
	s.Space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// Value passes the value that begins here, inside depth lists and objects.
func (s *Scanner) Value(depth int) bool {
	if s.i >= len(s.b) {
		return false
	}
	switch s.b[s.i] {
	case '"':
		_, _, ok := s.quoted()
		return ok
	case '{':
		return s.object(depth + 1)
	case '[':
		return s.list(depth + 1)
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

func (s *Scanner) object(depth int) bool {
	s.i++
	if depth > MaxDepth {
		return false
	}
	if s.at('}') {
		return true
	}
	for {
		s.Space()
		if s.i >= len(s.b) || s.b[s.i] != '"' {
			return false
		}
		if _, _, ok := s.quoted(); !ok || !s.at(':') {
			return false
		}
		s.Space()
		if !s.Value(depth) {
			return false
		}
		if !s.at(',') {
			return s.at('}')
		}
	}
}

func (s *Scanner) list(depth int) bool {
	s.i++
	if depth > MaxDepth {
		return false
	}
	if s.at(']') {
		return true
	}
	for {
		s.Space()
		if !s.Value(depth) {
			return false
		}
		if !s.at(',') {
			return s.at(']')
		}
	}
}

func (s *Scanner) word(w string) bool {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		return false
	}
	s.i += len(w)
	return true
}

// digits passes digits, and returns how many there were.
func (s *Scanner) digits() int {
	from := s.i
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i - from
}

func (s *Scanner) number() bool {
	if s.i < len(s.b) && s.b[s.i] == '-' {
		s.i++
	}
	zero := s.i < len(s.b) && s.b[s.i] == '0'
	if n := s.digits(); n == 0 || zero && n > 1 {
		return false
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if s.digits() == 0 {
			return false
		}
	}
	if s.i < len(s.b) && s.b[s.i]|0x20 == 'e' {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		return s.digits() > 0
	}
	return true
}

// quoted passes a string whose opening quote is here. It returns what stands between the quotes, and whether this is the string
// itself, without escapes.
func (s *Scanner) quoted() (inside []byte, plain, ok bool) {
	b, i := s.b, s.i+1
	for plain = true; i < len(b); {
		if i+8 <= len(b) {
			m := specials(binary.LittleEndian.Uint64(b[i:]))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		}
		switch c := b[i]; {
		case c == '"':
			inside, s.i = b[s.i+1:i], i+1
			return inside, plain, true
		case c == '\\':
			n := escape(b[i:])
			if n == 0 {
				return nil, false, false
			}
			plain = false
			i += n
		case c < ' ':
			return nil, false, false
		default:
			i++
		}
	}
	return nil, false, false
}

// specials sets the high bit of the first byte of w that ends a string or needs a look: a quote, a backslash, a control
// character. Bits above it may be wrong. 0 means that there is no such byte.
// https://graphics.stanford.edu/~seander/bithacks.html#HasLessInWord
func specials(w uint64) uint64 {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	quote, slash := w^ones*'"', w^ones*'\\'
	return ((w-ones*' ')&^w | (quote-ones)&^quote | (slash-ones)&^slash) & high
}

// escape returns the length of the escape with which b begins; 0 if b does not begin with a valid escape.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if hex := '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'; !hex {
				return 0
			}
		}
		return 6
	}
	return 0
}
