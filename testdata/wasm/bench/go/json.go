//go:build wasip1

package main

type kind uint8

const (
	null kind = iota
	boolean
	integer
	text
	array
	object
)

// value is any JSON value; an integer, or a truth, is in number.
type value struct {
	kind   kind
	number int64
	text   []byte
	items  []*value
	names  [][]byte // of an object's items
}

func textValue(s string) *value   { return &value{kind: text, text: []byte(s)} }
func integerValue(n int64) *value { return &value{kind: integer, number: n} }

func (v *value) set(name string, item *value) {
	v.names = append(v.names, []byte(name))
	v.items = append(v.items, item)
}

func document(round int64) *value {
	doc := &value{kind: object}
	doc.set("id", integerValue(round))
	doc.set("name", textValue("nightly \"import\"\n\tof C:\\data"))
	doc.set("ok", &value{kind: boolean, number: (round + 1) % 2})
	doc.set("none", &value{kind: null})
	doc.set("tags", &value{kind: array, items: []*value{textValue("alpha"), textValue("beta"), textValue("gamma")}})
	items := &value{kind: array}
	for i := range int64(8) {
		item := &value{kind: object}
		item.set("sku", textValue("A-100/7"))
		item.set("quantity", integerValue(i*3))
		item.set("price", integerValue((round+i)*-199))
		items.items = append(items.items, item)
	}
	doc.set("items", items)
	return doc
}

func appendInt(out []byte, n int64) []byte {
	var digits [20]byte
	at := len(digits)
	rest := uint64(n)
	if n < 0 {
		out = append(out, '-')
		rest = -rest
	}
	for {
		at--
		digits[at] = '0' + byte(rest%10)
		rest /= 10
		if rest == 0 {
			return append(out, digits[at:]...)
		}
	}
}

func appendString(out, s []byte) []byte {
	out = append(out, '"')
	for _, c := range s {
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, '\\', 'n')
		case '\t':
			out = append(out, '\\', 't')
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

func (v *value) encode(out []byte) []byte {
	switch v.kind {
	case null:
		return append(out, "null"...)
	case boolean:
		if v.number != 0 {
			return append(out, "true"...)
		}
		return append(out, "false"...)
	case integer:
		return appendInt(out, v.number)
	case text:
		return appendString(out, v.text)
	}
	brackets := "[]"
	if v.kind == object {
		brackets = "{}"
	}
	out = append(out, brackets[0])
	for i, item := range v.items {
		if i > 0 {
			out = append(out, ',')
		}
		if v.kind == object {
			out = append(appendString(out, v.names[i]), ':')
		}
		out = item.encode(out)
	}
	return append(out, brackets[1])
}

type input struct {
	text []byte
	at   int
}

func (in *input) peek() byte { return in.text[in.at] }

func (in *input) next() byte {
	in.at++
	return in.text[in.at-1]
}

func (in *input) expect(s string) {
	for i := range len(s) {
		if in.next() != s[i] {
			panic(s)
		}
	}
}

func (in *input) string() []byte {
	in.expect(`"`)
	var s []byte
	for {
		c := in.next()
		switch c {
		case '"':
			return s
		case '\\':
			switch c = in.next(); c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			}
		}
		s = append(s, c)
	}
}

func (in *input) int() int64 {
	negative := in.peek() == '-'
	if negative {
		in.at++
	}
	var n int64
	for in.at < len(in.text) && '0' <= in.text[in.at] && in.text[in.at] <= '9' {
		n = n*10 + int64(in.next()-'0')
	}
	if negative {
		return -n
	}
	return n
}

func (in *input) decode() *value {
	switch in.peek() {
	case 'n':
		in.expect("null")
		return &value{kind: null}
	case 't':
		in.expect("true")
		return &value{kind: boolean, number: 1}
	case 'f':
		in.expect("false")
		return &value{kind: boolean}
	case '"':
		return &value{kind: text, text: in.string()}
	case '[':
		return in.list(&value{kind: array}, ']')
	case '{':
		return in.list(&value{kind: object}, '}')
	}
	return integerValue(in.int())
}

func (in *input) list(v *value, end byte) *value {
	in.at++
	for in.peek() != end {
		if len(v.items) > 0 {
			in.expect(",")
		}
		if v.kind == object {
			v.names = append(v.names, in.string())
			in.expect(":")
		}
		v.items = append(v.items, in.decode())
	}
	in.at++
	return v
}

//go:wasmexport json
func json(rounds int32) int64 {
	sum := uint64(fnvOffset)
	var once, twice []byte
	for r := range int64(rounds) {
		once = document(r).encode(once[:0])
		in := input{text: once}
		twice = in.decode().encode(twice[:0])
		for _, b := range twice {
			sum = fnv(sum, uint64(b))
		}
	}
	return int64(sum)
}
