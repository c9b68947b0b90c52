package lines

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// crash returns the custom sections of testdata/wasm/crash.wasm.
func crash(t testing.TB) map[string][]byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "..", "testdata", "wasm", "crash.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		t.Fatal(err)
	}
	sections := make(map[string][]byte)
	for _, s := range m.Sections {
		if s.ID == wasmbin.SectionCustom {
			sections[s.Name] = wasm[s.Start:s.End]
		}
	}
	return sections
}

func read(ctx context.Context, sections map[string][]byte) (*Table, error) {
	return Read(ctx, func(name string) []byte { return sections[name] })
}

// TestRead: every offset of the code is in some line, in the order of the source within a function, as what clang
// says of it.
func TestRead(t *testing.T) {
	table, err := read(t.Context(), crash(t))
	if err != nil {
		t.Fatal(err)
	}
	var chains []string
	for offset := range uint32(1000) {
		if at := table.At(offset); at != nil {
			chains = append(chains, fmt.Sprint(at))
		}
	}
	for _, want := range []string{"[crash.c:11:3 crash.c:16:9 crash.c:22:12]", "[crash.c:27:9]", "[crash.c:31:11]", "[crash.c:41:10]"} {
		if !slices.Contains(chains, want) {
			t.Errorf("no code at %s, but %v", want, slices.Compact(chains))
		}
	}
	for _, offset := range []uint32{0, 1, 500, 1 << 31, 1<<32 - 1} { // there is no code
		if at := table.At(offset); at != nil {
			t.Errorf("%d is at %v", offset, at)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	done, cancel := context.WithCancelCause(t.Context())
	cancel(errDone)
	if _, err := read(done, crash(t)); !errors.Is(err, errDone) {
		t.Errorf("when it is no longer wanted: %v", err)
	}
	if _, err := read(t.Context(), nil); err == nil {
		t.Error("no DWARF is no error")
	}
	// One unit that says nothing, and a line program of nothing but rows.
	le := binary.LittleEndian
	unit := func(body ...byte) []byte { return append(le.AppendUint32(nil, uint32(len(body))), body...) }
	abbrev := []byte{1, 0x11, 0, 0x10, 0x17, 0, 0, 0}
	info := unit(4, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0)
	header := []byte{1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 'a', 0, 0, 0, 0, 0}
	program := func(rows int) []byte {
		line := le.AppendUint32([]byte{4, 0}, uint32(len(header)))
		line = append(line, header...)
		line = append(line, 0, 5, 2, 9, 0, 0, 0) // the address
		return unit(append(line, bytes.Repeat([]byte{1}, rows)...)...)
	}
	for _, tt := range []struct {
		name        string
		units, rows int
		want        error
	}{
		{"few", 2, 10, nil},
		{"as many rows as may be", 1, maxRows - 1, nil},
		{"rows", 1, maxRows + 10, ErrTooMuch},
		{"rows in many units", maxUnits, 10, nil}, // of one program
		{"units", maxUnits + 1, 10, ErrTooMuch},
	} {
		_, err := read(t.Context(), map[string][]byte{
			".debug_abbrev": abbrev, ".debug_info": bytes.Repeat(info, tt.units), ".debug_line": program(tt.rows),
		})
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: error is %v", tt.name, err)
		}
	}
}

var errDone = errors.New("done")

func TestPosition(t *testing.T) {
	table := &Table{index: make(map[string]uint32)}
	table.file(strings.Repeat("x", 1000) + "/src/main.rs")
	if name := table.files[0]; len(name) > maxName+len("…") || !strings.HasSuffix(name, "/src/main.rs") {
		t.Errorf("a long name is %q", name)
	}
	for want, p := range map[string]Position{"a.c:3:4": {"a.c", 3, 4}, "a.c:3": {"a.c", 3, 0}, "a.c": {"a.c", 0, 4}} { // order-free
		if p.String() != want {
			t.Errorf("got %s, want %s", p, want)
		}
	}
}

// FuzzRead damages the DWARF of a real module: it is read as far as it goes, or refused.
func FuzzRead(f *testing.F) {
	good := crash(f)
	f.Add(good[".debug_abbrev"], good[".debug_info"], good[".debug_line"], good[".debug_ranges"])
	f.Fuzz(func(t *testing.T, abbrev, info, line, ranges []byte) {
		table, err := read(t.Context(), map[string][]byte{
			".debug_abbrev": abbrev, ".debug_info": info, ".debug_line": line, ".debug_ranges": ranges, ".debug_str": good[".debug_str"],
		})
		if err != nil {
			return
		}
		for offset := range uint32(300) {
			table.At(offset)
		}
	})
}
