package plugintest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/taskrt/taskrt/plugins/plugintest"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func load(t plugintest.TB, name string) *plugintest.Module {
	return plugintest.Load(t, filepath.Join("../../testdata/wasm", name+".wasm"))
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("../../testdata/wasm", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// judge is a test that may fail: failed is why it did.
type judge struct {
	testing.TB
	failed string
}

type stopped struct{}

func (j *judge) Fatalf(format string, args ...any) {
	j.failed = fmt.Sprintf(format, args...)
	panic(stopped{})
}

// fails runs f, which must fail the test it is given with a message that has these words.
func fails(t *testing.T, words string, f func(t plugintest.TB)) {
	t.Helper()
	j := &judge{TB: t}
	func() {
		defer func() {
			if v := recover(); v != nil && v != (stopped{}) {
				panic(v)
			}
		}()
		f(j)
	}()
	if !strings.Contains(j.failed, words) || j.failed == "" {
		t.Errorf("failed with %q, want %q", j.failed, words)
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	m := load(t, "echo")
	r := m.Run(t, "echo", &plugintest.Host{Params: []byte(`{"a":1,"b":[2.0]}`)})
	r.WantResult(t, ` {"b":[2.0], "a":1}`)
	r.WantKind(t, plugintest.Succeeded)
	var v struct{ A int }
	if r.Decode(t, &v); v.A != 1 || r.Fuel == 0 || r.PeakMemory == 0 {
		t.Errorf("%+v, %v", v, r)
	}
	fails(t, `succeeded with {"a":1`, func(t plugintest.TB) { r.WantResult(t, `{"a":1,"b":[2]}`) })
	fails(t, "want the error busy", func(t plugintest.TB) { r.WantError(t, "busy", true) })
	fails(t, "want failed", func(t plugintest.TB) { r.WantKind(t, plugintest.Failed) })
	fails(t, "the result", func(t plugintest.TB) { r.Decode(t, new(int)) })

	// The same module, the same params: the same fuel.
	if again := m.Run(t, "echo", &plugintest.Host{Params: []byte(`{"a":1,"b":[2.0]}`)}); again.Fuel != r.Fuel {
		t.Errorf("fuel %d, and then %d", r.Fuel, again.Fuel)
	}
	m.Run(t, "echo", &plugintest.Host{Params: []byte("a b")}).WantResult(t, "a b")
}

func TestErrorsOfTheHost(t *testing.T) {
	t.Parallel()
	r := load(t, "trap").Run(t, "trap", &plugintest.Host{})
	r.WantError(t, "TRAP", true)
	fails(t, "failed with TRAP: unreachable (retryable)", func(t plugintest.TB) { r.WantError(t, "TRAP", false) })
	spin := load(t, "spin")
	h := &plugintest.Host{Limits: plugintest.Limits{Fuel: 1000}}
	spin.Run(t, "spin", h).WantError(t, "OUT_OF_FUEL", false)
	if h.Info.Attempt != 1 || h.Info.Failures != 1 {
		t.Errorf("%+v", h.Info)
	}
	r = spin.Run(t, "spin", &plugintest.Host{Limits: plugintest.Limits{Fuel: 1000}, KillAtFuel: 5000})
	r.WantError(t, "OUT_OF_FUEL", false)
	r = spin.Run(t, "spin", &plugintest.Host{Limits: plugintest.Limits{Fuel: 5000}, KillAtFuel: 1000})
	if r.WantKind(t, plugintest.Killed); r.Fuel == 0 || r.Fuel > 1000 {
		t.Error(r)
	}
	spin.Run(t, "spin", &plugintest.Host{Limits: plugintest.Limits{RunTimeout: 1}}).WantError(t, "TIMEOUT", true)
	r = load(t, "echo").Run(t, "echo", &plugintest.Host{Limits: plugintest.Limits{Memory: 64 << 10}})
	r.WantError(t, "OUT_OF_MEMORY", false) // it begins with two pages
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	fails(t, "no such file", func(t plugintest.TB) { plugintest.Load(t, "nosuch.wasm") })
	fails(t, "missing_export", func(t plugintest.TB) { load(t, "no-export") })
	fails(t, "behaviors[0].colour", func(tb plugintest.TB) {
		plugintest.New(tb, plugintest.Config{Wasm: read(t, "echo"), Manifest: []byte(`{"schema":1,"behaviors":[{"name":"echo","colour":"red"}]}`)})
	})
	m := load(t, "steps")
	fails(t, "no behavior nosuch, but steps, steps-stuck", func(t plugintest.TB) { m.Run(t, "nosuch", &plugintest.Host{}) })
	fails(t, "a submit would be refused: params", func(t plugintest.TB) { m.Run(t, "steps", &plugintest.Host{Params: []byte("7")}) })
	if unknown, ok := errors.AsType[*plugintest.UnknownBehaviorError](m.Check("nosuch", nil)); !ok || len(unknown.Known) != 2 {
		t.Error(unknown)
	}
	if m.Check("steps", nil) != nil || m.Check("steps", []byte("7")) == nil {
		t.Error("params_schema takes an object or null")
	}
	if !strings.Contains(string(m.Manifest()), `"name":"steps-stuck"`) {
		t.Errorf("%s", m.Manifest())
	}
	name := new(plugintest.Host).AddBlob(nil)
	fails(t, "params name the blob "+name, func(t plugintest.TB) {
		m.Run(t, "steps", &plugintest.Host{Params: fmt.Appendf(nil, `{"file":{"$blob":%q}}`, name)})
	})
}

// TestNextAttempts: one Host is one task.
func TestNextAttempts(t *testing.T) {
	t.Parallel()
	m := load(t, "steps")
	h := &plugintest.Host{OnBeat: plugintest.AtBeat(3, plugintest.Kill)}
	m.Run(t, "steps", h).WantKind(t, plugintest.Killed)
	if string(h.Checkpoint) != "2" || len(h.Beats) != 3 || h.Beats[2] != (plugintest.Beat{Done: 2, Total: 5}) || len(h.Logs) != 2 {
		t.Fatalf("%+v", h)
	}
	h.OnBeat = plugintest.AtBeat(4, plugintest.Draining)
	m.Run(t, "steps", h).WantKind(t, plugintest.Yielded)
	h.OnBeat = plugintest.AtBeat(6, plugintest.Cancel)
	m.Run(t, "steps", h).WantKind(t, plugintest.Cancelled)
	h.Signals = plugintest.LeaseLost
	m.Run(t, "steps", h).WantKind(t, plugintest.Cancelled)
	h.Signals = 0
	m.Run(t, "steps", h).WantResult(t, `{"from":3}`)
	if h.Checkpoint != nil || h.Info.Attempt != 5 || h.Info.Failures != 0 || len(h.Saved) != 5 {
		t.Errorf("%+v", h)
	}
	m.Run(t, "steps", &plugintest.Host{Checkpoint: []byte("5")}).WantError(t, "HANDLER_ERROR", false) // result_schema
}

// TestGrace: who does not listen is killed when the grace is over, as in a cluster.
func TestGrace(t *testing.T) {
	t.Parallel()
	m := load(t, "steps")
	h := &plugintest.Host{OnBeat: plugintest.AtBeat(3, plugintest.Cancel)}
	m.Run(t, "steps-stuck", h).WantKind(t, plugintest.Cancelled) // it listens
	spin := plugintest.New(t, plugintest.Config{Wasm: read(t, "spin"), Manifest: []byte(`{"schema":1,"behaviors":[{"name":"deaf","cancel_grace":"1ms"}]}`)})
	r := spin.Run(t, "deaf", &plugintest.Host{Signals: plugintest.Cancel})
	if r.WantKind(t, plugintest.Cancelled); r.Message == "" {
		t.Error(r)
	}
	if r = spin.Run(t, "deaf", &plugintest.Host{Signals: plugintest.LeaseLost}); r.Kind != plugintest.Killed {
		t.Error(r)
	}
}

// TestCheckpointsRefused: what cannot be saved is not there in the next attempt.
func TestCheckpointsRefused(t *testing.T) {
	t.Parallel()
	m := load(t, "steps")
	for _, err := range []error{sdk.ErrUnavailable, sdk.ErrLeaseLost, sdk.ErrDenied} {
		h := &plugintest.Host{OnBeat: plugintest.AtBeat(4, plugintest.Kill), OnSave: func(data []byte) error {
			if data[0] == '3' {
				return err
			}
			return nil
		}}
		m.Run(t, "steps", h).WantKind(t, plugintest.Killed)
		if string(h.Checkpoint) != "2" {
			t.Errorf("%v: %q", err, h.Checkpoint)
		}
	}
}

func TestCheckResume(t *testing.T) {
	t.Parallel()
	// echo begins again, and comes to the same.
	load(t, "echo").CheckResume(t, "echo", &plugintest.Host{Params: []byte(`[1,2]`)}, 10)
	// steps tells where it began: with a kill after a checkpoint that is another result.
	m := load(t, "steps")
	h := &plugintest.Host{}
	fails(t, `{"from":1}`, func(t plugintest.TB) { m.CheckResume(t, "steps", h, 20) })
	if h.Beats != nil || h.Info.Attempt != 0 {
		t.Errorf("the Host was changed: %+v", h)
	}
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	m := load(t, "echo")
	h := &plugintest.Host{}
	h.Params = fmt.Appendf(nil, `{"$blob":%q}`, h.AddBlob([]byte("the content")))
	m.Run(t, "echo", h).WantResult(t, "the content")
	h = &plugintest.Host{}
	content := []byte(strings.Repeat("x", 100_000))
	h.Params = []byte(h.AddBlob(content))
	if r := load(t, "blobsum").Run(t, "blobsum", h); r.Kind != plugintest.Succeeded || h.BlobBytes != int64(len(content)) {
		t.Errorf("%v, %d bytes", r, h.BlobBytes)
	}
}

func TestPartitions(t *testing.T) {
	t.Parallel()
	m := load(t, "conformance-wat")
	h := &plugintest.Host{}
	page := func(from int) []byte {
		h.Params = fmt.Appendf(nil, `partitions {"from":%d}`, from)
		return m.Run(t, "conformance-wat", h).Result
	}
	h.Params = []byte("partitions {}")
	m.Run(t, "conformance-wat", h).WantError(t, "errno_6", false) // EDENIED: it is part of no operation
	for i := range 8 {
		h.Partitions = append(h.Partitions, plugintest.Partition{Partition: fmt.Sprint(i), Status: "SUCCESS", Result: json.RawMessage("1")})
	}
	if got := page(6); string(got) != `{"partitions":[{"index":6,"partition":"6","status":"SUCCESS","result":1},{"index":7,"partition":"7","status":"SUCCESS","result":1}],"next":-1}` {
		t.Errorf("%s", got)
	}
	if got := page(0); !strings.HasSuffix(string(got), `"partition":"2","status":"SUCCESS","result":1}],"next":3}`) {
		t.Errorf("%s", got)
	}
	if got := page(5); !strings.HasSuffix(string(got), `"next":-1}`) {
		t.Errorf("%s", got)
	}
	if got := page(9); string(got) != `{"partitions":[],"next":-1}` {
		t.Errorf("%s", got)
	}
}

func TestBuildGo(t *testing.T) {
	if testing.Short() {
		t.Skip("builds Go's library for wasm")
	}
	t.Parallel()
	file := plugintest.BuildGo(t, "../examples/wordcount")
	if wasm, err := os.ReadFile(file); err != nil || len(wasm) < 1<<20 || string(wasm[:4]) != "\x00asm" {
		t.Errorf("%d bytes, %v", len(wasm), err)
	}
	fails(t, "go build in", func(tb plugintest.TB) { plugintest.BuildGo(tb, "../../testdata/wasm") })
}

var _ plugintest.TB = testing.TB(nil)

// TestSecrets: what the Host has is granted, nothing else.
func TestSecrets(t *testing.T) {
	m := load(t, "secrets")
	h := &plugintest.Host{Params: []byte("=key"), Secrets: map[string][]byte{"key": []byte("correct-horse")}}
	r := m.Run(t, "secrets", h)
	r.WantKind(t, plugintest.Succeeded)
	if string(r.Result) != "correct-horse" || len(h.Logs) == 0 || h.Logs[0].Message != "got [secret key]" {
		t.Errorf("%v, logs %+v", r, h.Logs)
	}
	h.Params = []byte("=other")
	if r := m.Run(t, "secrets", h); len(r.Result) != 4 || int8(r.Result[0]) != -6 { // EDENIED
		t.Errorf("not granted: %v", r)
	}
}

// TestHTTP: a handler is the network.
func TestHTTP(t *testing.T) {
	m := load(t, "http")
	h := &plugintest.Host{
		Params: []byte(`{"method":"PUT","url":"https://api.example.com/x","headers":{"X-Y":"z"}}`),
		HTTP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL, r.Header.Get("X-Y"), body)
		}),
	}
	r := m.Run(t, "http", h)
	if !strings.HasPrefix(string(r.Result), "\xc9\x00\x00\x00") || !strings.HasSuffix(string(r.Result), "PUT https://api.example.com/x z ping") {
		t.Errorf("%v", r)
	}
	h.HTTP = nil
	if r := m.Run(t, "http", h); !strings.HasSuffix(string(r.Result), "not allowed") {
		t.Errorf("%v", r)
	}
}

