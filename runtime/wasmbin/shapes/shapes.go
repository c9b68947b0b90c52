// Package shapes makes small modules that are dear to compile: a function that repeats one thing n times. Tests and
// benchmarks compare limits, and the cost of compiling, with them.
package shapes

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
)

// Shape makes a module of size n. Each module is valid, and has the exports of a guest: memory and taskrt_run.
type Shape struct {
	Name string
	Make func(n int) []byte
	// Product says that the module has n blocks, and n locals or accesses to memory, and that each of these matters
	// in each block.
	Product bool
}

// All are the shapes. Each has one function with which a compiler has trouble in a way of its own.
var All = []Shape{
	{Name: "loops", Make: func(n int) []byte { return module(nested("\x03\x40", n)) }},
	{Name: "seqloops", Make: func(n int) []byte { return module(body(0, times("\x03\x40\x0b", n))) }},
	{Name: "blocks", Make: func(n int) []byte { return module(nested("\x02\x40", n)) }},
	{Name: "ifs", Make: func(n int) []byte { return module(nested("\x41\x01\x04\x40", n)) }},
	{Name: "seqifs", Make: func(n int) []byte { return module(body(0, times("\x20\x00\x04\x40\x0b", n))) }},
	{Name: "adds", Make: func(n int) []byte { return module(body(0, "\x41\x00"+times("\x41\x01\x6a", n)+"\x1a")) }},
	{Name: "stack", Make: func(n int) []byte { return module(body(0, times("\x41\x01", n)+times("\x6a", n-1)+"\x1a")) }},
	{Name: "brtable", Make: func(n int) []byte { return module(body(0, "\x02\x40\x41\x00\x0e"+leb(n)+times("\x00", n+1)+"\x0b")) }},
	{Name: "blockbr", Make: func(n int) []byte { return module(nestedAround("\x02\x40", n, branches(n))) }},
	{Name: "looptables", Make: func(n int) []byte { return module(nestedAround("\x03\x40", n, branches(n))) }},
	{Name: "loopsets", Make: func(n int) []byte { return module(nestedAround("\x03\x40", n, "\x20\x00\x41\x01\x6a\x22\x00\x0d\x00")) }},
	{Name: "locals", Make: func(n int) []byte { return module(body(n, each(n, increment))) }},
	{Name: "localsifs", Product: true, Make: func(n int) []byte {
		return module(body(n, each(n, func(k int) string { return "\x20\x00\x04\x40" + increment(k) + "\x0b" })))
	}},
	{Name: "locloop", Make: func(n int) []byte { return module(body(n, around("\x03\x40", 20, each(n, increment)))) }},
	{Name: "locloopbr", Make: func(n int) []byte {
		return module(body(n, times("\x03\x40", 20)+each(n, increment)+times("\x20\x00\x0d\x00\x0b", 20)))
	}},
	{Name: "localsinloopsbr", Product: true, Make: func(n int) []byte {
		return module(body(n, times("\x03\x40", n)+each(n, increment)+times("\x20\x00\x0d\x00\x0b", n)))
	}},
	{Name: "localsinloops", Product: true, Make: func(n int) []byte { return LocalsInLoops(n, n) }},
	{Name: "seqloopslocals", Product: true, Make: func(n int) []byte {
		return module(body(n, times("\x03\x40"+increment(0)+"\x20\x00\x0d\x00\x0b", n)+each(n, increment)))
	}},
	{Name: "seqloopsbody", Product: true, Make: func(n int) []byte {
		return module(body(1, times("\x03\x40"+times(increment(0), 3)+"\x20\x00\x20\x01\x36\x02\x00\x20\x00\x0d\x00\x0b", n)))
	}},
	{Name: "seqloopsbr", Make: func(n int) []byte { return module(body(0, times("\x03\x40\x20\x00\x0d\x00\x0b", n))) }},
	{Name: "loopsbr", Make: func(n int) []byte { return module(body(0, times("\x03\x40", n)+times("\x20\x00\x0d\x00\x0b", n))) }},
	{Name: "stackifs", Make: func(n int) []byte {
		return module(body(0, times("\x20\x00\x41\x01\x6a", n)+times("\x20\x00\x04\x40\x0b", n)+times("\x6a", n-1)+"\x1a"))
	}},
	{Name: "stackcalls", Make: func(n int) []byte {
		return module(body(0, times("\x20\x00\x41\x01\x6a", n)+times("\x20\x00\x10\x00\x1a", n)+times("\x6a", n-1)+"\x1a"))
	}},
	{Name: "localslive", Product: true, Make: func(n int) []byte {
		return module(body(n, each(n, set)+times("\x20\x00\x04\x40\x0b", n)+each(n, increment)))
	}},
	{Name: "results", Make: func(n int) []byte { return wide(n) }},
	{Name: "tables", Make: func(n int) []byte {
		return module(body(0, times("\x02\x40", n)+times("\x02\x40\x20\x00\x0e"+leb(n)+each(n+1, leb)+"\x0b", 20)+times("\x0b", n)))
	}},
	{Name: "functions", Make: func(n int) []byte { return module(slices.Repeat([][]byte{body(0, "")}, n)...) }},
}

