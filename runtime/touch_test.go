package runtime

import (
	goruntime "runtime"
	"testing"
	"time"

	"github.com/taskrt/taskrt/runtime/memory"
)

// touching is a guest that computes for a while, so that its slices get long, and then touches 64 MiB.
func touching(rounds int) []byte {
	code := append([]byte{0x03, 0x40, 0x20, 0, 0x41, 1, 0x6a, 0x22, 0, 0x41}, sleb(rounds)...)
	code = append(code, 0x48, 0x0d, 0, 0x0b, 0x41, 0, 0x21, 0)                   // until param 0 is rounds; 0 again
	code = append(code, 0x03, 0x40, 0x20, 0, 0x41, 1, 0x3a, 0, 0, 0x20, 0, 0x41) // a byte of each page
	code = append(code, sleb(4096)...)
	code = append(code, 0x6a, 0x22, 0, 0x41)
	code = append(code, sleb(64<<20)...)
	code = append(code, 0x49, 0x0d, 0, 0x0b, 0x41, 0)
	return wasmSpec{memory: []byte{0, 0x80, 0x08}, exports: []wasmExport{run(code...)}}.build() // 1,024 pages
}

// TestMemoryIsTouchedForGuests: once a guest computes for more than a first slice, the host touches its memory until
// little is left. The slices differ then, and the fuel does not.
func TestMemoryIsTouchedForGuests(t *testing.T) {
	t.Parallel()
	e := newEngine(t, Config{})
	m := load(t, e, touching(30_000_000))
	var fuel int64
	for i := range 2 {
		out := m.Run(t.Context(), Attempt{}, &fakeHost{})
		if out.Kind != Succeeded {
			t.Fatalf("%+v", out)
		}
		if i > 0 && out.Fuel != fuel {
			t.Errorf("used %d units, then %d", fuel, out.Fuel)
		}
		fuel = out.Fuel
		if mem := m.pool.idle[0].mem; mem.Untouched() || mem.Touched() == 0 {
			t.Errorf("attempt %d: %d bytes were touched", i, mem.Touched())
		}
	}
	small := load(t, e, wasmSpec{exports: []wasmExport{run(0x41, 0)}}.build())
	if out := small.Run(t.Context(), Attempt{}, &fakeHost{}); out.Kind != Succeeded || small.pool.idle[0].mem.Touched() != 0 {
		t.Errorf("a small memory: %+v", out)
	}
}

// TestSlicesAreShortWhileMemoryIsUntouched looks at the slices that the guest is given.
func TestSlicesAreShortWhileMemoryIsUntouched(t *testing.T) {
	t.Parallel()
	g := newGuest(t.Context(), &Module{}, &Config{Clock: time.Now}, Attempt{}.withDefaults(), &fakeHost{})
	defer g.cancel(nil)
	defer g.timers.stop()
	const size = 8 << 20
	mem, err := memory.New(t.Context(), memory.NewBudget(size, func() {}), memory.Config{Initial: size, Limit: size, Reserve: size})
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Free()
	mem.Reallocate(size)
	g.follow(mem)
	g.fuel.start(0)
	const pieces, touchEvery = (size - 4<<20) / (64 << 10), 16 // package memory says so
	for i := range 1 + pieces + (pieces-1)*touchEvery {
		if n := g.tick(-1); n > touchSlice && i < pieces*touchEvery {
			t.Fatalf("tick %d gives %d units", i, n)
		}
	}
	if n := g.tick(-1); n < firstSlice || mem.Untouched() {
		t.Errorf("at the end %d units, %d bytes touched", n, mem.Touched())
	}
}

// BenchmarkFirstTouch has the garbage collector work beside a guest that touches 64 MiB after it has computed for
// long, and measures how long it took to stop the world.
func BenchmarkFirstTouch(b *testing.B) {
	e := newEngine(b, Config{})
	m := load(b, e, touching(30_000_000))
	worst, took := time.Duration(0), time.Duration(0)
	for b.Loop() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			begun := time.Now()
			if out := m.Run(b.Context(), Attempt{}, &fakeHost{}); out.Kind != Succeeded {
				b.Errorf("%+v", out)
			}
			took += time.Since(begun)
		}()
		for running := true; running; {
			var stats goruntime.MemStats
			begun := time.Now()
			goruntime.ReadMemStats(&stats) // stops the world
			worst = max(worst, time.Since(begun))
			select {
			case <-done:
				running = false
			case <-time.After(100 * time.Microsecond):
			}
		}
	}
	b.ReportMetric(float64(worst.Microseconds())/1e3, "worst-stop-ms")
	b.ReportMetric(float64(took.Microseconds())/1e3/float64(b.N), "attempt-ms")
}
