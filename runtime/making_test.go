package runtime

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"
)

// TestMakingTakesNoTimeOfTheAttempt: two modules take longer to be initialised than an attempt may take, one because
// it computes, one because it touches a page of a gigabyte. Each is initialised once, and its image is as its
// initialisation left it.
func TestMakingTakesNoTimeOfTheAttempt(t *testing.T) {
	t.Parallel()
	load4, store4 := []byte{0x28, 2, 0}, []byte{0x36, 2, 0}
	count := func(n int) []byte { return append([]byte{0x41}, sleb(n)...) }
	for name, c := range map[string]struct {
		pages, address, rounds int
		timeout                time.Duration
	}{
		"computes":   {pages: 512, address: 16 << 20, rounds: 200_000_000, timeout: 250 * time.Millisecond},
		"a gigabyte": {pages: 1 << 14, address: 512 << 20, rounds: 1, timeout: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, rounds := count(c.address), count(c.rounds)
			spin := slices.Concat([]byte{0x03, 0x40}, address, address, load4, []byte{0x41, 1, 0x6a}, store4,
				address, load4, rounds, []byte{0x49, 0x0d, 0, 0x0b})
			wasm := wasmSpec{
				memory: append([]byte{0}, binary.AppendUvarint(nil, uint64(c.pages))...),
				exports: []wasmExport{
					{name: "_initialize", code: spin},
					run(slices.Concat(address, load4, rounds, []byte{0x47})...), // 0 if it is what it was
				},
			}.build()
			m := load(t, newEngine(t, Config{MemoryBudget: 4 << 30}), wasm)
			for i := range 2 {
				out := m.Run(t.Context(), Attempt{MemoryBytes: int64(c.pages) << 16, RunTimeout: c.timeout}, &fakeHost{})
				if out.Kind != Succeeded || out.Reused != (i == 1) {
					t.Fatalf("attempt %d: %v %s %s, reused %t", i, out.Kind, out.Code, out.Message, out.Reused)
				}
			}
			if s := m.Instances(); s.Made != 1 || s.Image != int64(c.pages)<<16 {
				t.Errorf("instances: %+v", s)
			}
		})
	}
}
