package runtime

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// runaways are the endless parts of testdata/wasm/runaway.wat.
var runaways = []string{"loop", "recursion", "mutual recursion", "indirect recursion", "fill", "copy", "tables", "br_table"}

// TestEveryGuestCanBeEnded: a deadline and a cancel end whatever a guest computes. The benchmark KillLatency says how
// soon.
func TestEveryGuestCanBeEnded(t *testing.T) {
	e := newEngine(t, Config{})
	m := load(t, e, guestFile(t, "runaway"))
	for _, how := range runaways {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			out := m.Run(t.Context(), Attempt{Params: []byte(`"` + how + `"`), RunTimeout: 5 * time.Millisecond}, &fakeHost{})
			if out.Kind != Failed || out.Code != CodeTimeout || out.Fuel <= 0 {
				t.Errorf("at its run timeout: %+v", out)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(5*time.Millisecond, func() { cancel(ErrKilledLease) })
			out = m.Run(ctx, Attempt{Params: []byte(`"` + how + `"`)}, &fakeHost{})
			if out.Kind != Killed || !errors.Is(out.Cause, ErrKilledLease) {
				t.Errorf("killed: %+v", out)
			}
		})
	}
}

// TestOutOfFuel: a limit ends any guest. The error has a code of its own and is final unless on_exhausted says
// otherwise; the fuel used is the limit. One unit less than a run needs is too little, and exactly what it needs is
// enough.
func TestOutOfFuel(t *testing.T) {
	e := newEngine(t, Config{})
	m := load(t, e, guestFile(t, "runaway"))
	for _, how := range runaways {
		for _, limit := range []int64{1, 1000, 3_000_000} {
			out := m.Run(t.Context(), Attempt{Params: []byte(`"` + how + `"`), Fuel: limit}, &fakeHost{})
			if out.Kind != Failed || out.Code != CodeOutOfFuel || out.Class != ClassExhausted || out.Fuel != limit {
				t.Errorf("%s within %d units: %+v", how, limit, out)
			}
		}
	}
	needs := m.Run(t.Context(), Attempt{Params: []byte(`"n"`)}, &fakeHost{}).Fuel
	if needs < 1_000_000 {
		t.Fatalf("a million turns of a loop used %d units", needs)
	}
	if out := m.Run(t.Context(), Attempt{Params: []byte(`"n"`), Fuel: needs}, &fakeHost{}); out.Kind != Succeeded || out.Fuel != needs {
		t.Errorf("with what it needs, %d units: %+v", needs, out)
	}
	out := m.Run(t.Context(), Attempt{Params: []byte(`"n"`), Fuel: needs - 1}, &fakeHost{})
	if out.Code != CodeOutOfFuel || out.Message != fmt.Sprintf("over the limit of %d units of fuel", needs-1) {
		t.Errorf("with one unit less: %+v", out)
	}
}

