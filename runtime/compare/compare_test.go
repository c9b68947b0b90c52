// Package compare measures one attempt in fresh memory beside what others do.
package compare

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	extism "github.com/extism/go-sdk"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/internal/astool"
	"github.com/taskrt/taskrt/internal/ctool"
	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/internal/rusttool"
	"github.com/taskrt/taskrt/plugins/plugintest"
	"github.com/taskrt/taskrt/runtime"
)

var payload = bytes.Repeat([]byte("0123456789abcdef"), 64) // 1 KiB

// examples is where the guests' sources are.
const examples = "../../plugins/examples"

// guests are the conformance guests, which echo what follows "echo ".
var guests = []struct {
	language string
	build    func(t testing.TB) []byte
}{
	{"c", func(t testing.TB) []byte { return ctool.Build(t, examples+"/conformance-c/main.c") }},
	{"rust", func(t testing.TB) []byte { return rusttool.Build(t, examples+"/conformance-rust") }},
	{"assemblyscript", func(t testing.TB) []byte { return astool.Build(t, examples+"/conformance-as") }},
	{"go", buildGo},
}

func buildGo(t testing.TB) []byte {
	t.Helper()
	wasm, err := os.ReadFile(plugintest.BuildGo(t, examples+"/conformance"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

type host struct{}

func (host) Beat(int64, int64, []byte) abi.Signals    { return 0 }
func (host) Signals() abi.Signals                     { return 0 }
func (host) Checkpoint(context.Context, []byte) error { return nil }
func (host) Log(int, []byte)                          {}

func (host) Call(context.Context, abi.Op, []byte) ([]byte, error) { return nil, runtime.ErrDenied }

func load(t testing.TB, wasm []byte) *runtime.Module {
	t.Helper()
	e, err := runtime.New(runtime.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	m, err := e.Load(t.Context(), runtime.Digest(wasm), wasm)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func run(t testing.TB, m *runtime.Module, params string) []byte {
	out := m.Run(context.Background(), runtime.Attempt{Params: []byte(params)}, host{})
	if out.Kind != runtime.Succeeded {
		t.Fatalf("%+v", out)
	}
	return out.Result
}

// BenchmarkEcho is one call that answers with the kilobyte that it got.
func BenchmarkEcho(b *testing.B) {
	for _, g := range guests {
		b.Run("taskrt/"+g.language, func(b *testing.B) {
			m := load(b, g.build(b))
			params := "echo " + string(payload)
			b.ReportAllocs()
			for b.Loop() {
				want(b, run(b, m, params))
			}
			if s := m.Instances(); s.Made > 2 {
				b.Fatalf("instances are not restored: %+v", s)
			}
		})
	}
	benchExtism(b)
	b.Run("process", func(b *testing.B) {
		for b.Loop() {
			cmd := leash.Command("cat")
			cmd.Stdin = bytes.NewReader(payload)
			out, err := cmd.Output()
			if err != nil {
				b.Fatal(err)
			}
			want(b, out)
		}
	})
	b.Run("native", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			want(b, bytes.Clone(payload))
		}
	})
}

func want(t testing.TB, got []byte) {
	if !bytes.Equal(got, payload) {
		t.Fatalf("got %d bytes", len(got))
	}
}

func benchExtism(b *testing.B) {
	ctx := context.Background()
	manifest := extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: assemble(b, "echo.wat")}}}
	call := func(b *testing.B, p *extism.Plugin) {
		_, out, err := p.Call("echo", payload)
		if err != nil {
			b.Fatal(err)
		}
		want(b, out)
	}
	must := func(b *testing.B, err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	b.Run("extism/new plugin", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p, err := extism.NewPlugin(ctx, manifest, extism.PluginConfig{}, nil)
			must(b, err)
			call(b, p)
			must(b, p.Close(ctx))
		}
	})
	compiled, err := extism.NewCompiledPlugin(ctx, manifest, extism.PluginConfig{}, nil)
	must(b, err)
	b.Run("extism/new instance", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p, err := compiled.Instance(ctx, extism.PluginInstanceConfig{})
			must(b, err)
			call(b, p)
			must(b, p.Close(ctx))
		}
	})
	b.Run("extism/reused", func(b *testing.B) {
		p, err := compiled.Instance(ctx, extism.PluginInstanceConfig{})
		must(b, err)
		b.ReportAllocs()
		for b.Loop() {
			call(b, p)
		}
	})
}

func assemble(t testing.TB, file string) []byte {
	t.Helper()
	to := filepath.Join(t.TempDir(), "guest.wasm")
	if out, err := leash.Command("wat2wasm", "-o", to, file).CombinedOutput(); err != nil {
		t.Fatalf("wat2wasm: %v\n%s", err, out)
	}
	wasm, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// BenchmarkIdle is the private memory of an instance that has worked and waits for its next attempt.
func BenchmarkIdle(b *testing.B) {
	const instances = 64
	for _, g := range guests {
		b.Run(g.language, func(b *testing.B) {
			m := load(b, g.build(b))
			run(b, m, "echo x") // makes the image
			for b.Loop() {
				before := anonymous(b)
				var wg sync.WaitGroup
				for range instances {
					wg.Go(func() { run(b, m, "sleep 500") })
				}
				wg.Wait()
				s := m.Instances()
				if s.Idle < instances/2 {
					b.Fatalf("%+v", s)
				}
				b.ReportMetric(float64(anonymous(b)-before)/float64(s.Idle), "KiB/instance")
			}
		})
	}
}

// anonymous is this process's anonymous memory in KiB, after a garbage collection.
func anonymous(t testing.TB) (kib int) {
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "RssAnon:"); ok {
			_, err := fmt.Sscan(rest, &kib)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return kib
}
