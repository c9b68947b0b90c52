package meter

import (
	"math"

	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// sections writes the module. The code comes first: it decides which types are added.
func (l *lowering) sections() error {
	l.findWrapped()
	code := l.section(wasmbin.SectionCode)
	if code != nil {
		if err := l.functions(code); err != nil {
			return err
		}
	}
	content := l.out
	l.out = append(make([]byte, 0, len(l.data)+len(content)), l.data[:8]...)
	globals := false
	for _, s := range l.parsed.Sections {
		if !globals && s.ID != wasmbin.SectionCustom && s.ID != wasmbin.SectionTag && order[s.ID] > order[wasmbin.SectionGlobal] {
			l.newGlobals(nil) // there was no section of them
			globals = true
		}
		r := l.parsed.Read(s)
		switch s.ID {
		case wasmbin.SectionTag:
		case wasmbin.SectionCode:
			l.out = append(l.out, content...)
		case wasmbin.SectionType:
			l.typeSection(r)
		case wasmbin.SectionFunction:
			l.functionSection(r)
		case wasmbin.SectionGlobal:
			l.newGlobals(r)
			globals = true
		case wasmbin.SectionExport:
			l.exportSection(r)
		case wasmbin.SectionStart:
			l.emit(s.ID, uleb(nil, uint64(l.hostCalls(r.U32()))))
		default:
			l.out = append(l.out, l.data[s.Header():s.End]...)
		}
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

func (l *lowering) emit(id byte, content []byte) {
	l.out = append(uleb(append(l.out, id), uint64(len(content))), content...)
}

// findWrapped lists the functions that the host calls and that may throw.
func (l *lowering) findWrapped() {
	add := func(f uint32) {
		if int64(f) < int64(len(l.throws)) && l.throws[f] && l.hostCalls(f) == f {
			l.instead[f] = uint32(len(l.throws) + len(l.wrapped))
			l.wrapped = append(l.wrapped, f)
		}
	}
	for _, e := range l.parsed.Exports {
		if e.Kind == wasmbin.KindFunc {
			add(e.Index)
		}
	}
	if r := l.section(wasmbin.SectionStart); r != nil {
		add(r.U32())
	}
}

// hostCalls is the function that the host calls for f.
func (l *lowering) hostCalls(f uint32) uint32 {
	if w, ok := l.instead[f]; ok {
		return w
	}
	return f
}

func (l *lowering) typeSection(r *wasmbin.Reader) {
	content := uleb(nil, uint64(l.parsed.Types()+len(l.types)))
	for i := range l.parsed.Types() {
		t := l.parsed.Type(i)
		content = append(content, 0x60)
		for _, list := range [][]wasmbin.ValType{t.Params, t.Results} {
			content = append(uleb(content, uint64(len(list))), plainAll(list)...)
		}
	}
	for _, t := range l.types {
		content = append(content, t...)
	}
	l.emit(wasmbin.SectionType, content)
}

func (l *lowering) functionSection(r *wasmbin.Reader) {
	n := r.Count("functions", math.MaxUint32)
	content := append(uleb(nil, uint64(n+len(l.wrapped))), r.Bytes(uint64(r.Left()))...)
	for _, f := range l.wrapped {
		content = uleb(content, uint64(l.parsed.TypeOf(int(f))))
	}
	l.emit(wasmbin.SectionFunction, content)
}

// newGlobals writes the section of globals: the guest's, if it has any, the exception under way, and the slots.
func (l *lowering) newGlobals(r *wasmbin.Reader) {
	n := 0
	var content []byte
	if r != nil {
		n = r.Count("globals", wasmbin.MaxGlobals)
		for range n {
			t := r.ValType()
			content = append(content, byte(plain(t)), r.Byte())
			start := r.Pos
			s := splicer{w: &rewriter{data: l.data, tick: math.MaxUint32}, r: r}
			s.constant()
			if r.Err != nil {
				return
			}
			if t == wasmbin.ExnRef {
				content = append(append(content, nothing(t)...), opEnd) // null: there is no other constant
			} else {
				content = append(content, l.data[start:r.Pos]...)
			}
		}
	}
	content = append(content, byte(wasmbin.I32), 1, opI32Const, 0, opEnd)
	for range l.slots {
		content = append(content, byte(wasmbin.I64), 1, opI64Const, 0, opEnd)
	}
	l.emit(wasmbin.SectionGlobal, append(uleb(nil, uint64(n+1+l.slots)), content...))
}

func (l *lowering) exportSection(r *wasmbin.Reader) {
	n := 0
	var content []byte
	for _, e := range l.parsed.Exports {
		if e.Kind == wasmbin.KindTag {
			continue
		}
		if e.Kind == wasmbin.KindFunc {
			e.Index = l.hostCalls(e.Index)
		}
		n++
		content = uleb(append(str(content, e.Name), byte(e.Kind)), uint64(e.Index))
	}
	l.emit(wasmbin.SectionExport, append(uleb(nil, uint64(n)), content...))
}
