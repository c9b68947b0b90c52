package wasmbin

import (
	"bytes"
	"errors"
	"testing"
)

// segmented is a module with a table of 4 elements, a memory of a page, three globals (4, 1+2 computed, 3 again) and
// a function.
func segmented(elements, data []byte) []byte {
	sections := [][]byte{
		section(1, 1, 0x60, 0, 0), section(3, 1, 0), section(4, 1, 0x70, 0, 4), section(5, 1, 0, 1),
		section(6, 3,
			0x7f, 0, 0x41, 4, 0x0b,
			0x7f, 0, 0x41, 1, 0x41, 2, 0x6a, 0x0b,
			0x7f, 0, 0x23, 1, 0x0b),
	}
	if elements != nil {
		sections = append(sections, section(9, elements...))
	}
	sections = append(sections, section(10, 1, 2, 0, 0x0b))
	if data != nil {
		sections = append(sections, section(11, data...))
	}
	return file(sections...)
}

func TestCheckSegments(t *testing.T) {
	page := []byte{0x41, 0x80, 0x80, 0x04} // i32.const 65536
	for _, tt := range []struct {
		name           string
		elements, data []byte
		want           string // "": it fits
	}{
		{name: "none"},
		{name: "elements to the end", elements: []byte{1, 0, 0x41, 3, 0x0b, 1, 0}},
		{name: "elements over the end", elements: []byte{2, 0, 0x41, 0, 0x0b, 0, 0, 0x41, 3, 0x0b, 2, 0, 0}, want: "element segment 1: does not fit: 2 at offset 3, of 4 elements of table 0 (at byte 59)"},
		{name: "nothing at the end", elements: []byte{1, 0, 0x41, 4, 0x0b, 0}},
		{name: "nothing behind the end", elements: []byte{1, 0, 0x41, 5, 0x0b, 0}, want: "element segment 0: does not fit: 0 at offset 5, of 4 elements of table 0 (at byte 54)"},
		{name: "a negative offset", elements: []byte{1, 0, 0x41, 0x7f, 0x0b, 1, 0}, want: "element segment 0: does not fit: 1 at offset 4294967295, of 4 elements of table 0 (at byte 54)"},
		{name: "an offset that a global holds", elements: []byte{1, 0, 0x23, 2, 0x0b, 1, 0}},
		{name: "another one", elements: []byte{1, 0, 0x23, 0, 0x0b, 1, 0}, want: "element segment 0: does not fit: 1 at offset 4, of 4 elements of table 0 (at byte 54)"},
		{name: "a computed offset", elements: []byte{1, 0, 0x23, 1, 0x41, 2, 0x6c, 0x41, 3, 0x6b, 0x0b, 1, 0}},
		{name: "a computed one over the end", elements: []byte{1, 0, 0x23, 1, 0x41, 2, 0x6c, 0x41, 3, 0x6b, 0x0b, 2, 0, 0}, want: "element segment 0: does not fit: 2 at offset 3, of 4 elements of table 0 (at byte 54)"},
		{name: "32 bits wrap around", elements: []byte{1, 0, 0x41, 0x7f, 0x41, 1, 0x6a, 0x0b, 1, 0}},
		{name: "passive", elements: []byte{1, 1, 0, 5, 0, 0, 0, 0, 0}},
		{name: "with its table", elements: []byte{1, 2, 0, 0x41, 4, 0x0b, 0, 1, 0}, want: "element segment 0: does not fit: 1 at offset 4, of 4 elements of table 0 (at byte 54)"},
		{name: "declared", elements: []byte{1, 3, 0, 5, 0, 0, 0, 0, 0}},
		{name: "expressions", elements: []byte{1, 4, 0x41, 3, 0x0b, 2, 0xd2, 0, 0x0b, 0xd0, 0x70, 0x0b}, want: "element segment 0: does not fit: 2 at offset 3, of 4 elements of table 0 (at byte 54)"},
		{name: "passive expressions", elements: []byte{1, 5, 0x70, 1, 0xd0, 0x70, 0x0b}},
		{name: "expressions with their table", elements: []byte{1, 6, 0, 0x41, 4, 0x0b, 0x70, 1, 0xd2, 0, 0x0b}, want: "element segment 0: does not fit: 1 at offset 4, of 4 elements of table 0 (at byte 54)"},
		{name: "a table that is not there", elements: []byte{1, 2, 9, 0x41, 4, 0x0b, 0, 1, 0}}, // the compiler refuses it

		{name: "data to the end", data: []byte{1, 0, 0x41, 0xfe, 0xff, 0x03, 0x0b, 2, 'h', 'i'}},
		{name: "data over the end", data: []byte{1, 0, 0x41, 0xff, 0xff, 0x03, 0x0b, 2, 'h', 'i'}, want: "data segment 0: does not fit: 2 at offset 65535, of 65536 bytes of memory (at byte 60)"},
		{name: "no data at the end", data: append(append([]byte{1, 0}, page...), 0x0b, 0)},
		{name: "data with its memory", data: append(append([]byte{2, 1, 1, 'x', 2, 0}, page...), 0x0b, 1, 'x'), want: "data segment 1: does not fit: 1 at offset 65536, of 65536 bytes of memory (at byte 64)"},
		{name: "passive data", data: []byte{1, 1, 3, 'a', 'b', 'c'}},
	} {
		m, err := Parse(segmented(tt.elements, tt.data))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		err = m.CheckSegments()
		if tt.want == "" && err == nil {
			continue
		}
		var bad *Error
		if !errors.As(err, &bad) || bad.Reason != BadSegment || bad.Error() != tt.want {
			t.Errorf("%s: error is %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestCheckSegmentsRefuses: segments that cannot be read are refused, and nothing panics.
func TestCheckSegmentsRefuses(t *testing.T) {
	for name, elements := range map[string][]byte{ // order-free: each by itself
		"cut offset": {1, 0, 0x41}, "operands missing": {1, 0, 0x41, 1, 0x6a, 0x0b, 0}, "unknown instruction": {1, 0, 0x10, 0, 0x0b, 0},
		"unknown form": {1, 8, 0}, "no end": {1, 0, 0x41, 1}, "long number": append([]byte{1, 0, 0x41}, bytes.Repeat([]byte{0x80}, 6)...),
		"too many elements": {1, 1, 0, 100}, "other vector instruction": {1, 0, 0xfd, 13, 0x0b, 0},
	} {
		m, err := Parse(segmented(elements, nil))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := m.CheckSegments(); err == nil {
			t.Errorf("%s: not refused", name)
		}
	}
}

// TestCheckSegmentsOfImports: segments of an imported table or memory, and offsets that imported globals give, are
// not known.
func TestCheckSegmentsOfImports(t *testing.T) {
	table := []byte{1, 1, 'm', 1, 't', 1, 0x70, 0, 1}
	global := []byte{1, 1, 'm', 1, 'g', 3, 0x7f, 0}
	for name, data := range map[string][]byte{ // order-free: each by itself
		"table":  file(section(1, 1, 0x60, 0, 0), section(2, table...), section(3, 1, 0), section(9, 1, 0, 0x41, 9, 0x0b, 1, 0), section(10, 1, 2, 0, 0x0b)),
		"global": file(section(1, 1, 0x60, 0, 0), section(2, global...), section(3, 1, 0), section(4, 1, 0x70, 0, 1), section(9, 1, 0, 0x23, 0, 0x0b, 1, 0), section(10, 1, 2, 0, 0x0b)),
	} {
		m, err := Parse(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := m.CheckSegments(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
