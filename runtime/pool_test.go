package runtime

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/runtime/memory"
)

// usedByGuests is what guests have of the budget once nothing is kept for later.
func usedByGuests(e *Engine) int64 {
	e.shelf.mu.Lock()
	defer e.shelf.mu.Unlock()
	for e.shelf.freeOne() {
	}
	return e.memory.Used()
}

// hostileEngine gives guests clocks and randomness that stand still: whatever differs for a guest was left by another
// one.
func hostileEngine(t testing.TB, how memory.Restoring) *Engine {
	fixed := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	e := newEngine(t, Config{Clock: func() time.Time { return fixed }, Rand: zeros{}})
	e.shelf.restoring = how
	return e
}

var restorings = map[string]memory.Restoring{ // order-free: subtests
	"scan": memory.Scan, "remap": memory.Remap, "copy": memory.Copy, "never": memory.Never,
}

// leakEnds are the ways to end of testdata/wasm/leak.wat, with the code of the failure; "" succeeds, "killed" is
// killed. reuses says whether the instance is used again.
var leakEnds = []struct {
	how, code string
	a         Attempt
	reuses    bool
}{
	{how: "l", reuses: true},
	{how: ".", reuses: true},
	{how: "f", code: CodeHandlerError, reuses: true},
	{how: "t", code: CodeTrap},
	{how: "s", code: CodeOutOfFuel, a: Attempt{Fuel: 3_000_000}},
	{how: "s", code: CodeTimeout, a: Attempt{RunTimeout: 5 * time.Millisecond}},
	{how: "s", code: "killed"},
	{how: "g", reuses: true},
	{how: "m", code: CodeOutOfMemory, a: Attempt{MemoryBytes: 1 << 20}},
	{how: "n", a: Attempt{MemoryBytes: 1 << 20}, reuses: true},
	{how: "x", code: CodeHandlerError},
	{how: "z", code: CodeNoResult},
	{how: "c", reuses: true},
	{how: "r", reuses: true},
	{how: "d", reuses: true},
	{how: "o", code: CodeTrap},
	{how: "!", reuses: true}, // dirt everywhere, and succeeds
}

