package examples_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const modules = "../../testdata/wasm"

// race is set by the race detector, under which compiling a Go guest takes several times as long; package runtime has
// its own race tests, with small guests. One Go guest is enough here.
var race bool

func slow(t *testing.T) {
	t.Helper()
	if race {
		t.Skip("compiling a Go guest is slow under the race detector")
	}
}

// read returns a committed module.
func read(t *testing.T, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join(modules, name+".wasm"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("testdata/wasm/%s.wasm is missing: run plugins/examples/build.sh", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// load compiles a module on an engine of its own.
func load(t *testing.T, wasm []byte) *runtime.Module {
	t.Helper()
	engine, err := runtime.New(runtime.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	m, err := engine.Load(t.Context(), runtime.Digest(wasm), wasm)
	if err != nil {
		t.Fatal(err)
	}
	in, err := engine.Inspect(t.Context(), wasm, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", in.ManifestJSON)
	return m
}

// recorder is a runtime.Host that keeps what the guest did, and signals what onBeat says.
type recorder struct {
	mu          sync.Mutex
	signals     abi.Signals
	beats       []int64 // done
	total       int64
	checkpoints [][]byte
	onBeat      func(n int) abi.Signals
}

func (r *recorder) Beat(done, total int64, _ []byte) abi.Signals {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beats = append(r.beats, done)
	r.total = total
	if r.onBeat != nil {
		r.signals = r.onBeat(len(r.beats))
	}
	return r.signals
}

func (r *recorder) Signals() abi.Signals {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.signals
}

func (r *recorder) Call(context.Context, abi.Op, []byte) ([]byte, error) {
	return nil, runtime.ErrDenied
}

func (r *recorder) Checkpoint(_ context.Context, data []byte) error {
	r.checkpoints = append(r.checkpoints, data)
	return nil
}

func (r *recorder) Log(int, []byte) {}

func run(t *testing.T, m *runtime.Module, a runtime.Attempt, info abi.TaskInfo, h *recorder) runtime.Outcome {
	t.Helper()
	var err error
	if a.Info, err = json.Marshal(info); err != nil {
		t.Fatal(err)
	}
	return m.Run(t.Context(), a, h)
}

func TestSums(t *testing.T) {
	sums, err := os.Open(filepath.Join(modules, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	defer sums.Close()
	listed := map[string]string{}
	for s := bufio.NewScanner(sums); s.Scan(); {
		digest, name, _ := strings.Cut(s.Text(), "  ")
		listed[name] = digest
	}
	for _, name := range []string{"wordcount", "primes", "flaky", "word-count-op", "build-index", "validate-table"} {
		if got := runtime.Digest(read(t, name)); listed[name+".wasm"] != got {
			t.Errorf("%s.wasm is %s, SHA256SUMS says %q", name, got, listed[name+".wasm"])
		}
	}
}

func TestWordcount(t *testing.T) {
	slow(t)
	t.Parallel()
	m := load(t, read(t, "wordcount"))
	out := run(t, m, runtime.Attempt{Params: []byte(`{"text":"a b a"}`)}, abi.TaskInfo{}, &recorder{})
	if out.Kind != runtime.Succeeded || string(out.Result) != `{"words":{"a":2,"b":1},"total":3}` {
		t.Errorf("%+v", out)
	}
	out = run(t, m, runtime.Attempt{Params: []byte(`{"txt":"a"}`)}, abi.TaskInfo{}, &recorder{})
	if out.Kind != runtime.Failed || out.Code != "bad_params" || out.Retryable {
		t.Errorf("%+v", out)
	}
}

func TestFlaky(t *testing.T) {
	t.Parallel()
	m := load(t, read(t, "flaky"))
	for attempt := int64(1); attempt <= 2; attempt++ {
		out := run(t, m, runtime.Attempt{Params: []byte(`{"fail":2}`)}, abi.TaskInfo{Attempt: attempt}, &recorder{})
		if out.Kind != runtime.Failed || out.Code != "flaky" || !out.Retryable || out.Class != runtime.ClassGuest {
			t.Errorf("attempt %d: %+v", attempt, out)
		}
	}
	out := run(t, m, runtime.Attempt{Params: []byte(`{"fail":2}`)}, abi.TaskInfo{Attempt: 3}, &recorder{})
	if out.Kind != runtime.Succeeded || string(out.Result) != `{"attempts":3}` {
		t.Errorf("%+v", out)
	}
}

func TestPrimes(t *testing.T) {
	slow(t)
	t.Parallel()
	m := load(t, read(t, "primes"))
	const want = `{"count":348513}`
	params := []byte(`{"limit":5000000}`)

	h := &recorder{}
	out := run(t, m, runtime.Attempt{Params: params}, abi.TaskInfo{}, h)
	if out.Kind != runtime.Succeeded || string(out.Result) != want || len(h.beats) != 10 || h.total != 5_000_000 {
		t.Errorf("%+v after %d heartbeats", out, len(h.beats))
	}

	// Draining after four segments: a checkpoint, and the rest elsewhere.
	h = &recorder{onBeat: func(n int) abi.Signals {
		if n == 4 {
			return abi.SignalDraining
		}
		return 0
	}}
	out = run(t, m, runtime.Attempt{Params: params}, abi.TaskInfo{}, h)
	if out.Kind != runtime.Yielded || len(h.checkpoints) != 1 || out.NextTime != 0 {
		t.Fatalf("%+v with checkpoints %q", out, h.checkpoints)
	}
	rest := &recorder{}
	out = run(t, m, runtime.Attempt{Params: params, Checkpoint: h.checkpoints[0]}, abi.TaskInfo{}, rest)
	if out.Kind != runtime.Succeeded || string(out.Result) != want || len(rest.beats) != 6 {
		t.Errorf("%+v after %d more heartbeats", out, len(rest.beats))
	}

	h = &recorder{onBeat: func(int) abi.Signals { return abi.SignalCancel }}
	if out = run(t, m, runtime.Attempt{Params: params}, abi.TaskInfo{}, h); out.Kind != runtime.Cancelled || len(h.beats) != 1 {
		t.Errorf("%+v after %d heartbeats", out, len(h.beats))
	}
}
