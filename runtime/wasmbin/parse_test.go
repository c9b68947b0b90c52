package wasmbin

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// file puts sections behind a header; each is an ID and a content.
func file(sections ...[]byte) []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range sections {
		out = append(out, s...)
	}
	return out
}

func section(id byte, content ...byte) []byte {
	out := binary.AppendUvarint([]byte{id}, uint64(len(content)))
	return append(out, content...)
}

func leb(n uint64) []byte { return binary.AppendUvarint(nil, n) }

func guest(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "wasm", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestParseEcho(t *testing.T) {
	m, err := Parse(guest(t, "echo"))
	if err != nil {
		t.Fatal(err)
	}
	var imports []string
	for _, i := range m.Imports {
		imports = append(imports, i.Module+"."+i.Name+" "+i.Kind.String()+" "+i.Type.String())
	}
	want := []string{
		"taskrt_v1.len function (i32) -> (i32)",
		"taskrt_v1.read function (i32 i32 i32 i32) -> (i32)",
		"taskrt_v1.write function (i32 i32 i32) -> (i32)",
	}
	if !slices.Equal(imports, want) {
		t.Errorf("imports are %q", imports)
	}
	run, ok := m.Export("taskrt_run")
	if !ok || run.Kind != KindFunc || run.Type.String() != "(i32) -> (i32)" {
		t.Errorf("taskrt_run is %+v", run)
	}
	if len(m.Memories) != 1 || m.Memories[0] != (Memory{Min: 2}) {
		t.Errorf("memories are %+v", m.Memories)
	}
	if m.Functions() != 1 || m.HasStart || len(m.Tables) != 0 {
		t.Errorf("%d functions, start %t, %d tables", m.Functions(), m.HasStart, len(m.Tables))
	}
	if c := m.Custom("taskrt.manifest"); len(c) != 1 || !bytes.Contains(c[0], []byte(`"echo"`)) {
		t.Errorf("manifest sections are %q", c)
	}
}

func TestParseRefuses(t *testing.T) {
	oneType := section(1, 1, 0x60, 0, 0)
	for _, tt := range []struct {
		name   string
		data   []byte
		reason Reason
		where  string
	}{
		{"empty", nil, NotWasm, ""},
		{"text", []byte("#!/bin/sh\n"), NotWasm, ""},
		{"one byte of magic", []byte("\x00"), Truncated, ""},
		{"magic alone", []byte("\x00asm"), Truncated, ""},
		{"half a version", []byte("\x00asm\x01\x00"), Truncated, ""},
		{"version 2", []byte("\x00asm\x02\x00\x00\x00"), NotWasm, ""},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), Component, ""},
		{"section without size", file([]byte{1}), Truncated, "type section"},
		{"section longer than the file", file([]byte{1, 5, 0}), Truncated, "type section"},
		{"unknown section", file(section(14)), Malformed, ""},
		{"sections out of order", file(section(3, 0), section(1, 0)), Malformed, "type section"},
		{"section twice", file(section(1, 0), section(1, 0)), Malformed, "type section"},
		{"memory behind tags is fine, before table not", file(section(5, 0), section(4, 0)), Malformed, "table section"},
		{"bytes behind the last type", file(section(1, 0, 7)), Malformed, "type section"},
		{"type of unknown form", file(section(1, 1, 0x5f, 0)), Malformed, "type section"},
		{"number of 6 bytes", file(section(1, 0x80, 0x80, 0x80, 0x80, 0x80, 0)), Malformed, "type section"},
		{"number over 32 bits", file(section(1, 0xff, 0xff, 0xff, 0xff, 0x1f)), Malformed, "type section"},
		{"more elements than bytes", file(section(1, 100, 0x60)), Malformed, "type section"},
		{"import with unknown kind", file(oneType, section(2, 1, 0, 0, 9)), Malformed, "import section"},
		{"import of unknown type", file(oneType, section(2, 1, 0, 0, 0, 1)), Malformed, "import section"},
		{"import whose name is not UTF-8", file(oneType, section(2, 1, 1, 0xff, 0, 0, 0)), Malformed, "import section"},
		{"function of unknown type", file(oneType, section(3, 1, 1)), Malformed, "function section"},
		{"export of unknown function", file(section(7, 1, 1, 'f', 0, 0)), Malformed, "export section"},
		{"export of unknown kind", file(section(7, 1, 1, 'f', 7, 0)), Malformed, "export section"},
		{"custom section with a long name", file(section(0, 50, 'x')), Malformed, "custom section"},
		{"too many types", file(section(1, leb(MaxTypes+1)...)), TooMany, "type section"},
		{"too many imports", file(section(2, leb(MaxImports+1)...)), TooMany, "import section"},
		{"too many functions", file(section(3, leb(MaxFunctions+1)...)), TooMany, "function section"},
		{"too many globals", file(section(6, leb(MaxGlobals+1)...)), TooMany, "global section"},
		{"too many exports", file(section(7, leb(MaxExports+1)...)), TooMany, "export section"},
		{"too many data segments", file(section(11, leb(MaxData+1)...)), TooMany, "data section"},
		{"data count too high", file(section(12, leb(MaxData+1)...)), TooMany, "data count section"},
		{"too many element segments", file(section(9, leb(MaxElements+1)...)), TooMany, "element section"},
		{"a table too big", file(section(4, append([]byte{1, 0x70, 0}, leb(MaxTableElements+1)...)...)), TooMany, "table section"},
		{"a function too big", file(section(10, append([]byte{1}, leb(MaxFunctionBytes+1)...)...)), TooMany, "code of function 0"},
		{
			"too many locals", file(section(10, append(append([]byte{1, 5, 1}, leb(MaxLocals+1)...), 0x7f)...)),
			TooMany, "code of function 0",
		},
		{"too many sections", file(bytes.Repeat(section(0, 0), MaxSections+1)), TooMany, "custom section"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.data)
			var bad *Error
			if !errors.As(err, &bad) {
				t.Fatalf("error is %v", err)
			}
			if bad.Reason != tt.reason || (tt.where != "" && bad.Where != tt.where) {
				t.Errorf("got %s in %q: %v, want %s in %q", bad.Reason, bad.Where, err, tt.reason, tt.where)
			}
			if bad.Reason == TooMany && bad.Limit == 0 {
				t.Error("no limit is named")
			}
		})
	}
}

