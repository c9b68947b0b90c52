package meter

import (
	"encoding/binary"
	"slices"
)

// Value types, for tests.
const (
	i32       = byte(0x7f)
	i64       = byte(0x7e)
	f32       = byte(0x7d)
	f64       = byte(0x7c)
	v128      = byte(0x7b)
	funcref   = byte(0x70)
	externref = byte(0x6f)
)

// asm is a module in the making: the entries of each section, as they are encoded.
type asm struct {
	types, imports, funcs, tables, memories, tags, globals, exports, elements, code, data [][]byte
	start                                                                                 []byte
	dataCount                                                                             bool
	custom                                                                                []custom
}

type custom struct {
	name    string
	content []byte
	behind  byte // section
}

// list is a vector.
func list(entries ...[]byte) []byte {
	return append(num(len(entries)), slices.Concat(entries...)...)
}

func num(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func text(s string) []byte { return str(nil, s) }

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

// signature adds a type and returns its index.
func (a *asm) signature(params, results []byte) int {
	t := join([]byte{0x60}, num(len(params)), params, num(len(results)), results)
	for i := range a.types {
		if slices.Equal(a.types[i], t) {
			return i
		}
	}
	a.types = append(a.types, t)
	return len(a.types) - 1
}

// importFunction adds an import; all have to be added before the first function.
func (a *asm) importFunction(module, name string, params, results []byte) int {
	a.imports = append(a.imports, join(text(module), text(name), []byte{0}, num(a.signature(params, results))))
	return len(a.imports) - 1
}

// function adds a function with a local of each of the given types, and returns its index. code lacks its end.
func (a *asm) function(params, results, locals []byte, code ...byte) int {
	a.funcs = append(a.funcs, num(a.signature(params, results)))
	groups := make([][]byte, len(locals))
	for i, l := range locals {
		groups[i] = []byte{1, l}
	}
	body := join(list(groups...), code, []byte{opEnd})
	a.code = append(a.code, join(num(len(body)), body))
	return len(a.imports) + len(a.funcs) - 1
}

func (a *asm) export(name string, kind byte, index int) {
	a.exports = append(a.exports, join(text(name), []byte{kind}, num(index)))
}

// tag adds a tag of exceptions that bring values of the given types, and returns its index.
func (a *asm) tag(params ...byte) int {
	a.tags = append(a.tags, join([]byte{0}, num(a.signature(params, nil))))
	return len(a.tags) - 1
}

// global adds a mutable global that begins with a constant expression.
func (a *asm) global(typ byte, mutable bool, init ...byte) int {
	m := byte(0)
	if mutable {
		m = 1
	}
	a.globals = append(a.globals, join([]byte{typ, m}, init, []byte{opEnd}))
	return len(a.globals) - 1
}

// build encodes the module. Sections without entries are left out.
func (a *asm) build() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	add := func(id byte, body []byte) { out = join(out, []byte{id}, num(len(body)), body) }
	customs := func(behind byte) {
		for _, c := range a.custom {
			if c.behind == behind {
				add(0, join(text(c.name), c.content))
			}
		}
	}
	customs(0)
	for _, s := range []struct {
		id      byte
		entries [][]byte
	}{
		{1, a.types}, {2, a.imports}, {3, a.funcs}, {4, a.tables}, {5, a.memories}, {13, a.tags}, {6, a.globals}, {7, a.exports},
		{8, nil}, {9, a.elements}, {12, nil}, {10, a.code}, {11, a.data},
	} {
		switch {
		case len(s.entries) > 0:
			add(s.id, list(s.entries...))
		case s.id == 8 && a.start != nil:
			add(8, a.start)
		case s.id == 12 && a.dataCount:
			add(12, num(len(a.data)))
		}
		customs(s.id)
	}
	return out
}

// bin is code from numbers of all kinds: opcodes and small immediates.
func bin(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, byte(p))
		case byte:
			out = append(out, p)
		case []byte:
			out = append(out, p...)
		case string:
			out = append(out, p...)
		}
	}
	return out
}
