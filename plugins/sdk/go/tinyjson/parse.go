package tinyjson

import (
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may nest.
const MaxDepth = 128

// SyntaxError tells what is wrong with a text, and where.
type SyntaxError struct {
	Offset int // in bytes
	What   string
}

func (e *SyntaxError) Error() string {
	return string(AppendInt([]byte("JSON: "+e.What+" at byte "), int64(e.Offset)))
}

// Parse reads one JSON text. Anything but space behind the text is an error.
func Parse(data []byte) (Value, error) {
	p := parser{data: data}
	p.space()
	v, err := p.value(0)
	if err != nil {
		return Value{}, err
	}
	if p.space(); p.pos < len(p.data) {
		return Value{}, p.fail("text after the value")
	}
	return v, nil
}

type parser struct {
	data []byte
	pos  int
}

func (p *parser) fail(what string) error { return &SyntaxError{p.pos, what} }

func (p *parser) space() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end (0 is valid nowhere outside strings).
func (p *parser) peek() byte {
	if p.pos < len(p.data) {
		return p.data[p.pos]
	}
	return 0
}

func (p *parser) value(depth int) (Value, error) {
	if depth > MaxDepth {
		return Value{}, p.fail("nested too deep")
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		s, err := p.str()
		return Value{kind: String, text: s}, err
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	case c == 't':
		return Value{kind: Bool, truth: true}, p.word("true")
	case c == 'f':
		return Value{kind: Bool}, p.word("false")
	case c == 'n':
		return Value{}, p.word("null")
	case p.pos == len(p.data):
		return Value{}, p.fail("unexpected end")
	}
	return Value{}, p.fail("unexpected character")
}

func (p *parser) word(w string) error {
	if rest := p.data[p.pos:]; len(rest) < len(w) || string(rest[:len(w)]) != w {
		return p.fail("unexpected character")
	}
	p.pos += len(w)
	return nil
}

func (p *parser) object(depth int) (Value, error) {
	v := Value{kind: Object}
	p.pos++
	p.space()
	if p.peek() == '}' {
		p.pos++
		return v, nil
	}
	for {
		if p.peek() != '"' {
			return Value{}, p.fail("a member's name is missing")
		}
		key, err := p.str()
		if err != nil {
			return Value{}, err
		}
		if p.space(); p.peek() != ':' {
			return Value{}, p.fail("':' is missing")
		}
		p.pos++
		p.space()
		elem, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		v.keys, v.elems = append(v.keys, key), append(v.elems, elem)
		if done, err := p.next('}'); err != nil || done {
			return v, err
		}
	}
}

func (p *parser) array(depth int) (Value, error) {
	v := Value{kind: Array}
	p.pos++
	p.space()
	if p.peek() == ']' {
		p.pos++
		return v, nil
	}
	for {
		elem, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		v.elems = append(v.elems, elem)
		if done, err := p.next(']'); err != nil || done {
			return v, err
		}
	}
}

// next consumes a comma (false) or the closing bracket (true), and the space around.
func (p *parser) next(end byte) (bool, error) {
	p.space()
	switch p.peek() {
	case end:
		p.pos++
		return true, nil
	case ',':
		p.pos++
		p.space()
		return false, nil
	}
	return false, p.fail("',' or a closing bracket is missing")
}

func (p *parser) digits() bool {
	start := p.pos
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		p.pos++
	}
	return p.pos > start
}

func (p *parser) number() (Value, error) {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	if p.peek() == '0' {
		p.pos++
	} else if !p.digits() {
		return Value{}, p.fail("a digit is missing")
	}
	if p.peek() == '.' {
		p.pos++
		if !p.digits() {
			return Value{}, p.fail("a digit is missing")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if !p.digits() {
			return Value{}, p.fail("a digit is missing")
		}
	}
	return Value{kind: Number, text: string(p.data[start:p.pos])}, nil
}

// str reads a string; the next byte is its opening quote.
func (p *parser) str() (string, error) {
	p.pos++
	start := p.pos
	for p.pos < len(p.data) { // the usual case: nothing to decode
		c := p.data[p.pos]
		if c == '"' {
			s := string(p.data[start:p.pos])
			p.pos++
			return s, nil
		}
		if c == '\\' || c < 0x20 || c >= utf8.RuneSelf {
			break
		}
		p.pos++
	}
	buf := append([]byte(nil), p.data[start:p.pos]...)
	for p.pos < len(p.data) {
		switch c := p.data[p.pos]; {
		case c == '"':
			p.pos++
			return string(buf), nil
		case c < 0x20:
			return "", p.fail("control character in a string")
		case c == '\\':
			var err error
			if buf, err = p.escape(buf); err != nil {
				return "", err
			}
		default:
			r, n := utf8.DecodeRune(p.data[p.pos:])
			buf = utf8.AppendRune(buf, r)
			p.pos += n
		}
	}
	return "", p.fail("unexpected end of a string")
}

// escape reads one escape sequence, two for a surrogate pair; the next byte is its backslash.
func (p *parser) escape(buf []byte) ([]byte, error) {
	const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	p.pos++
	c := p.peek()
	if c == 'u' {
		r, ok := p.hex()
		if !ok {
			return nil, p.fail("bad \\u escape")
		}
		if utf16.IsSurrogate(r) {
			after := p.pos
			r2, ok := rune(0), false
			if p.pos+1 < len(p.data) && p.data[p.pos] == '\\' && p.data[p.pos+1] == 'u' {
				p.pos++
				r2, ok = p.hex()
			}
			if r = utf16.DecodeRune(r, r2); !ok || r == utf8.RuneError {
				p.pos, r = after, utf8.RuneError // lone: the second one, if any, is read again on its own
			}
		}
		return utf8.AppendRune(buf, r), nil
	}
	for i := range len(from) {
		if c == from[i] {
			p.pos++
			return append(buf, to[i]), nil
		}
	}
	return nil, p.fail("bad escape")
}

// hex reads uXXXX; the next byte is the u.
func (p *parser) hex() (rune, bool) {
	if p.pos+5 > len(p.data) {
		return 0, false
	}
	var r rune
	for _, c := range p.data[p.pos+1 : p.pos+5] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	p.pos += 5
	return r, true
}
