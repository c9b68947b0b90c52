package meter_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/taskrt/taskrt/runtime/meter"
)

var (
	languages = []string{"c", "rust", "go"}
	workloads = []string{"sha256", "crc32", "json", "sort", "matrix", "fib", "spin"}
)

// mode is a way to run a guest.
type mode string

const (
	plain   mode = "plain"   // as wazero runs it, and nothing can stop it
	metered mode = "metered" // rewritten, with a tick about every millisecond
	closing mode = "close"   // WithCloseOnContextDone: what wazero offers
)

var modes = []mode{plain, metered, closing}

func benchWasm(tb testing.TB, language string) []byte {
	tb.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "..", "testdata", "wasm", "bench", language+".wasm"))
	if err != nil {
		tb.Fatal(err)
	}
	return wasm
}

func metering(tb testing.TB, wasm []byte) []byte {
	tb.Helper()
	m, err := meter.Rewrite(wasm)
	if err != nil {
		tb.Fatal(err)
	}
	return m.Wasm
}

// runner is a runtime with the guest compiled for one mode.
type runner struct {
	mode    mode
	runtime wazero.Runtime
	guest   wazero.CompiledModule
}

func newRunner(tb testing.TB, m mode, wasm []byte) *runner {
	tb.Helper()
	ctx := tb.Context()
	h := &runner{mode: m, runtime: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCloseOnContextDone(m == closing))}
	tb.Cleanup(func() { h.runtime.Close(context.Background()) })
	wasi_snapshot_preview1.MustInstantiate(ctx, h.runtime)
	if m == metered {
		tick := h.runtime.NewHostModuleBuilder(meter.Import).NewFunctionBuilder().
			WithGoModuleFunction(api.GoModuleFunc(dealerTick), []api.ValueType{api.ValueTypeI64}, []api.ValueType{api.ValueTypeI64})
		if _, err := tick.Export(meter.Tick).Instantiate(ctx); err != nil {
			tb.Fatal(err)
		}
		wasm = metering(tb, wasm)
	}
	var err error
	if h.guest, err = h.runtime.CompileModule(ctx, wasm); err != nil {
		tb.Fatal(err)
	}
	return h
}

// dealer deals fuel out to one guest in pieces that last about a millisecond.
type dealer struct {
	slice int64 // units of the next piece
	armed int64 // units of the last piece
	used  int64 // units of the pieces before
	since time.Time
	ticks int
}

type dealerKey struct{}

func dealerTick(ctx context.Context, _ api.Module, stack []uint64) {
	stack[0] = uint64(ctx.Value(dealerKey{}).(*dealer).next(int64(stack[0])))
}

func (s *dealer) next(left int64) int64 {
	runtime.Gosched()
	now := time.Now()
	if lasted := now.Sub(s.since); lasted < 700*time.Microsecond {
		s.slice = min(s.slice*2, 32<<20)
	} else if lasted > 1500*time.Microsecond {
		s.slice = max(s.slice/2, 16<<10)
	}
	s.ticks++
	s.since = now
	s.used += s.armed - left
	s.armed = s.slice
	return s.armed
}

// guest is an instance.
type guest struct {
	ctx    context.Context
	module api.Module
	funcs  map[string]api.Function
	dealer *dealer
}

func (h *runner) instance(tb testing.TB) *guest {
	tb.Helper()
	g := &guest{dealer: &dealer{slice: 1 << 20, since: time.Now()}, funcs: map[string]api.Function{}}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), dealerKey{}, g.dealer))
	g.ctx = ctx
	module, err := h.runtime.InstantiateModule(ctx, h.guest, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { module.Close(context.Background()); cancel() })
	g.module = module
	for _, w := range workloads {
		g.funcs[w] = module.ExportedFunction(w)
	}
	return g
}

func (g *guest) call(tb testing.TB, workload string, rounds int) uint64 {
	tb.Helper()
	stack := [1]uint64{api.EncodeI32(int32(rounds))}
	if err := g.funcs[workload].CallWithStack(g.ctx, stack[:]); err != nil {
		tb.Fatalf("%s: %v", workload, err)
	}
	return stack[0]
}

// fuel returns the units that a metered guest has used in its life.
func (g *guest) fuel() int64 {
	left := int64(g.module.ExportedGlobal(meter.Fuel).Get())
	return g.dealer.used + g.dealer.armed - left
}

// TestBenchGuestsAgree: every language, in every mode, gives the same checksums, and two runs use the same fuel.
func TestBenchGuestsAgree(t *testing.T) {
	t.Parallel()
	const rounds = 3
	sums := map[string]uint64{}
	for _, language := range languages {
		wasm := benchWasm(t, language)
		for _, m := range modes {
			h := newRunner(t, m, wasm)
			g := h.instance(t)
			for _, w := range workloads {
				sum := g.call(t, w, rounds)
				if want, ok := sums[w]; ok && sum != want {
					t.Errorf("%s %s, %s: %#x, not %#x", language, w, m, sum, want)
				}
				sums[w] = sum
			}
			if m == metered {
				wantSameFuel(t, language, g, h, rounds)
			}
		}
	}
	if got, want := len(sums), len(workloads); got != want {
		t.Errorf("%d workloads, not %d", got, want)
	}
}

