// Package lines finds the source lines of code of a wasm module, by the DWARF that the module carries. The DWARF is
// text of a stranger: nobody relies on it being true, reading it is bounded in time and memory, and reading never panics.
package lines

import (
	"context"
	"debug/dwarf"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
)

// These bound one table; real programs need a fifth of it. A table takes 16 bytes a row and 24 bytes an inlined call.
const (
	maxRows    = 1_000_000
	maxInlined = 250_000
	maxUnits   = 20_000
	maxEntries = 4_000_000
	maxFiles   = 500_000 // names, over all units
	maxName    = 160     // bytes of a file's name that are told; of a longer name, its end is told
)

// ErrTooMuch is the error for a module whose DWARF is over the bounds.
var ErrTooMuch = errors.New("lines: too much DWARF")

// Position is a place in a source file.
type Position struct {
	File         string
	Line, Column int // 0: unknown
}

func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Table holds the source lines of a module. Many goroutines may read it.
type Table struct {
	files   []string
	index   map[string]uint32 // of files, while it is made
	rows    []row             // by address
	inlined []inlined         // the innermost first
}

// row says where the code from one address up to the next row comes from.
type row struct {
	address uint32
	file    uint32
	line    uint32
	column  uint16
	end     bool // nothing is known from here on
}

// inlined is a call that the compiler replaced by the code of the called function.
type inlined struct {
	low, high  uint32
	file, line uint32
	column     uint32
	depth      int32
}

// Read makes the table of a module. section returns the content of a custom section, or nil if the module has none of
// this name. Read ends with ctx.
func Read(ctx context.Context, section func(name string) []byte) (t *Table, err error) {
	defer func() {
		// The decoder sees bytes of strangers.
		if p := recover(); p != nil {
			t, err = nil, fmt.Errorf("lines: the decoder panicked: %v", p)
		}
	}()
	d, err := dwarf.New(section(".debug_abbrev"), nil, nil, section(".debug_info"), section(".debug_line"), nil, section(".debug_ranges"), section(".debug_str"))
	if err != nil {
		return nil, fmt.Errorf("lines: %w", err)
	}
	for _, name := range []string{".debug_addr", ".debug_line_str", ".debug_str_offsets", ".debug_rnglists"} {
		if content := section(name); content != nil {
			if err := d.AddSection(name, content); err != nil {
				return nil, fmt.Errorf("lines: %w", err)
			}
		}
	}
	t = &Table{index: make(map[string]uint32)}
	r := reader{Table: t, ctx: ctx, data: d, seen: make(map[int64]bool)}
	if err := r.read(); err != nil {
		return nil, err
	}
	t.index = nil
	// The end of a sequence goes before a row that begins at the same address.
	sort.SliceStable(t.rows, func(i, k int) bool {
		a, b := &t.rows[i], &t.rows[k]
		return a.address < b.address || a.address == b.address && a.end && !b.end
	})
	slices.SortStableFunc(t.inlined, func(a, b inlined) int { return int(b.depth - a.depth) })
	return t, nil
}

// At returns where the code at an offset comes from. The offset counts from the content of the code section. The
// innermost position comes first, then the calls that were replaced by their code. nil: nothing is known.
func (t *Table) At(offset uint32) []Position {
	i := sort.Search(len(t.rows), func(i int) bool { return t.rows[i].address > offset }) - 1
	if i < 0 || t.rows[i].end {
		return nil
	}
	r := t.rows[i]
	found := []Position{{t.files[r.file], int(r.line), int(r.column)}}
	for _, c := range t.inlined {
		if c.low <= offset && offset < c.high {
			found = append(found, Position{t.files[c.file], int(c.line), int(c.column)})
		}
	}
	return found
}

func (t *Table) file(name string) uint32 {
	if len(name) > maxName {
		name = "…" + strings.ToValidUTF8(name[len(name)-maxName:], "")
	}
	i, ok := t.index[name]
	if !ok {
		i = uint32(len(t.files))
		t.files = append(t.files, name)
		t.index[name] = i
	}
	return i
}