// TestTasks: what the Host names may be submitted, and is kept of the attempts that succeed.
func TestTasks(t *testing.T) {
	m := load(t, "submits")
	h := &plugintest.Host{Params: []byte("!{\"behavior\":\"words\"}"), Tasks: []string{"words"}}
	m.Run(t, "submits", h)
	h.Params = []byte("={\"behavior\":\"words\",\"id\":\"one\"}\n{\"behavior\":\"mail\"}\n{\"behavior\":\"words\",\"params\":[1]}")
	r := m.Run(t, "submits", h)
	r.WantKind(t, plugintest.Succeeded)
	if len(h.Children) != 2 || h.Children[0].ID != "one" || string(h.Children[1].Params) != "[1]" || string(r.Result) != "\x00\x00\x00\x00\xfa\xff\xff\xff\x01\x00\x00\x00" {
		t.Errorf("%+v, %q", h.Children, r.Result)
	}
}

// TestSpans: a plugin's own spans are seen as the host takes them.
func TestSpans(t *testing.T) {
	h := &plugintest.Host{}
	load(t, "spans").Run(t, "spans", h).WantKind(t, plugintest.Succeeded)
	if got, want := fmt.Sprint(h.Spans), "[{work [rows=3] 0 false } {save [] 1 true } {check [] 1 true row 7 is bad}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