// LocalsInLoops makes a module with a function of locals locals, all of which are read within depth nested loops.
func LocalsInLoops(locals, depth int) []byte {
	read := each(locals, func(k int) string { return "\x20" + leb(k+1) + "\x1a" })
	return module(body(locals, around("\x03\x40", depth, read+"\x20\x00\x0d\x00")))
}

// Locals makes a module of functions functions with locals locals each.
func Locals(functions, locals int) []byte {
	return module(slices.Repeat([][]byte{body(locals, "")}, functions)...)
}

// set gives a value of its own to local k, counted behind the params.
func set(k int) string { return "\x20\x00\x41" + sleb(k) + "\x6a\x21" + leb(k+1) }

func sleb(k int) string {
	b := []byte{}
	for k >= 0x40 {
		b = append(b, byte(k&0x7f|0x80))
		k >>= 7
	}
	return string(append(b, byte(k)))
}

// wide calls a function of 500 results n times.
func wide(n int) []byte {
	many := string(append(append([]byte("\x60\x01\x7f"), leb(500)...), bytes.Repeat([]byte{0x7f}, 500)...))
	return moduleOf([]string{"\x60\x01\x7f\x01\x7f", many}, []int{0, 1},
		body(0, times("\x20\x00\x10\x01", n)+"\x00"), append([]byte("\x00"), times("\x20\x00", 500)+"\x0b"...))
}

// branches is one br_if to each of n labels.
func branches(n int) string {
	return each(n, func(k int) string { return "\x20\x00\x0d" + leb(k) })
}

// increment adds 1 to local k, counted behind the params.
func increment(k int) string { return "\x20" + leb(k+1) + "\x41\x01\x6a\x21" + leb(k+1) }

func nested(open string, n int) []byte { return nestedAround(open, n, "") }

func nestedAround(open string, n int, middle string) []byte { return body(0, around(open, n, middle)) }

func around(open string, n int, middle string) string {
	return times(open, n) + middle + times("\x0b", n)
}

func times(s string, n int) string { return string(bytes.Repeat([]byte(s), n)) }

func each(n int, f func(k int) string) string {
	var b bytes.Buffer
	for k := range n {
		b.WriteString(f(k))
	}
	return b.String()
}

func leb(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }

// body is a function (i32) -> (i32) with some locals of type i32, which returns 0 at its end.
func body(locals int, code string) []byte {
	groups := "\x00"
	if locals > 0 {
		groups = "\x01" + leb(locals) + "\x7f"
	}
	return []byte(groups + code + "\x41\x00\x0b")
}

// module has these functions; the first is taskrt_run.
func module(bodies ...[]byte) []byte {
	return moduleOf([]string{"\x60\x01\x7f\x01\x7f"}, make([]int, len(bodies)), bodies...)
}

// moduleOf has functions of these types.
func moduleOf(types []string, typed []int, bodies ...[]byte) []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, content string) { out = append(out, string(id)+leb(len(content))+content...) }
	section(1, leb(len(types))+strings.Join(types, ""))
	section(3, leb(len(typed))+each(len(typed), func(k int) string { return leb(typed[k]) }))
	section(5, "\x01\x00\x01")
	section(7, "\x02\x06memory\x02\x00\x0ataskrt_run\x00\x00")
	section(10, leb(len(bodies))+each(len(bodies), func(k int) string { return leb(len(bodies[k])) + string(bodies[k]) }))
	return out
}
