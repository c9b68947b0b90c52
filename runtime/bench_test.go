package runtime

import (
	"context"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
)

type silentHost struct{}

func (silentHost) Beat(int64, int64, []byte) abi.Signals                { return 0 }
func (silentHost) Signals() abi.Signals                                 { return 0 }
func (silentHost) Checkpoint(context.Context, []byte) error             { return nil }
func (silentHost) Call(context.Context, abi.Op, []byte) ([]byte, error) { return nil, ErrDenied }
func (silentHost) Log(int, []byte)                                      {}

// BenchmarkAttempt is one attempt in a fresh instance, params of 1 KiB.
func BenchmarkAttempt(b *testing.B) {
	for _, bm := range []struct{ name, guest, params string }{
		{"echo", "echo", strings.Repeat("x", 1024)},
		{"wordcount", "wordcount", `{"text":"` + strings.Repeat("a b ", 250) + `"}`},
	} {
		b.Run(bm.name, func(b *testing.B) {
			e := newEngine(b, Config{})
			m := load(b, e, guestFile(b, bm.guest))
			a := Attempt{Params: []byte(bm.params)}
			b.ReportAllocs()
			for b.Loop() {
				if out := m.Run(context.Background(), a, silentHost{}); out.Kind != Succeeded {
					b.Fatalf("%+v", out)
				}
			}
		})
	}
}

// BenchmarkLoad compiles a module, or takes its code from the cache on disk.
func BenchmarkLoad(b *testing.B) {
	for _, guest := range []string{"echo", "conformance-wat", "wordcount"} {
		wasm := guestFile(b, guest)
		digest := Digest(wasm)
		b.Run(guest+"/compile", func(b *testing.B) {
			for b.Loop() {
				e := newEngine(b, Config{})
				load(b, e, wasm)
				if err := e.Close(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(guest+"/cached", func(b *testing.B) {
			dir := b.TempDir()
			warm := newEngine(b, Config{CacheDir: dir})
			load(b, warm, wasm)
			for b.Loop() {
				e := newEngine(b, Config{CacheDir: dir})
				if _, err := e.Load(context.Background(), digest, wasm); err != nil {
					b.Fatal(err)
				}
				if err := e.Close(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkInspect is the check of an upload whose code is cached.
func BenchmarkInspect(b *testing.B) {
	e := newEngine(b, Config{CacheDir: b.TempDir()})
	wasm := guestFile(b, "echo")
	for b.Loop() {
		if _, err := e.Inspect(context.Background(), wasm, nil, ""); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFreshMemory is one attempt that echoes 1 KiB: in a new instance, and in an instance that is restored.
func BenchmarkFreshMemory(b *testing.B) {
	for _, bm := range []struct{ guest, params string }{
		{"echo", strings.Repeat("x", 1024)},
		{"leak", "."},
		{"wordcount", `{"text":"` + strings.Repeat("a b ", 250) + `"}`},
	} {
		for name, how := range restorings { // order-free: independent runs
			b.Run(bm.guest+"/"+name, func(b *testing.B) {
				e := newEngine(b, Config{})
				e.shelf.restoring = how
				m := load(b, e, guestFile(b, bm.guest))
				a := Attempt{Params: []byte(bm.params)}
				m.Run(context.Background(), a, silentHost{})
				b.ReportAllocs()
				for b.Loop() {
					if out := m.Run(context.Background(), a, silentHost{}); out.Kind != Succeeded {
						b.Fatalf("%+v", out)
					}
				}
				m.Instances()
			})
		}
	}
}
