package runtime

import (
	"encoding/binary"

	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// wasmSpec describes a small module for tests; a spec of zero fields makes the smallest module that is accepted.
type wasmSpec struct {
	imports  []wasmImport
	memory   []byte // limits; nil: one page
	noMemory bool
	memName  string // of the export; "" is "memory"
	exports  []wasmExport
	manifest string // custom section
}

type wasmImport struct {
	module, name    string
	params, results string // i and I
	kind            byte   // other than a function: a memory
}

// wasmExport is a function of the module. Its code has the function's params as locals.
type wasmExport struct {
	name            string
	params, results string
	code            []byte // without the final end
}

// run is taskrt_run with the given code.
func run(code ...byte) wasmExport { return wasmExport{"taskrt_run", "i", "i", code} }

// succeed is taskrt_run that returns 0.
var succeed = run(0x41, 0)

func (s wasmSpec) build() []byte {
	var types, imports, funcs, exports, code [][]byte
	typ := func(params, results string) []byte {
		t := append([]byte{0x60}, str(letters(params))...)
		types = append(types, append(t, str(letters(results))...))
		return leb(len(types) - 1)
	}
	nfuncs := 0
	for _, i := range s.imports {
		entry := append(str(i.module), str(i.name)...)
		if i.kind != 0 {
			imports = append(imports, append(entry, i.kind, 0, 1))
			continue
		}
		imports = append(imports, append(append(entry, 0), typ(i.params, i.results)...))
		nfuncs++
	}
	for _, e := range s.exports {
		funcs = append(funcs, typ(e.params, e.results))
		exports = append(exports, append(append(str(e.name), 0), leb(nfuncs)...))
		body := append([]byte{0}, e.code...)
		code = append(code, str(string(append(body, 0x0b))))
		nfuncs++
	}
	var memories [][]byte
	if !s.noMemory {
		limits := s.memory
		if limits == nil {
			limits = []byte{0, 1}
		}
		name := s.memName
		if name == "" {
			name = "memory"
		}
		memories = [][]byte{limits}
		exports = append(exports, append(str(name), 2, 0))
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	for id, entries := range sections(types, imports, funcs, memories, exports, code) {
		if len(entries) == 0 {
			continue
		}
		body := leb(len(entries))
		for _, e := range entries {
			body = append(body, e...)
		}
		out = append(append(append(out, id), leb(len(body))...), body...)
	}
	if s.manifest != "" {
		out = wasmbin.AppendCustom(out, "taskrt.manifest", []byte(s.manifest))
	}
	return out
}

// sections yields the sections with their IDs, in order.
func sections(types, imports, funcs, memories, exports, code [][]byte) func(func(byte, [][]byte) bool) {
	return func(yield func(byte, [][]byte) bool) {
		for _, s := range []struct {
			id      byte
			entries [][]byte
		}{{1, types}, {2, imports}, {3, funcs}, {5, memories}, {7, exports}, {10, code}} {
			if !yield(s.id, s.entries) {
				return
			}
		}
	}
}

func leb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func str(s string) []byte { return append(leb(len(s)), s...) }

func letters(s string) string {
	b := make([]byte, len(s))
	for i := range s {
		b[i] = 0x7f
		if s[i] == 'I' {
			b[i] = 0x7e
		}
	}
	return string(b)
}
