package identity

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var (
	errNothingThere = errors.New("nothing is there")
	errNotJSON      = errors.New("not JSON")
)

// pick returns the value at a JSON pointer (RFC 6901) of a document, as it stands there. If members have the same name,
// the last one counts. pick goes through the document once, however long the pointer is: one unmarshalling for each of
// its tokens took minutes for what is allowed, 250 levels around 16 MiB.
func pick(doc []byte, pointer string) ([]byte, error) {
	if pointer == "" {
		return doc, nil
	}
	if pointer[0] != '/' {
		return nil, fmt.Errorf("%q is not a JSON pointer", pointer)
	}
	p := picker{doc: doc, tokens: strings.Split(pointer[1:], "/")}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for i, t := range p.tokens {
		p.tokens[i] = unescape.Replace(t)
	}
	p.value(0)
	switch {
	case p.err != nil:
		return nil, p.err
	case p.found == nil:
		return nil, errNothingThere
	}
	return p.found, nil
}

// picker goes through a document.
type picker struct {
	doc    []byte
	at     int
	tokens []string
	found  []byte
	err    error
}

// off, instead of a number of tokens, says that the pointer does not lead to a value.
const off = -1

// next skips white space and returns the byte that follows. At the end it returns 0 and sets err.
func (p *picker) next() byte {
	for ; p.at < len(p.doc); p.at++ {
		switch c := p.doc[p.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	p.err = errNotJSON
	return 0
}

// value reads the value that the first n tokens lead to.
func (p *picker) value(n int) {
	c := p.next()
	begin := p.at
	switch c {
	case '{':
		p.members(n)
	case '[':
		p.elements(n)
	case '"':
		p.text()
	default:
		for p.at < len(p.doc) && !strings.ContainsRune(",]} \t\n\r", rune(p.doc[p.at])) {
			p.at++
		}
		if p.at == begin {
			p.err = errNotJSON
		}
	}
	if n == len(p.tokens) && p.err == nil {
		p.found = p.doc[begin:p.at]
	}
}

// inner returns how many tokens lead to a part of a value, or off. n tokens lead to the value, and the part has this
// name or index.
func (p *picker) inner(n int, name func() string) int {
	if n == off || n == len(p.tokens) || name() != p.tokens[n] {
		return off
	}
	p.found = nil // forget what an earlier member of the same name has led to
	return n + 1
}

func (p *picker) members(n int) {
	for p.at++; p.err == nil; {
		switch p.next() {
		case '}':
			p.at++
			return
		case ',':
			p.at++
			continue
		}
		begin := p.at
		p.text()
		name := p.doc[begin:p.at]
		if p.next() != ':' {
			p.err = errNotJSON
			return
		}
		p.at++
		p.value(p.inner(n, func() string {
			var s string
			if json.Unmarshal(name, &s) != nil {
				p.err = errNotJSON
			}
			return s
		}))
	}
}

func (p *picker) elements(n int) {
	i := 0
	for p.at++; p.err == nil; {
		switch p.next() {
		case ']':
			p.at++
			return
		case ',':
			p.at++
			i++
			continue
		}
		p.value(p.inner(n, func() string { return strconv.Itoa(i) }))
	}
}

// text reads a string.
func (p *picker) text() {
	if p.at >= len(p.doc) || p.doc[p.at] != '"' {
		p.err = errNotJSON
		return
	}
	for p.at++; p.at < len(p.doc); p.at++ {
		switch p.doc[p.at] {
		case '\\':
			p.at++
		case '"':
			p.at++
			return
		}
	}
	p.err = errNotJSON
}
