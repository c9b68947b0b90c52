package clustertest

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/upload"
	"github.com/taskrt/taskrt/worker"
)

// fetches gets modules as a test wishes.
type fetches func(ctx context.Context, digest string, size int64) ([]byte, error)

// Fetch implements worker.Modules.
func (f fetches) Fetch(ctx context.Context, digest string, size int64) ([]byte, error) {
	return f(ctx, digest, size)
}

// slowRunner compiles when the test lets it.
type slowRunner struct {
	worker.Runner
	open chan struct{}
}

// Load implements worker.Runner.
func (r slowRunner) Load(ctx context.Context, digest string, wasm []byte) (worker.Guest, error) {
	select {
	case <-r.open:
		return r.Runner.Load(ctx, digest, wasm)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// store opens the files of a worker.
func (c *Cluster) store(addr string) *blob.Store {
	c.t.Helper()
	s, err := blob.Open(blob.Config{
		Dir: filepath.Join(c.t.TempDir(), "blobs"), Net: c.Net.Node(addr), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			c.t.Error(err)
		}
	})
	return s
}

// fetchesFrom has a worker fetch modules from somewhere else.
func fetchesFrom(s *blob.Store, peer string) func(*worker.Config) {
	return func(x *worker.Config) {
		x.Modules = fetches(blob.Remote{Store: s, Peers: func() []string { return []string{peer} }}.Fetch)
	}
}

// compiles makes a worker's engine one that asks somebody else for the code of modules, as those of servers do.
func (c *Cluster) compiles(f func() error) func(*worker.Config) {
	c.t.Helper()
	e, err := runtime.New(runtime.Config{
		CacheDir: c.t.TempDir(), Logger: slog.New(slog.DiscardHandler), Compile: func(context.Context, string, int64) error { return f() },
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			c.t.Error(err)
		}
	})
	return func(x *worker.Config) { x.Runner = worker.Engine(e) }
}

// notReady waits until why says of a task that one worker is at a step with its module, and why its last try failed.
func (c *Cluster) notReady(id, step, why string) {
	c.t.Helper()
	c.Eventually(step+" "+why, func() bool {
		r, err := c.LeaderNode().Insight().Why(c.t.Context(), "", id)
		if err != nil || !r.Waits || len(r.Reasons) != 1 {
			return false
		}
		last := r.Reasons[0]
		if len(last.Preparing) != 1 {
			return false
		}
		p := last.Preparing[0]
		return last.Code == insight.ModuleNotReady && p.Worker == "w1" && p.Step == step && p.Since != nil && strings.Contains(p.Error, why) && (p.Failed > 0) == (p.Error != "")
	})
}

// TestWhyModuleIsNotReady provokes each cause for which a worker has not the module of a task ready, and reads it in the answer to why (SPEC Q4).
func TestWhyModuleIsNotReady(t *testing.T) {
	for _, x := range []struct {
		name, step, why string
		worker          func(*Cluster) func(*worker.Config)
	}{
		{"nobody has it", "failed", "not found", func(c *Cluster) func(*worker.Config) {
			return func(x *worker.Config) {
				had := x.Modules
				x.Modules = fetches(func(ctx context.Context, digest string, size int64) ([]byte, error) {
					return had.Fetch(ctx, strings.Repeat("0", len(digest)), size)
				})
			}
		}},
		{"no node can be reached", "failed", "nobody: ", func(c *Cluster) func(*worker.Config) {
			return fetchesFrom(c.store("w9"), "nobody")
		}},
		{"other bytes", "failed", "do not have their digest", func(*Cluster) func(*worker.Config) {
			return func(x *worker.Config) {
				x.Modules = fetches(func(context.Context, string, int64) ([]byte, error) { return []byte("something else"), nil })
			}
		}},
		{"disk full", "failed", "cannot be kept: no space left on device", func(c *Cluster) func(*worker.Config) {
			return c.compiles(func() error { return fmt.Errorf("the compiled code cannot be kept: %w", syscall.ENOSPC) })
		}},
		{"too large", "failed", string(upload.TooLarge), func(c *Cluster) func(*worker.Config) {
			return c.compiles(func() error { return upload.Oversized(9, 8) })
		}},
		{"compile error", "failed", "compile_failed: out of memory", func(c *Cluster) func(*worker.Config) {
			return c.compiles(func() error { return upload.Errorf(upload.CompileFailed, "", "out of memory") })
		}},
		{"being fetched", "fetching", "", func(*Cluster) func(*worker.Config) {
			return func(x *worker.Config) { x.Modules = slowModules{x.Modules, nil} }
		}},
		{"being compiled", "compiling", "", func(*Cluster) func(*worker.Config) {
			return func(x *worker.Config) { x.Runner = slowRunner{x.Runner, nil} }
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			Run(t, 3, Options{SessionTTL: ttl, NoWorkers: true}, func(t *testing.T, c *Cluster) {
				c.Push(0, "echo")
				c.AddWorkerAt("w1", "w1", 1, x.worker(c))
				c.notReady(c.Submit(1, "echo", `7`), x.step, x.why)
			})
		})
	}
}
