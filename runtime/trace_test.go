package runtime

import (
	"encoding/json"
	"strings"
	"testing"
)

func traceOf(t testing.TB, out Outcome) string {
	t.Helper()
	var details struct{ Trace string }
	if err := json.Unmarshal(out.Details, &details); err != nil || out.Code != CodeTrap {
		t.Fatalf("got %+v: %v", out, err)
	}
	return details.Trace
}

// TestTraces: a trace tells functions by their names, or by their indexes in the file, and lines of source by DWARF,
// also through inlined calls.
func TestTraces(t *testing.T) {
	cache := Config{CacheDir: t.TempDir()}
	for _, round := range []string{"compiled", "from the cache"} {
		crash := load(t, newEngine(t, cache), guestFile(t, "crash"))
		for behavior, want := range []string{
			"sum(i32) i32 at crash.c:11:3, inlined at crash.c:16:9, inlined at crash.c:22:12\nrun(i32) i32 at crash.c:41:10",
			"beyond(i32) i32 at crash.c:27:9\nrun(i32) i32 at crash.c:43:10",
			"divide(i32,i32) i32 at crash.c:31:11\nrun(i32) i32 at crash.c:45:10",
		} {
			if got := traceOf(t, crash.Run(t.Context(), Attempt{Behavior: int32(behavior)}, &fakeHost{})); got != want {
				t.Errorf("%s: behavior %d: got\n%s\nwant\n%s", round, behavior, got, want)
			}
		}
	}
	e := newEngine(t, Config{})
	// wazero unwinds no stack that has overflowed.
	if out := load(t, e, guestFile(t, "crash")).Run(t.Context(), Attempt{Behavior: 3}, &fakeHost{}); out.Code != CodeTrap || out.Details != nil {
		t.Errorf("recursion without end: %+v", out)
	}
	unnamed := wasmSpec{
		imports: wasiImport("sched_yield", ""),
		exports: []wasmExport{{"f", "", "", []byte{0x00}}, run(0x10, 1, 0x41, 0)},
	}
	if got := traceOf(t, load(t, e, unnamed.build()).Run(t.Context(), Attempt{}, &fakeHost{})); got != "$1()\n$2(i32) i32" {
		t.Errorf("without names: %q", got)
	}
	// The functions that metering adds are not the guest's.
	fill := wasmSpec{exports: []wasmExport{run(0x41, 0, 0x41, 0, 0x41, 0x7f, 0xfc, 11, 0, 0x41, 0)}}
	if got := traceOf(t, load(t, e, fill.build()).Run(t.Context(), Attempt{}, &fakeHost{})); got != "$0(i32) i32" {
		t.Errorf("in a long fill: %q", got)
	}
}

// TestTracesOfStrangers: damaged DWARF costs the lines and nothing else; long names are cut.
func TestTracesOfStrangers(t *testing.T) {
	e := newEngine(t, Config{})
	good := guestFile(t, "crash")
	at := strings.Index(string(good), ".debug_line") + len(".debug_line")
	for i := range 60 {
		bad := append([]byte(nil), good...)
		bad[at+i] ^= 0xff
		trace := traceOf(t, load(t, e, bad).Run(t.Context(), Attempt{}, &fakeHost{}))
		if !strings.HasPrefix(trace, "sum(i32) i32") || !strings.Contains(trace, "\nrun(i32) i32") {
			t.Errorf("byte %d: %s", i, trace)
		}
	}
	if n := len(e.places.last); n != keptPlaces {
		t.Errorf("%d tables are kept", n)
	}
	name := strings.Repeat("n", 10_000)
	section := append([]byte{1}, str(string(append([]byte{1, 0}, str(name)...)))...)
	spec := wasmSpec{exports: []wasmExport{run(0x00)}}
	named := append(spec.build(), 0)
	named = append(named, str(string(append(str("name"), section...)))...)
	if trace := traceOf(t, load(t, e, named).Run(t.Context(), Attempt{}, &fakeHost{})); trace != name[:maxFrame] {
		t.Errorf("a name of 10,000 bytes: %d bytes, %.50s", len(trace), trace)
	}
}
