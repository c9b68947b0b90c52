package runtime

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/runtime/upload"
)

func TestLoadOncePerDigest(t *testing.T) {
	e := newEngine(t, Config{CompileWorkers: 1})
	wasm := guestFile(t, "conformance-wat")
	digest := Digest(wasm)
	if _, ok := e.Module(digest); ok {
		t.Error("ready before it was loaded")
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[*Module]bool{}
	for range 20 {
		wg.Go(func() {
			m, err := e.Load(t.Context(), digest, wasm)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			seen[m] = true
		})
	}
	wg.Wait()
	ready, ok := e.Module(digest)
	if len(seen) != 1 || !ok || !seen[ready] {
		t.Errorf("%d modules for one digest, ready %t", len(seen), ok)
	}
}

func TestLoadRefuses(t *testing.T) {
	e := newEngine(t, Config{})
	wasm := guestFile(t, "echo")
	if _, err := e.Load(t.Context(), Digest([]byte("other")), wasm); err == nil {
		t.Error("a file with another digest is loaded")
	}
	bad := guestFile(t, "bad-abi")
	for range 2 { // a failure is not remembered
		_, err := e.Load(t.Context(), Digest(bad), bad)
		if code := uploadError(t, err).Code; code != upload.ABIVersion {
			t.Errorf("got %s", code)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Load(ctx, Digest(wasm), wasm); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if len(e.modules) > 1 {
		t.Errorf("%d modules are kept", len(e.modules))
	}
}

func TestInspectKeepsNothing(t *testing.T) {
	e := newEngine(t, Config{})
	wasm := guestFile(t, "echo")
	if _, err := e.Inspect(t.Context(), wasm, nil, ""); err != nil {
		t.Fatal(err)
	}
	if len(e.modules) != 0 {
		t.Errorf("%d modules are kept", len(e.modules))
	}
	m := load(t, e, wasm)
	if _, err := e.Inspect(t.Context(), wasm, nil, ""); err != nil {
		t.Fatal(err)
	}
	if ready, ok := e.Module(m.Digest()); !ok || ready != m {
		t.Error("inspecting a loaded module unloads it")
	}
}

func TestDropWhileItRuns(t *testing.T) {
	e := newEngine(t, Config{CacheDir: t.TempDir()})
	m := load(t, e, guestFile(t, "conformance-wat"))
	running, dropped := make(chan struct{}), make(chan struct{})
	host := &fakeHost{checkpoint: func(context.Context, []byte) error {
		close(running)
		<-dropped
		return nil
	}}
	ended := make(chan Outcome)
	go func() { ended <- m.Run(t.Context(), Attempt{Params: []byte("checkpoint still here")}, host) }()
	<-running
	e.Drop(m.Digest())
	e.Drop(m.Digest())
	if _, ok := e.Module(m.Digest()); ok {
		t.Error("ready after it was dropped")
	}
	close(dropped)
	if out := <-ended; string(out.Result) != "still here" {
		t.Errorf("the run that was under way: %+v", out)
	}
	if out := m.Run(t.Context(), Attempt{}, &fakeHost{}); out.Kind != Killed || !errors.Is(out.Cause, ErrClosed) {
		t.Errorf("a run after it: %+v", out)
	}
	if again := load(t, e, guestFile(t, "conformance-wat")); again == m {
		t.Error("a dropped module came back")
	}
}

func TestCloseKillsAndWaits(t *testing.T) {
	e, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	m := load(t, e, guestFile(t, "conformance-wat"))
	beaten := make(chan struct{}, 1)
	host := &fakeHost{}
	ended := make(chan Outcome, 1)
	go func() {
		ended <- m.Run(t.Context(), Attempt{Params: []byte("checkpoint x")}, checkpointHost{host, func(ctx context.Context) error {
			beaten <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}})
	}()
	<-beaten
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case out := <-ended:
		if out.Kind != Killed || !errors.Is(out.Cause, ErrClosed) {
			t.Errorf("got %+v", out)
		}
	case <-time.After(time.Minute):
		t.Fatal("Close did not end the run")
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error("second Close:", err)
	}
	wasm := guestFile(t, "echo")
	if _, err := e.Load(t.Context(), Digest(wasm), wasm); !errors.Is(err, ErrClosed) {
		t.Errorf("Load after Close: %v", err)
	}
	if _, err := e.Inspect(t.Context(), wasm, nil, ""); !errors.Is(err, ErrClosed) {
		t.Errorf("Inspect after Close: %v", err)
	}
	e.Drop(Digest(wasm))
}

type checkpointHost struct {
	*fakeHost
	f func(context.Context) error
}

func (h checkpointHost) Checkpoint(ctx context.Context, _ []byte) error { return h.f(ctx) }

func TestCloseGivesUpWithItsContext(t *testing.T) {
	e, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	m := load(t, e, guestFile(t, "conformance-wat"))
	inHost, leave := make(chan struct{}), make(chan struct{})
	ended := make(chan Outcome, 1)
	go func() {
		ended <- m.Run(t.Context(), Attempt{Params: []byte("checkpoint x")}, checkpointHost{&fakeHost{}, func(ctx context.Context) error {
			close(inHost)
			<-leave // a host that does not keep its promise
			<-ctx.Done()
			return nil
		}})
	}()
	<-inHost
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(leave)
	if out := <-ended; out.Kind != Killed {
		t.Errorf("got %+v", out)
	}
}

func TestManyRunsAtOnce(t *testing.T) {
	e := newEngine(t, Config{})
	m := load(t, e, guestFile(t, "echo"))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			params := []byte{byte('a' + i)}
			for range 50 {
				if out := m.Run(t.Context(), Attempt{Params: params}, &fakeHost{}); string(out.Result) != string(params) {
					t.Errorf("got %+v", out)
				}
			}
		})
	}
	wg.Wait()
	if used := usedByGuests(e); used != 0 || e.active != 0 {
		t.Errorf("%d bytes, %d active", used, e.active)
	}
}

func TestConfigValidate(t *testing.T) {
	for _, c := range []Config{{MaxModuleBytes: -1}, {CompileWorkers: -1}, {MemoryBudget: -1}, {CacheBytes: -1}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

// TestCloseDuringACompilation: a compilation cannot be interrupted; a process that is told to stop during one still stops
// cleanly.
func TestCloseDuringACompilation(t *testing.T) {
	e, err := New(Config{CacheDir: t.TempDir(), CompileWorkers: 1})
	if err != nil {
		t.Fatal(err)
	}
	e.active++ // as acquire does, before it starts the compilation
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Close(ctx); err != nil {
		t.Errorf("Close during a compilation: %v", err)
	}
	e.end()
}
