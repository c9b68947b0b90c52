package runtime

import (
	"testing"
	"time"
)

// TestMakingTakesNoTimeOfTheAttempt: what initialises a module for longer than an attempt may take is made once, and its image, a
// gigabyte of which one page was touched, is as it left it.
func TestMakingTakesNoTimeOfTheAttempt(t *testing.T) {
	t.Parallel()
	address := []byte{0x41, 0x80, 0x80, 0x80, 0x80, 0x02} // i32.const 512 Mi
	rounds := []byte{0x41, 0x80, 0x84, 0xaf, 0xdf, 0x00}  // i32.const 200,000,000
	code := func(parts ...[]byte) (all []byte) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	load := []byte{0x28, 2, 0}
	spin := code([]byte{0x03, 0x40}, address, address, load, []byte{0x41, 1, 0x6a, 0x36, 2, 0},
		address, load, rounds, []byte{0x49, 0x0d, 0, 0x0b})
	wasm := wasmSpec{
		memory: []byte{0, 0x80, 0x80, 0x01}, // 1 GiB
		exports: []wasmExport{
			{name: "_initialize", code: spin},
			run(code(address, load, rounds, []byte{0x47})...), // 0 if it is what it was
		},
	}.build()
	e := newEngine(t, Config{MemoryBudget: 4 << 30})
	m, err := e.Load(t.Context(), Digest(wasm), wasm)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		out := m.Run(t.Context(), Attempt{MemoryBytes: 1 << 30, RunTimeout: 200 * time.Millisecond}, &fakeHost{})
		if out.Kind != Succeeded || out.Reused != (i == 1) {
			t.Fatalf("attempt %d: %v %s %s, reused %t", i, out.Kind, out.Code, out.Message, out.Reused)
		}
	}
	if s := m.Instances(); s.Made != 1 || s.Image != 1<<30 {
		t.Errorf("instances: %+v", s)
	}
}