// TestParseTruncated: every beginning of a real module is refused as truncated, unless it ends exactly between two
// sections.
func TestParseTruncated(t *testing.T) {
	data := guest(t, "conformance-wat")
	whole, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	between := map[int]bool{8: true}
	for _, s := range whole.Sections {
		between[s.End] = true
	}
	for n := range len(data) {
		_, err := Parse(data[:n])
		var bad *Error
		switch {
		case n == 0:
		case between[n]:
			if errors.As(err, &bad) && bad.Reason != Malformed {
				t.Errorf("%d bytes: %v", n, err)
			}
		case !errors.As(err, &bad) || bad.Reason != Truncated:
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestAppendCustom(t *testing.T) {
	content := strings.Repeat("m", 300) // its size takes two bytes
	wasm := AppendCustom(guest(t, "no-export"), "taskrt.other", []byte(content))
	m, err := Parse(wasm)
	if err != nil {
		t.Fatal(err)
	}
	if c := m.Custom("taskrt.other"); len(c) != 1 || string(c[0]) != content {
		t.Errorf("got %q", c)
	}
	if c := m.Custom("taskrt.nothing"); c != nil {
		t.Errorf("got %q", c)
	}
}

func TestBoundTables(t *testing.T) {
	// Three tables: without maximum, with a modest one, with a huge one; sections before and behind.
	tables := []byte{3, 0x70, 0, 5, 0x70, 1, 5, 9, 0x70, 1, 5, 0xff, 0xff, 0xff, 0xff, 0x0f}
	data := file(section(1, 0), section(4, tables...), section(5, 1, 0, 1), section(0, 1, 'x', 1, 2, 3))
	m, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	bounded, err := Parse(m.BoundTables())
	if err != nil {
		t.Fatal(err)
	}
	want := []Table{{5, MaxTableElements, true}, {5, 9, true}, {5, MaxTableElements, true}}
	if !slices.Equal(bounded.Tables, want) {
		t.Errorf("tables are %+v", bounded.Tables)
	}
	if len(bounded.Memories) != 1 || !bytes.Equal(bounded.Custom("x")[0], []byte{1, 2, 3}) || len(bounded.Sections) != 4 {
		t.Error("other sections changed")
	}
	if again := bounded.BoundTables(); &again[0] != &bounded.data[0] {
		t.Error("bounded tables are copied")
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"echo", "trap", "misuse", "conformance-wat", "wait", "bad-abi"} {
		f.Add(guest(f, name))
	}
	f.Add([]byte("\x00asm\x0d\x00\x01\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		var bad *Error
		if err != nil {
			if !errors.As(err, &bad) || bad.Offset < 0 || bad.Offset > len(data) {
				t.Fatalf("%v", err)
			}
			return
		}
		if err := m.CheckSegments(); err != nil && !errors.As(err, &bad) {
			t.Fatalf("%v", err)
		}
		bounded, err := Parse(m.BoundTables())
		if err != nil {
			t.Fatalf("with bounded tables: %v", err)
		}
		for _, table := range bounded.Tables {
			if !table.HasMax || table.Max > MaxTableElements {
				t.Fatalf("table %+v", table)
			}
		}
		if c, err := Parse(AppendCustom(data, "n", data)); err == nil && len(c.Custom("n")) == 0 {
			t.Fatal("a custom section was lost")
		}
	})
}