// TestFuelIsDeterministic: equal attempts use equal fuel, however busy the machine is and however the slices are cut;
// also in Go guests, and after others ran.
func TestFuelIsDeterministic(t *testing.T) {
	fixed := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	e := newEngine(t, Config{Clock: func() time.Time { return fixed }, Rand: zeros{}})
	for _, tt := range []struct{ guest, params string }{
		{"runaway", `"n"`},
		{"echo", `{"a":1}`},
		{"wordcount", `{"text":"` + text(20_000) + `"}`},
	} {
		m := load(t, e, guestFile(t, tt.guest))
		var mu sync.Mutex
		used := map[int64]int{}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 2 {
					out := m.Run(t.Context(), Attempt{Params: []byte(tt.params)}, &fakeHost{})
					if out.Kind != Succeeded {
						t.Errorf("%s: %+v", tt.guest, out)
					}
					mu.Lock()
					used[out.Fuel]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(used) != 1 || used[0] > 0 {
			t.Errorf("%s used, units and how often: %v", tt.guest, used)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func text(n int) string {
	var b []byte
	for i := range n {
		b = append(b, "some words, again and again "[i%28])
	}
	return string(b)
}

// TestSlicesDoNotMove: wherever the host's slices end, the limit ends the guest at the same piece of code.
func TestSlicesDoNotMove(t *testing.T) {
	cfg := Config{}.withDefaults()
	for _, slice := range []int64{1, 7, 1000, 1 << 40} {
		g := newGuest(t.Context(), nil, &cfg, Attempt{RunTimeout: time.Hour}, &fakeHost{})
		g.fuel.start(1000)
		left, spent := int64(0), int64(0)
		var ended any
		func() {
			defer func() { ended = recover() }()
			for range 2000 {
				g.fuel.slice, g.fuel.last = slice, time.Time{}
				if left -= 3; left < 0 {
					left = g.tick(left)
				}
				spent += 3
			}
		}()
		if err, ok := ended.(error); !ok || !errors.Is(err, errOutOfFuel) || spent != 999 {
			t.Errorf("slices of %d: %d units ran, %v", slice, spent, ended)
		}
	}
}

// TestInitialisingHasSlices: a guest that is initialised calls the host as rarely as one in an attempt.
func TestInitialisingHasSlices(t *testing.T) {
	cfg := Config{}.withDefaults()
	g := newGuest(t.Context(), nil, &cfg, Attempt{RunTimeout: time.Hour}, &fakeHost{})
	g.initialise([32]byte{})
	if n := g.tick(-1); n != firstSlice {
		t.Errorf("the first slice has %d units", n)
	}
	trial := newGuest(t.Context(), nil, &cfg, Attempt{RunTimeout: time.Hour}, &fakeHost{})
	trial.fuel.start(1000)
	trial.initialise([32]byte{})
	if n := trial.tick(-1); n != 999 {
		t.Errorf("a trial with a limit of 1,000 units gets %d", n)
	}
}

// TestAdapt: slices grow by steps and shrink at once, within their bounds.
func TestAdapt(t *testing.T) {
	f := gauge{slice: firstSlice}
	for range 20 {
		f.adapt(time.Microsecond)
	}
	if f.slice != mostSlice {
		t.Errorf("cheap code has slices of %d", f.slice)
	}
	f.adapt(sliceTime)
	if f.slice != mostSlice {
		t.Errorf("a slice of the right length became %d", f.slice)
	}
	f.adapt(10 * sliceTime)
	if f.slice != mostSlice/10 {
		t.Errorf("one ten times too long became %d", f.slice)
	}
	f.adapt(time.Hour)
	if f.slice != leastSlice {
		t.Errorf("the least is %d", f.slice)
	}
}

// TestGuestsLetOthersRun: while guests compute on every CPU, other goroutines get their turn and garbage is
// collected. The guests are ended only after this has happened many times; if it did not happen, the test would not
// end.
func TestGuestsLetOthersRun(t *testing.T) {
	e := newEngine(t, Config{})
	m := load(t, e, guestFile(t, "runaway"))
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var begun atomic.Int32
	var wg sync.WaitGroup
	guests := 2 * goruntime.GOMAXPROCS(0)
	for i := range guests {
		wg.Go(func() {
			begun.Add(1)
			out := m.Run(ctx, Attempt{Params: []byte(`"` + runaways[i%len(runaways)] + `"`)}, &fakeHost{})
			if out.Kind != Killed {
				t.Errorf("%s: %+v", runaways[i%len(runaways)], out)
			}
		})
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for turns := 0; turns < 100 || int(begun.Load()) < guests; turns++ {
		<-tick.C
		if turns%10 == 0 {
			goruntime.GC()
		}
	}
	cancel(ErrKilledStop)
	wg.Wait()
}

// BenchmarkKillLatency is the time from a cancel to the return of Run.
func BenchmarkKillLatency(b *testing.B) {
	e := newEngine(b, Config{})
	m := load(b, e, guestFile(b, "runaway"))
	for _, how := range runaways {
		b.Run(how, func(b *testing.B) {
			var all, worst time.Duration
			for range b.N {
				ctx, cancel := context.WithCancelCause(b.Context())
				var at atomic.Int64
				begin := time.Now()
				time.AfterFunc(20*time.Millisecond, func() {
					at.Store(int64(time.Since(begin)))
					cancel(ErrKilledCancel)
				})
				m.Run(ctx, Attempt{Params: []byte(`"` + how + `"`)}, &fakeHost{})
				late := time.Since(begin) - time.Duration(at.Load())
				all, worst = all+late, max(worst, late)
			}
			b.ReportMetric(float64(all.Microseconds())/float64(b.N)/1000, "ms-late")
			b.ReportMetric(float64(worst.Microseconds())/1000, "ms-worst")
		})
	}
}