// wantSameFuel runs what g has run in other instances, with slices of other sizes.
func wantSameFuel(t *testing.T, language string, g *guest, h *runner, rounds int) {
	t.Helper()
	for _, slice := range []int64{1 << 20, 12_345} {
		again := h.instance(t)
		again.dealer.slice = slice
		for _, w := range workloads {
			before := again.fuel()
			again.call(t, w, rounds)
			if again.fuel() <= before {
				t.Errorf("%s %s: uses no fuel", language, w)
			}
		}
		if again.fuel() != g.fuel() {
			t.Errorf("%s: %d units, then %d", language, g.fuel(), again.fuel())
		}
	}
}

// minSample is how long one call of a plain guest takes at least. Short calls find quiet moments on a busy machine.
const minSample = 2 * time.Millisecond

// rounds finds how many a call must have.
func rounds(b *testing.B, g *guest, workload string) int {
	b.Helper()
	for n := 1; ; n *= 2 {
		best := time.Duration(math.MaxInt64)
		for range 3 {
			start := time.Now()
			g.call(b, workload, n)
			best = min(best, time.Since(start))
		}
		if best >= minSample {
			return n
		}
	}
}

// BenchmarkGuests takes turns: every loop runs the same work in each mode, so that what else the machine does meets all of
// them. The ratios are of the shortest times.
func BenchmarkGuests(b *testing.B) {
	var overMetered, overClose []float64
	worst := map[string]float64{}
	for _, language := range languages {
		wasm := benchWasm(b, language)
		var hosts []*runner
		for _, m := range modes {
			hosts = append(hosts, newRunner(b, m, wasm))
		}
		for _, w := range workloads {
			b.Run(language+"/"+w, func(b *testing.B) {
				best := takeTurns(b, hosts, w)
				mr, cr := best[metered]/best[plain], best[closing]/best[plain]
				overMetered, overClose = append(overMetered, mr), append(overClose, cr)
				worst["metered"], worst["close"] = max(worst["metered"], mr), max(worst["close"], cr)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(best[plain]/1e3, "plain-µs")
				b.ReportMetric(mr, "metered/plain")
				b.ReportMetric(cr, "close/plain")
			})
		}
	}
	b.Run(fmt.Sprintf("all-%d", len(overMetered)), func(b *testing.B) {
		for b.Loop() {
			_ = geomean(overMetered)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(geomean(overMetered), "metered-geomean")
		b.ReportMetric(worst["metered"], "metered-worst")
		b.ReportMetric(geomean(overClose), "close-geomean")
		b.ReportMetric(worst["close"], "close-worst")
	})
}

// takeTurns returns the shortest time of a call in each mode, in nanoseconds.
func takeTurns(b *testing.B, hosts []*runner, workload string) map[mode]float64 {
	b.Helper()
	guests := map[mode]*guest{}
	for _, h := range hosts {
		guests[h.mode] = h.instance(b)
	}
	n := rounds(b, guests[plain], workload)
	best := map[mode]float64{}
	for _, m := range modes {
		guests[m].call(b, workload, n)
		best[m] = math.Inf(1)
	}
	g := guests[metered]
	fuel, ticks, spent := g.fuel(), g.dealer.ticks, time.Duration(0)
	for turn := 0; b.Loop(); turn++ {
		for _, m := range modes {
			if m == closing && turn%4 != 0 {
				continue // it takes most of the time
			}
			start := time.Now()
			guests[m].call(b, workload, n)
			took := time.Since(start)
			best[m] = min(best[m], float64(took))
			if m == metered {
				spent += took
			}
		}
	}
	b.ReportMetric(float64(g.fuel()-fuel)/float64(spent.Microseconds()), "fuel/µs")
	b.ReportMetric(float64(g.dealer.ticks-ticks)/(float64(spent)/1e6), "ticks/ms")
	return best
}

func geomean(ratios []float64) float64 {
	sum := 0.0
	for _, r := range ratios {
		sum += math.Log(r)
	}
	return math.Exp(sum / float64(len(ratios)))
}

// BenchmarkRewrite is the cost of the pass itself, and by how much a module grows.
func BenchmarkRewrite(b *testing.B) {
	for _, language := range languages {
		b.Run(language, func(b *testing.B) {
			wasm := benchWasm(b, language)
			b.SetBytes(int64(len(wasm)))
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				size = len(metering(b, wasm))
			}
			b.ReportMetric(float64(size)/float64(len(wasm)), "size-ratio")
		})
	}
}

// BenchmarkCompile takes turns at compiling the module as it is and as it is rewritten.
func BenchmarkCompile(b *testing.B) {
	for _, language := range languages {
		b.Run(language, func(b *testing.B) {
			wasm := benchWasm(b, language)
			modules := [][]byte{wasm, metering(b, wasm)}
			best := [2]float64{math.Inf(1), math.Inf(1)}
			for b.Loop() {
				for i, module := range modules {
					r := wazero.NewRuntimeWithConfig(b.Context(), wazero.NewRuntimeConfigCompiler())
					start := time.Now()
					if _, err := r.CompileModule(b.Context(), module); err != nil {
						b.Fatal(err)
					}
					best[i] = min(best[i], float64(time.Since(start)))
					r.Close(b.Context())
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(best[0]/1e6, "plain-ms")
			b.ReportMetric(best[1]/best[0], "metered/plain")
		})
	}
}
