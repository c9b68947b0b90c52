package meter

import (
	"math"
	"strings"

	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// order is the order of the sections that are made or extended. Data count and tag do not stand where their IDs would
// put them. Custom sections stay where they are.
var order = [...]int{
	wasmbin.SectionType: 1, wasmbin.SectionImport: 2, wasmbin.SectionFunction: 3, wasmbin.SectionTable: 4,
	wasmbin.SectionMemory: 5, wasmbin.SectionGlobal: 6, wasmbin.SectionExport: 7, wasmbin.SectionStart: 8,
	wasmbin.SectionElement: 9, wasmbin.SectionDataCount: 10, wasmbin.SectionCode: 11, wasmbin.SectionData: 12,
}

// extended are the sections that every metered module has.
var extended = [...]byte{wasmbin.SectionType, wasmbin.SectionImport, wasmbin.SectionGlobal, wasmbin.SectionExport}

// sections writes the module.
func (w *rewriter) sections() error {
	w.out = make([]byte, 0, len(w.data)+len(w.data)/4+256)
	w.out = append(w.out, w.data[:8]...)
	missing := extended[:]
	for _, s := range w.parsed.Sections {
		if s.ID != wasmbin.SectionCustom {
			for len(missing) > 0 && order[missing[0]] <= order[s.ID] {
				if missing[0] != s.ID {
					if err := w.section(wasmbin.Section{ID: missing[0]}, nil); err != nil {
						return err
					}
				}
				missing = missing[1:]
			}
		}
		if err := w.section(s, w.parsed.Read(s)); err != nil {
			return err
		}
	}
	for _, id := range missing {
		if err := w.section(wasmbin.Section{ID: id}, nil); err != nil {
			return err
		}
	}
	return nil
}

// section writes one section; r is nil if the guest had none.
func (w *rewriter) section(s wasmbin.Section, r *wasmbin.Reader) error {
	switch s.ID {
	case wasmbin.SectionCustom:
		w.custom(s, r)
		return nil
	case wasmbin.SectionType:
		return w.extend(s.ID, r, w.newTypes())
	case wasmbin.SectionImport:
		tick := str(str(nil, Import), Tick)
		return w.extend(s.ID, r, [][]byte{uleb(append(tick, byte(wasmbin.KindFunc)), uint64(w.tickType))})
	case wasmbin.SectionFunction:
		var added [][]byte
		if w.helped {
			t := uleb(nil, uint64(w.helpType))
			added = [][]byte{helperFill: t, helperCopy: t}
		}
		return w.extend(s.ID, r, added)
	case wasmbin.SectionGlobal:
		return w.spliced(s.ID, r, (*splicer).globals)
	case wasmbin.SectionExport:
		return w.spliced(s.ID, r, (*splicer).exports)
	case wasmbin.SectionStart:
		return w.spliced(s.ID, r, func(s *splicer) { s.function() })
	case wasmbin.SectionElement:
		return w.spliced(s.ID, r, (*splicer).elements)
	case wasmbin.SectionData:
		return w.spliced(s.ID, r, (*splicer).data)
	case wasmbin.SectionCode:
		return w.functions(r)
	}
	w.emit(s.ID, w.data[s.Start:s.End])
	return nil
}

// emit writes a section.
func (w *rewriter) emit(id byte, content []byte) {
	w.out = append(w.out, id)
	w.out = uleb(w.out, uint64(len(content)))
	w.out = append(w.out, content...)
}

// extend writes a section that is a vector, with entries added at its end.
func (w *rewriter) extend(id byte, r *wasmbin.Reader, added [][]byte) error {
	var n int
	var rest []byte
	if r != nil {
		n = r.Count("entries", math.MaxUint32)
		rest = r.Bytes(uint64(r.Left()))
		if r.Err != nil {
			return r.Err
		}
	}
	content := uleb(nil, uint64(n+len(added)))
	content = append(content, rest...)
	for _, a := range added {
		content = append(content, a...)
	}
	w.emit(id, content)
	return nil
}

// newTypes returns the signatures of the added functions, except those that the guest has already.
func (w *rewriter) newTypes() (added [][]byte) {
	const i32, i64 = byte(wasmbin.I32), byte(wasmbin.I64)
	if int(w.tickType) >= w.parsed.Types() {
		added = append(added, []byte{0x60, 1, i64, 1, i64})
	}
	if w.helped && int(w.helpType) >= w.parsed.Types() {
		added = append(added, []byte{0x60, 3, i32, i32, i32, 0})
	}
	return added
}

// spliced writes a section whose content is copied, except for what f replaces or adds.
func (w *rewriter) spliced(id byte, r *wasmbin.Reader, f func(*splicer)) error {
	s := &splicer{w: w, r: r}
	if r == nil { // none: as if it had been there, and empty
		s.none = true
	} else {
		s.copied = r.Pos
	}
	f(s)
	if r != nil {
		if r.Err == nil && r.Left() != 0 {
			r.Fail(wasmbin.Malformed, "%d bytes too many at its end", r.Left())
		}
		if r.Err != nil {
			return r.Err
		}
	}
	w.emit(id, s.out)
	return nil
}

// keep says whether a custom section stays. Other custom sections may hold offsets of code or indexes of functions:
// DWARF, source maps, relocations, branch hints.
func keep(name string) bool {
	return name == "producers" || name == "target_features" || strings.HasPrefix(name, "taskrt.")
}

func (w *rewriter) custom(s wasmbin.Section, r *wasmbin.Reader) {
	content := w.data[s.Start:s.End]
	switch {
	case s.Name == "name":
		content = w.names(r)
	case !keep(s.Name):
		return
	}
	w.emit(wasmbin.SectionCustom, append(str(nil, s.Name), content...))
}

func str(b []byte, s string) []byte { return append(uleb(b, uint64(len(s))), s...) }
