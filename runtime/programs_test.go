package runtime

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPrograms: programs that were not written for taskrt run as they are (SPEC B5), on inputs for which a native
// build gave the output (testdata/wasm/programs/README.md).
func TestPrograms(t *testing.T) {
	dir := filepath.Join("..", "testdata", "wasm", "programs")
	file := func(path string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	e := newEngine(t, Config{})
	for _, tt := range []struct {
		name, input, output string
		wrong               string // input that it must refuse, with exit code 1
		says                []string
		steady              bool // uses the same fuel in every attempt
	}{
		{"lua", "lua/input.lua", "lua/output.txt", "print(1)\nerror('no ' .. 'luck')", []string{"exit code 1: lua: stdin:2: no luck", "stack traceback"}, false}, // its hashes' seed has the clock in it
		{"sqlite", "sqlite/input.sql", "sqlite/output.txt", "select 1;\nselect * from nowhere;", []string{"exit code 1: ", "no such table: nowhere"}, true},
		{"cmark", "cmark/input.txt", "cmark/output.html", "", nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wasm := file(tt.name + ".wasm")
			if len(wasm) < 100_000 {
				t.Errorf("only %d bytes", len(wasm))
			}
			if _, err := e.Inspect(t.Context(), wasm, nil, tt.name); err != nil {
				t.Fatal(err)
			}
			m := load(t, e, wasm)
			defer e.Drop(m.Digest())
			var fuel int64
			for range 3 {
				out := m.Run(t.Context(), Attempt{Params: file(tt.input)}, &fakeHost{})
				if out.Kind != Succeeded || !bytes.Equal(out.Result, file(tt.output)) {
					t.Fatalf("got %+v\nresult %s", out, out.Result)
				}
				if tt.steady && fuel != 0 && out.Fuel != fuel {
					t.Errorf("used %d units of fuel, %d before", out.Fuel, fuel)
				}
				fuel = out.Fuel
			}
			if tt.wrong == "" {
				return
			}
			out := m.Run(t.Context(), Attempt{Params: []byte(tt.wrong)}, &fakeHost{})
			if out.Kind != Failed || out.Code != CodeHandlerError || out.Retryable {
				t.Errorf("got %+v", out)
			}
			for _, says := range tt.says {
				if !strings.Contains(out.Message, says) {
					t.Errorf("the message is %q, without %q", out.Message, says)
				}
			}
		})
	}
}
