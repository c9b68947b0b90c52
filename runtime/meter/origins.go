package meter

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// Origins says where the code of a metered module stood before. Offsets are those of DWARF: they count from the first
// byte of the code section's content.
type Origins struct {
	spans  []span
	before *Origins // of the module without exceptions, from which these are; nil: it had none
}

// span is a stretch of metered code. It ends where the next span begins.
type span struct {
	at     uint32
	from   uint32
	copied bool // byte for byte; else it was added, or replaced, at from
}

// FindOrigins rewrites a module as Rewrite does, and keeps only where its code came from: 12 bytes for each change.
func FindOrigins(wasm []byte) (*Origins, error) {
	o := &Origins{}
	if _, err := rewriteWith(wasm, asEver, o); err != nil {
		return nil, err
	}
	return o, nil
}

// Of returns the origin of an offset in the metered code.
func (o *Origins) Of(offset uint32) uint32 {
	i := sort.Search(len(o.spans), func(i int) bool { return o.spans[i].at > offset }) - 1
	if i < 0 {
		return 0
	}
	s := o.spans[i]
	from := s.from
	if s.copied {
		from += offset - s.at
	}
	if o.before != nil && len(o.before.spans) > 0 {
		return o.before.Of(from)
	}
	return from
}

// first returns the Origins of the first of two rewritings.
func (o *Origins) first() *Origins {
	if o == nil {
		return nil
	}
	o.before = &Origins{}
	return o.before
}

// add notes that the code behind at comes from from. A nil *Origins notes nothing.
func (o *Origins) add(at, from int, copied bool) {
	if o != nil {
		o.spans = append(o.spans, span{uint32(at), uint32(from), copied})
	}
}

// count is how many spans there are.
func (o *Origins) count() int {
	if o == nil {
		return 0
	}
	return len(o.spans)
}

// place moves the spans of a function to where the function's body stands in the section. The function's spans begin
// with span first, and count from its body. from counts from the file, whose section begins at section.
func (o *Origins) place(first, body, section int) {
	if o == nil {
		return
	}
	for i := first; i < len(o.spans); i++ {
		o.spans[i].at += uint32(body)
		o.spans[i].from -= uint32(section)
	}
}

// debugged says whether a module tells from which lines of source its code comes.
func debugged(m *wasmbin.Module) bool {
	return len(m.Custom(".debug_info")) > 0 && len(m.Custom(".debug_line")) > 0
}

// debugSections makes the compiler tell offsets of the metered code in the traces of traps. It writes DWARF of one
// unit with one line, which is all of the code. The guest's own DWARF would name other places; the host looks at it,
// see Origins.
func (w *rewriter) debugSections() {
	const size = 1 << 30 // more than there is
	le := binary.LittleEndian
	abbrev := []byte{
		1, 0x11, 0, // a compile unit without children
		0x11, 0x01, // DW_AT_low_pc: an address
		0x12, 0x06, // DW_AT_high_pc: 4 bytes, from there
		0x10, 0x17, // DW_AT_stmt_list: an offset
		0, 0, 0,
	}
	info := []byte{4, 0, 0, 0, 0, 0, 4, 1} // version 4, offset of abbrev, 4 bytes in an address; the unit
	info = le.AppendUint32(info, 1)        // 0 means that it was removed
	info = le.AppendUint32(info, size)
	info = le.AppendUint32(info, 0)
	header := []byte{
		1, 1, 1, 0xfb, 14, 13, // sizes of instructions, and what special opcodes mean
		0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, // operands of the others
		0,                  // directories
		'w', 0, 0, 0, 0, 0, // one file
	}
	program := []byte{0, 5, 2, 1, 0, 0, 0, 1, 2} // an address, the line, and on
	program = uleb(program, size)
	program = append(program, 0, 1, 1) // the end
	line := le.AppendUint16(nil, 4)
	line = le.AppendUint32(line, uint32(len(header)))
	line = slices.Concat(line, header, program)
	for _, s := range []struct {
		name    string
		content []byte
	}{
		{".debug_abbrev", abbrev},
		{".debug_info", append(le.AppendUint32(nil, uint32(len(info))), info...)},
		{".debug_line", append(le.AppendUint32(nil, uint32(len(line))), line...)},
	} {
		w.emit(wasmbin.SectionCustom, append(str(nil, s.name), s.content...))
	}
}