// TestNothingPasses: whatever an attempt did and however it ended, the next attempt finds what the first one found,
// and uses as much fuel (SPEC B4), in every way of restoring.
func TestNothingPasses(t *testing.T) {
	var first, fuel string
	for _, name := range []string{"never", "scan", "remap", "copy", "cache"} {
		how := restorings[name]
		t.Run(name, func(t *testing.T) {
			e := hostileEngine(t, how)
			if name == "cache" { // the image is made elsewhere
				dir := t.TempDir()
				keepImageOf(t, dir, guestFile(t, "leak"))
				e = reader(t, dir)
				how = e.shelf.restoring
			}
			m := load(t, e, guestFile(t, "leak"))
			look := func(after string) {
				t.Helper()
				out := m.Run(t.Context(), Attempt{Params: []byte("l")}, &fakeHost{})
				found := fmt.Sprintf("%x", out.Result)
				if first == "" {
					first, fuel = found, fmt.Sprint(out.Fuel)
				}
				if out.Kind != Succeeded || found != first || fmt.Sprint(out.Fuel) != fuel || out.PeakMemory != 4<<16 {
					t.Errorf("after %s:\n found %s\nbefore %s\nfuel %d, before %s: %+v", after, found, first, out.Fuel, fuel, out)
				}
			}
			look("nothing")
			for _, end := range leakEnds {
				for range 3 {
					before := m.Instances()
					endAs(t, m, end.how, end.code, end.a)
					if stats := m.Instances(); how != memory.Never && stats.Idle != btoi(end.reuses) {
						t.Errorf("after %q: %+v, before %+v", end.how, stats, before)
					}
					look(end.how)
				}
			}
			if stats := m.Instances(); (stats.Reused > 40) != (how != memory.Never) {
				t.Errorf("instances: %+v", stats)
			}
			if used := usedByGuests(e); used != 0 {
				t.Errorf("%d bytes are kept", used)
			}
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func endAs(t *testing.T, m *Module, how, code string, a Attempt) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	if code == "killed" {
		time.AfterFunc(2*time.Millisecond, func() { cancel(ErrKilledLease) })
	}
	a.Params = []byte(how)
	out := m.Run(ctx, a, &fakeHost{})
	if (out.Kind == Killed) != (code == "killed") || code != "killed" && out.Code != code {
		t.Errorf("%s ended as %+v", how, out)
	}
}

// TestNothingPassesAtOnce: attempts of all kinds at the same time, under a budget that makes them give way.
func TestNothingPassesAtOnce(t *testing.T) {
	fixed := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	e := newEngine(t, Config{Clock: func() time.Time { return fixed }, Rand: zeros{}, MemoryBudget: 3 << 20})
	m := load(t, e, guestFile(t, "leak"))
	want := m.Run(t.Context(), Attempt{Params: []byte("l")}, &fakeHost{})
	var wg sync.WaitGroup
	for worker := range 12 {
		wg.Go(func() {
			for n := range 40 {
				how := "lf.tgcr!"[(worker+n)%8:][:1]
				out := m.Run(t.Context(), Attempt{Params: []byte(how)}, &fakeHost{})
				if out.Code == CodeOutOfMemory && out.Retryable {
					continue // others had the memory
				}
				if how != "t" && how != "f" && (out.Kind != Succeeded || string(out.Result) != string(want.Result)) {
					t.Errorf("%s: %+v", how, out)
				}
			}
		})
	}
	wg.Wait()
	if used := usedByGuests(e); used != 0 {
		t.Errorf("%d bytes are kept", used)
	}
}

// TestNotRestorable: modules that cannot be restored are recognised, and get new instances.
func TestNotRestorable(t *testing.T) {
	for _, name := range []string{"leak-table", "leak-segment", "leak-vector", "leak-reference"} {
		e := hostileEngine(t, memory.Scan)
		m := load(t, e, guestFile(t, name))
		for range 3 {
			out := m.Run(t.Context(), Attempt{}, &fakeHost{})
			if out.Kind != Succeeded || string(out.Result) != "\x01" {
				t.Errorf("%s: %+v", name, out)
			}
		}
		if got := m.Instances(); got != (InstanceStats{Made: 3}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestGrownMemoryIsGivenBack: an instance whose guest has grown its memory serves the next attempt. That attempt
// finds the memory as small as the first one did, and zeros where it grows. Most guests that allocate grow their
// memory.
func TestGrownMemoryIsGivenBack(t *testing.T) {
	for _, name := range []string{"scan", "remap", "copy"} {
		t.Run(name, func(t *testing.T) {
			e := hostileEngine(t, restorings[name])
			m := load(t, e, guestFile(t, "leak-grown"))
			for n, pages := range []byte{1, 3, 0, 100, 1, 2, 150, 3, 0} {
				out := m.Run(t.Context(), Attempt{Params: []byte{pages}}, &fakeHost{})
				if out.Kind != Succeeded || string(out.Result) != "\x01"+strings.Repeat("\x00", 15) || out.PeakMemory != (int64(pages)+1)<<16 {
					t.Errorf("attempt %d, %d pages: %x, %+v", n, pages, out.Result, out)
				}
			}
			if got := m.Instances(); got.Made != 1 || got.Reused != 8 {
				t.Errorf("%+v", got)
			}
			m.Run(t.Context(), Attempt{Params: []byte{199}}, &fakeHost{}) // to its maximum
			if got := m.Instances(); got.Idle != 0 {
				t.Errorf("at its maximum: %+v", got)
			}
			if used := usedByGuests(e); used != 0 {
				t.Errorf("%d bytes are kept", used)
			}
		})
	}
}

// TestRestorable: modules that leave nothing behind are recognised, too.
func TestRestorable(t *testing.T) {
	for _, name := range []string{"leak-flags", "leak-passive"} {
		e := hostileEngine(t, memory.Scan)
		m := load(t, e, guestFile(t, name))
		first := m.Run(t.Context(), Attempt{}, &fakeHost{})
		for range 3 {
			out := m.Run(t.Context(), Attempt{}, &fakeHost{})
			if out.Kind != Succeeded || len(out.Result) == 0 || string(out.Result) != string(first.Result) || out.Fuel != first.Fuel {
				t.Errorf("%s: %+v, first %+v", name, out, first)
			}
		}
		if got := m.Instances(); got.Reused != 3 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestDepthDoesNotDependOnOthers: an instance keeps its call stack while the stack has its first size. How deep a
// guest gets, which its fuel tells, is always the same.
func TestDepthDoesNotDependOnOthers(t *testing.T) {
	e := hostileEngine(t, memory.Scan)
	m := load(t, e, guestFile(t, "deep"))
	run := func(how, code string) Outcome {
		t.Helper()
		out := m.Run(t.Context(), Attempt{Params: []byte(how)}, &fakeHost{})
		if out.Code != code {
			t.Fatalf("%s: %+v", how, out)
		}
		return out
	}
	kept := func() bool { return m.pool.idle[0].entry != nil }
	first := run("o", CodeTrap)
	for _, before := range []string{"s", "ss", "d", "sds"} {
		for _, how := range before {
			run(string(how), "")
			if kept() != (how == 's') {
				t.Errorf("after %c of %s: call stack kept: %t", how, before, kept())
			}
		}
		if out := run("o", CodeTrap); out.Fuel != first.Fuel {
			t.Errorf("after %s: %d units until the stack was full, first %d", before, out.Fuel, first.Fuel)
		}
	}
}

// TestGoGuestsAreRestored: a guest with megabytes of memory and a runtime of its own is restored, too.
func TestGoGuestsAreRestored(t *testing.T) {
	e := hostileEngine(t, memory.Scan)
	m := load(t, e, guestFile(t, "wordcount"))
	var first Outcome
	for n := range 20 {
		if n%2 == 1 {
			m.Run(t.Context(), Attempt{Params: []byte(`{"text":"` + strings.Repeat("other words ", n*100) + `"}`)}, &fakeHost{})
			m.Run(t.Context(), Attempt{Params: []byte(`not JSON`)}, &fakeHost{})
		}
		out := m.Run(t.Context(), Attempt{Params: []byte(`{"text":"some words"}`)}, &fakeHost{})
		if n == 0 {
			first = out
		}
		if out.Kind != Succeeded || string(out.Result) != string(first.Result) || out.Fuel != first.Fuel {
			t.Errorf("%d: %+v, first %+v", n, out, first)
		}
	}
	if got := m.Instances(); got.Reused < 20 || got.Image < 1<<20 {
		t.Errorf("%+v", got)
	}
}

// TestLimitsOfReusedInstances: an instance serves attempts with other limits of memory, and keeps each of them.
func TestLimitsOfReusedInstances(t *testing.T) {
	e := hostileEngine(t, memory.Scan)
	m := load(t, e, guestFile(t, "leak"))
	for _, limit := range []int64{1 << 20, 8 << 20, 512 << 10, 1 << 20} {
		m.Run(t.Context(), Attempt{Params: []byte("l"), MemoryBytes: limit}, &fakeHost{})
		out := m.Run(t.Context(), Attempt{Params: []byte("n"), MemoryBytes: limit}, &fakeHost{})
		if out.Kind != Succeeded || out.PeakMemory != limit {
			t.Errorf("limit %d: %+v", limit, out)
		}
	}
	// There is not even room for what _initialize takes: the attempt is refused, as in a new instance.
	out := m.Run(t.Context(), Attempt{Params: []byte("l"), MemoryBytes: 3 << 16}, &fakeHost{})
	if out.Code != CodeOutOfMemory {
		t.Errorf("got %+v", out)
	}
}

// TestIdleGivesWay: idle instances make room for attempts that wait, and for guests that grow.
func TestIdleGivesWay(t *testing.T) {
	e := newEngine(t, Config{MemoryBudget: 1 << 20})
	m := load(t, e, guestFile(t, "leak"))
	for range 3 {
		if out := m.Run(t.Context(), Attempt{Params: []byte("!")}, &fakeHost{}); out.Kind != Succeeded {
			t.Fatalf("got %+v", out)
		}
	}
	if got := m.Instances(); got.Idle != 1 || got.Image == 0 {
		t.Fatalf("%+v", got)
	}
	all := wasmSpec{memory: []byte{0, 16}, exports: []wasmExport{succeed}}.build()
	if out := load(t, e, all).Run(t.Context(), Attempt{}, &fakeHost{}); out.Kind != Succeeded {
		t.Errorf("got %+v", out)
	}
	if got := m.Instances(); got.Idle != 0 || got.Image != 0 {
		t.Errorf("%+v", got)
	}
}

// TestIdleIsBoundedAndShrinks: many instances at once leave no more than the bound, which two sweeps remove.
func TestIdleIsBoundedAndShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, Config{})
		m := load(t, e, guestFile(t, "wait"))
		m.Run(t.Context(), Attempt{Params: []byte("1")}, &fakeHost{})
		var wg sync.WaitGroup
		for range idlePerModule + 10 {
			wg.Go(func() { m.Run(t.Context(), Attempt{Params: []byte("1000")}, &fakeHost{}) })
		}
		wg.Wait()
		if got := m.Instances(); got.Idle != idlePerModule {
			t.Errorf("%+v", got)
		}
		e.shelf.sweep()
		m.Run(t.Context(), Attempt{Params: []byte("1")}, &fakeHost{})
		e.shelf.sweep()
		if got := m.Instances(); got.Idle != 1 || got.Image == 0 {
			t.Errorf("after a sweep, a run and a sweep: %+v", got)
		}
		e.shelf.sweep()
		e.shelf.sweep()
		if got := m.Instances(); got.Idle != 0 || got.Image != 0 || e.memory.Used() != 0 {
			t.Errorf("%+v, %d bytes", got, e.memory.Used())
		}
		if out := m.Run(t.Context(), Attempt{Params: []byte("1")}, &fakeHost{}); out.Kind != Succeeded {
			t.Errorf("got %+v", out)
		}
	})
}

// TestDropFreesTheShelf: when a module is dropped, all that waits for its next attempt is freed.
func TestDropFreesTheShelf(t *testing.T) {
	e := newEngine(t, Config{})
	m := load(t, e, guestFile(t, "leak"))
	m.Run(t.Context(), Attempt{Params: []byte("l")}, &fakeHost{})
	e.Drop(m.Digest())
	if e.memory.Used() != 0 || e.shelf.idle.Len() != 0 || len(e.shelf.images) != 0 {
		t.Errorf("%d bytes, %d instances, %d images", e.memory.Used(), e.shelf.idle.Len(), len(e.shelf.images))
	}
}
