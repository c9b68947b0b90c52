package tinyjson

// Member is one member of an object, or one element of an array, with its value as it was written.
type Member struct {
	Name string // "" in an array
	Raw  []byte // shares memory with the text
}

// Members splits an object or an array into its members or elements, however deep they nest. It looks only at brackets and strings of
// the values; Parse says whether a value is right.
func Members(data []byte) ([]Member, error) {
	p := parser{data: data}
	p.space()
	var end byte
	switch p.peek() {
	case '{':
		end = '}'
	case '[':
		end = ']'
	default:
		return nil, p.fail("neither an object nor an array")
	}
	p.pos++
	p.space()
	var list []Member
	for done := p.peek() == end; !done; {
		m, err := p.member(end == '}')
		if err != nil {
			return nil, err
		}
		list = append(list, m)
		if done, err = p.next(end); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		p.pos++ // the closing bracket, which next takes otherwise
	}
	if p.space(); p.pos < len(p.data) {
		return nil, p.fail("text after the value")
	}
	return list, nil
}

func (p *parser) member(named bool) (m Member, err error) {
	if named {
		if p.peek() != '"' {
			return m, p.fail("a member's name is missing")
		}
		if m.Name, err = p.str(); err != nil {
			return m, err
		}
		if p.space(); p.peek() != ':' {
			return m, p.fail("':' is missing")
		}
		p.pos++
		p.space()
	}
	start := p.pos
	err = p.skip()
	m.Raw = p.data[start:p.pos]
	return m, err
}

// skip passes over one value without recursion.
func (p *parser) skip() error {
	start := p.pos
	for depth := 0; p.pos < len(p.data); {
		switch c := p.data[p.pos]; c {
		case '"':
			if err := p.skipString(); err != nil {
				return err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']', ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return p.skipped(start)
			}
			if c == '}' || c == ']' {
				depth--
			}
		}
		p.pos++
	}
	return p.fail("unexpected end")
}

func (p *parser) skipped(start int) error {
	if p.pos == start {
		return p.fail("a value is missing")
	}
	return nil
}

func (p *parser) skipString() error {
	for p.pos++; p.pos < len(p.data); p.pos++ {
		switch p.data[p.pos] {
		case '\\':
			p.pos++
		case '"':
			p.pos++
			return nil
		}
	}
	p.pos = len(p.data) // a backslash may be the last byte
	return p.fail("unexpected end of a string")
}
