package meter_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/taskrt/taskrt/runtime/meter"
	"github.com/taskrt/taskrt/runtime/wasmbin"
	"github.com/taskrt/taskrt/runtime/wasmbin/shapes"
)

// compileCost compiles a module and returns what that allocated.
func compileCost(tb testing.TB, wasm []byte) (bytes uint64) {
	tb.Helper()
	r := wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfigCompiler())
	defer r.Close(context.Background())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := r.CompileModule(context.Background(), wasm); err != nil {
		tb.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func tooComplex(err error) *wasmbin.Error {
	var bad *wasmbin.Error
	if errors.As(err, &bad) && bad.Reason == wasmbin.TooMany {
		return bad
	}
	return nil
}

// TestShapesAreBounded doubles each shape until it is refused. The estimate of an accepted shape is within the limit,
// and what compiling it allocates grows by less than n^1.5. The exceptions are the shapes that are products, which
// are refused by n = 4,000. (CPU time is not for tests: BenchmarkShapes.) The test is not parallel, because
// allocations are those of the process.
func TestShapesAreBounded(t *testing.T) {
	const most = 1 << 18
	for _, s := range shapes.All {
		t.Run(s.Name, func(t *testing.T) {
			var last uint64
			for n := 250; ; n *= 2 {
				plain := s.Make(n)
				m, err := meter.Rewrite(plain)
				if err != nil {
					bad := tooComplex(err)
					if bad == nil || bad.Limit == 0 {
						t.Fatalf("n = %d: %v", n, err)
					}
					t.Logf("n = %d: %v", n, err)
					if s.Product && n > 4000 {
						t.Errorf("refused as late as at n = %d", n)
					}
					return
				}
				if n > most {
					return
				}
				if n > 16_000 || s.Product {
					continue // the compiler is kept from growing by what was seen so far, and has taken long enough
				}
				bytes := compileCost(t, m.Wasm)
				// From a base of one module's fixed costs.
				if limit := float64(last) * 2.83; last > 1<<20 && float64(bytes) > limit {
					t.Errorf("n = %d: compiling allocates %d bytes, %d at half of that", n, bytes, last)
				}
				last = bytes
			}
		})
	}
}

// TestLoopsCostLittle compares what compiling metered loops and plain loops allocates: at most twice as much, except
// for loops that do nothing but go back.
func TestLoopsCostLittle(t *testing.T) {
	for _, s := range shapes.All {
		if !strings.Contains(s.Name, "loop") {
			continue
		}
		n := 1000
		if s.Product {
			n = 150
		}
		limit := 2.0
		if s.Name == "seqloopsbr" || s.Name == "loopsbr" || s.Name == "looptables" {
			limit = 2.4
		}
		plain := s.Make(n)
		m, err := meter.Rewrite(plain)
		for ; tooComplex(err) != nil; n /= 2 {
			plain = s.Make(n)
			m, err = meter.Rewrite(plain)
		}
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		before := compileCost(t, plain)
		after := compileCost(t, m.Wasm)
		t.Logf("%s: %d, metered %d: %.2f", s.Name, before, after, float64(after)/float64(before))
		if float64(after) > limit*float64(before) {
			t.Errorf("%s: compiling allocates %d bytes, metered %d", s.Name, before, after)
		}
	}
}

// TestTooComplex: the refusal of a small file that is dear to compile names the function, the figure and the limit.
func TestTooComplex(t *testing.T) {
	t.Parallel()
	shape := func(name string, n int) []byte {
		for _, s := range shapes.All {
			if s.Name == name {
				return s.Make(n)
			}
		}
		t.Fatalf("no shape %s", name)
		return nil
	}
	named := wasmbin.AppendCustom(shape("seqifs", 16_000), "name", []byte("\x01\x08\x01\x00\x05hello"))
	for _, tt := range []struct {
		name string
		wasm []byte
		want string
	}{
		{"locals in loops", shapes.LocalsInLoops(3000, 1000), "code of function 0: compiling this function would take about"},
		{"more of them", shapes.LocalsInLoops(10_000, 10_000), "code of function 0: compiling this function would take about 250 ms"},
		{"a table of branches", shape("brtable", 200_000), "for branches to one place"},
		{"ifs", named, `code of function 0 ("hello"): compiling this function would take about`},
		{"locals", shapes.Locals(50_000, 50_000), "locals in the functions up to this, more than 2000000"},
		{"results of calls", shape("results", 20_000), "for params and results of calls and blocks"},
	} {
		_, err := meter.Rewrite(tt.wasm)
		if bad := tooComplex(err); bad == nil || bad.Limit == 0 || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v", tt.name, err)
		}
		t.Logf("%s: %d bytes: %v", tt.name, len(tt.wasm), err)
	}
}

// TestRealModulesHaveRoom: real programs are estimated at less than an eighth of the limits.
func TestRealModulesHaveRoom(t *testing.T) {
	t.Parallel()
	most := int64(0)
	for _, dir := range []string{".", "bench", "programs"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "wasm", dir, "*.wasm"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, f := range files {
			wasm, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			effort, err := meter.RewriteWithin(wasm, 8)
			if err != nil && !strings.Contains(err.Error(), "exceptions") {
				t.Errorf("%s: %v", filepath.Base(f), err)
			}
			most = max(most, effort)
		}
	}
	t.Logf("at most %d ms", most/1e6)
}

// BenchmarkShapes compiles each shape, plain and metered, at the largest n that is accepted and at half of it.
func BenchmarkShapes(b *testing.B) {
	for _, s := range shapes.All {
		b.Run(s.Name, func(b *testing.B) {
			n := 64
			for n < 32_000 {
				if _, err := meter.Rewrite(s.Make(2 * n)); err != nil {
					break
				}
				n *= 2
			}
			var plain, metered, half time.Duration
			for b.Loop() {
				measure := func(wasm []byte, sum *time.Duration) {
					var begun, ended syscall.Rusage
					_ = syscall.Getrusage(syscall.RUSAGE_SELF, &begun)
					compileCost(b, wasm)
					_ = syscall.Getrusage(syscall.RUSAGE_SELF, &ended)
					*sum += time.Duration(ended.Utime.Nano() + ended.Stime.Nano() - begun.Utime.Nano() - begun.Stime.Nano())
				}
				measure(s.Make(n), &plain)
				measure(metering(b, s.Make(n)), &metered)
				measure(metering(b, s.Make(n/2)), &half)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(n), "n")
			b.ReportMetric(plain.Seconds()*1e3/float64(b.N), "plain-ms")
			b.ReportMetric(metered.Seconds()*1e3/float64(b.N), "metered-ms")
			b.ReportMetric(metered.Seconds()/plain.Seconds(), "metered/plain")
			b.ReportMetric(metered.Seconds()/half.Seconds(), "doubled")
		})
	}
}