// reader fills a table.
type reader struct {
	*Table

	ctx   context.Context
	data  *dwarf.Data
	seen  map[int64]bool // line programs, by their places
	named int            // files, over all units
	units int
	spans int // ranges of inlined calls, those of removed code too
}

// read walks all entries. A file number of an inlined call belongs to the unit in which the call stands.
func (r *reader) read() error {
	entries := r.data.Reader()
	var files []*dwarf.LineFile
	depth := int32(0)
	for n := 0; ; n++ {
		if n%1024 == 0 && r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		e, _ := entries.Next()
		switch {
		case e == nil: // the end, or an error: what was read before is as good as it was
			return nil
		case n > maxEntries:
			return ErrTooMuch
		}
		switch e.Tag {
		case 0:
			depth--
			continue
		case dwarf.TagCompileUnit:
			depth = 0
			var err error
			if files, err = r.unit(e); err != nil {
				return err
			}
		case dwarf.TagInlinedSubroutine:
			if err := r.inline(e, files, depth); err != nil {
				return err
			}
		}
		if e.Children {
			depth++
		}
	}
}

// unit reads a unit's lines and returns its files.
func (r *reader) unit(e *dwarf.Entry) ([]*dwarf.LineFile, error) {
	if r.units++; r.units > maxUnits {
		return nil, ErrTooMuch
	}
	lines, _ := r.data.LineReader(e)
	if lines == nil { // a unit without lines, or with damaged ones
		return nil, nil
	}
	if r.named += len(lines.Files()); r.named > maxFiles {
		return nil, ErrTooMuch
	}
	if at, ok := e.Val(dwarf.AttrStmtList).(int64); ok {
		if r.seen[at] {
			return lines.Files(), nil
		}
		r.seen[at] = true
	}
	return lines.Files(), r.sequences(lines)
}

// sequences reads a line program: stretches of code, each with an end. It leaves out stretches that the linker has removed.
func (r *reader) sequences(lines *dwarf.LineReader) error {
	var le dwarf.LineEntry
	begun, removed := false, false
	for n := 0; ; n++ {
		if n%1024 == 0 && r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		if err := lines.Next(&le); err != nil {
			if !errors.Is(err, io.EOF) && begun && len(r.rows) > 0 { // a stretch without end
				r.rows[len(r.rows)-1].end = true
			}
			return nil
		}
		if !begun {
			removed = gone(le.Address)
		}
		if len(r.rows) == maxRows || n > maxRows {
			return ErrTooMuch
		}
		if !removed {
			to := row{address: uint32(le.Address), line: uint32(max(0, le.Line)), column: uint16(min(max(0, le.Column), 1<<16-1)), end: le.EndSequence}
			if le.File != nil {
				to.file = r.file(le.File.Name)
			} else {
				to.file = r.file("?")
			}
			r.rows = append(r.rows, to)
		}
		begun = !le.EndSequence
	}
}

// gone says whether an address belongs to code that the linker has removed: it is 0, or one of the last two.
func gone(address uint64) bool { return address == 0 || address >= 1<<32-2 }

func (r *reader) inline(e *dwarf.Entry, files []*dwarf.LineFile, depth int32) error {
	ranges, _ := r.data.Ranges(e) // none, if they are damaged: others may be right
	c := inlined{depth: depth, file: r.file("?")}
	number := func(a dwarf.Attr) int64 { n, _ := e.Val(a).(int64); return max(0, min(n, 1<<31)) }
	if i := number(dwarf.AttrCallFile); i < int64(len(files)) && files[i] != nil {
		c.file = r.file(files[i].Name)
	}
	c.line, c.column = uint32(number(dwarf.AttrCallLine)), uint32(number(dwarf.AttrCallColumn))
	if r.spans += len(ranges); r.spans > maxInlined {
		return ErrTooMuch
	}
	for _, pcs := range ranges {
		if gone(pcs[0]) || pcs[1] > 1<<32-1 || pcs[0] >= pcs[1] {
			continue
		}
		c.low, c.high = uint32(pcs[0]), uint32(pcs[1])
		r.inlined = append(r.inlined, c)
	}
	return nil
}
