package runtime

import (
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
)

// recursing is a guest that calls itself for ever, and needs what it has on the stack afterwards.
func recursing() []byte {
	return wasmSpec{exports: []wasmExport{
		run(0x20, 0, 0x41, 1, 0x6a, 0x10, 0, 0x20, 0, 0x6a),
	}}.build()
}

// TestStacksAreCharged: a guest whose calls get deep is charged for their stack, and ends when the guests' memory is over.
func TestStacksAreCharged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		budget  int64
		code    string
		message string
	}{
		"enough":  {1 << 30, CodeTrap, "stack overflow"},
		"too few": {16 << 20, CodeOutOfMemory, "does not fit"},
	} {
		e := newEngine(t, Config{MemoryBudget: tt.budget})
		m := load(t, e, recursing())
		for range 2 {
			out := m.Run(t.Context(), Attempt{}, &fakeHost{})
			if out.Code != tt.code || !strings.Contains(out.Message, tt.message) || (tt.code == CodeOutOfMemory) != (out.Class == ClassGuest && out.Retryable) {
				t.Errorf("%s: %+v", name, out)
			}
			if n := usedByGuests(e); n != 0 {
				t.Errorf("%s: %d bytes are still charged", name, n)
			}
		}
	}
}

// TestTablesAreCharged: an instance's tables count towards the guests' memory as long as the instance exists.
func TestTablesAreCharged(t *testing.T) {
	t.Parallel()
	const elements = 1 << 18
	wasm := append([]byte(nil), wasmSpec{exports: []wasmExport{succeed}}.build()...)
	// A table section goes before the memory section (5), which is the first with that ID behind the functions.
	table := append([]byte{4}, str(string(append([]byte{2, 0x70, 0}, append(leb(elements), append([]byte{0x70, 0}, leb(elements)...)...)...)))...)
	at := strings.Index(string(wasm), "\x05\x03\x01\x00\x01")
	wasm = append(wasm[:at:at], append(table, wasm[at:]...)...)
	for budget, code := range map[int64]string{8 << 20: "", 4 << 20: CodeOutOfMemory} {
		e := newEngine(t, Config{MemoryBudget: budget})
		m := load(t, e, wasm)
		out := m.Run(t.Context(), Attempt{MemoryBytes: 1 << 20}, &fakeHost{})
		if out.Code != code {
			t.Errorf("budget of %d: %s %s", budget, out.Code, out.Message)
		}
		if n := e.Stats().Memory; code == "" && n < 2*8*elements {
			t.Errorf("%d bytes are charged for an idle instance with its tables", n)
		}
		if n := usedByGuests(e); n != 0 {
			t.Errorf("%d bytes are still charged", n)
		}
	}
}

// TestResultsAreCharged: the host keeps what a guest writes to its result, so the result counts towards the guests'
// memory as well.
func TestResultsAreCharged(t *testing.T) {
	t.Parallel()
	code := []byte{0x03, 0x40, 0x41, byte(abi.Result), 0x41, 0, 0x41, 0x80, 0x80, 0x04, 0x10, 0, 0x1a} // 64 KiB
	code = append(code, 0x20, 0, 0x41, 1, 0x6a, 0x22, 0, 0x41, 32, 0x48, 0x0d, 0, 0x0b, 0x41, 0)       // 32 times
	wasm := wasmSpec{
		imports: []wasmImport{{module: "taskrt_v1", name: "write", params: "iii", results: "i"}},
		memory:  []byte{0, 2}, exports: []wasmExport{run(code...)},
	}.build()
	for budget, code := range map[int64]string{8 << 20: "", 1 << 20: CodeOutOfMemory} {
		e := newEngine(t, Config{MemoryBudget: budget})
		out := load(t, e, wasm).Run(t.Context(), Attempt{MemoryBytes: 1 << 20}, &fakeHost{})
		if out.Code != code || code == "" && len(out.Result) != 2<<20 {
			t.Errorf("budget of %d: %s %s, %d bytes", budget, out.Code, out.Message, len(out.Result))
		}
		if n := usedByGuests(e); n != 0 {
			t.Errorf("%d bytes are still charged", n)
		}
	}
}
