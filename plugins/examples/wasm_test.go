package examples_test

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/taskrt/taskrt/plugins/plugintest"
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
func load(t *testing.T, name string) *plugintest.Module {
	t.Helper()
	return plugintest.New(t, plugintest.Config{Wasm: read(t, name)})
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
	m := load(t, "wordcount")
	m.Run(t, "wordcount", &plugintest.Host{Params: []byte(`{"text":"a b a"}`)}).WantResult(t, `{"words":{"a":2,"b":1},"total":3}`)
	m.Run(t, "wordcount", &plugintest.Host{Params: []byte(`{"txt":"a"}`)}).WantError(t, "bad_params", false)
}

func TestFlaky(t *testing.T) {
	t.Parallel()
	m := load(t, "flaky")
	task := &plugintest.Host{Params: []byte(`{"fail":2}`)}
	for range 2 {
		m.Run(t, "flaky", task).WantError(t, "flaky", true)
	}
	m.Run(t, "flaky", task).WantResult(t, `{"attempts":3}`)
}

func TestPrimes(t *testing.T) {
	slow(t)
	t.Parallel()
	m := load(t, "primes")
	const want = `{"count":348513}`
	task := func() *plugintest.Host { return &plugintest.Host{Params: []byte(`{"limit":5000000}`)} }

	h := task()
	m.Run(t, "primes", h).WantResult(t, want)
	if len(h.Beats) != 10 || h.Beats[9].Total != 5_000_000 {
		t.Errorf("%v", h.Beats)
	}

	// Draining after four segments: a checkpoint, and the rest elsewhere.
	h = task()
	h.OnBeat = plugintest.AtBeat(4, plugintest.Draining)
	if r := m.Run(t, "primes", h); r.Kind != plugintest.Yielded || len(h.Saved) != 1 || r.NextTime != 0 {
		t.Fatalf("%v with checkpoints %q", r, h.Saved)
	}
	if m.Run(t, "primes", h).WantResult(t, want); len(h.Beats) != 10 {
		t.Errorf("%d heartbeats in both attempts", len(h.Beats))
	}

	h = task()
	h.OnBeat = plugintest.AtBeat(1, plugintest.Cancel)
	if m.Run(t, "primes", h).WantKind(t, plugintest.Cancelled); len(h.Beats) != 1 {
		t.Errorf("%d heartbeats", len(h.Beats))
	}
}
