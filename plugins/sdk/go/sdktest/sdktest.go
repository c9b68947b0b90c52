// Package sdktest runs a plugin's behaviors natively, against a host in memory. Unit tests of plugins need no wasm and no
// cluster, and a debugger works.
//
//	func TestGreet(t *testing.T) {
//		r := sdktest.Run(t, "greet", &sdktest.Host{Params: []byte(`{"name":"Ada"}`)})
//		if string(r.Result) != `"hello Ada"` {
//			t.Fatal(r)
//		}
//	}
//
// A Host also grants capabilities: secrets, an http.Handler that answers requests, and children that are submitted. In a test
// binary that links their packages, attempts take turns: an attempt must not wait for another attempt, and must not call Run.
//
// sdktest cannot show the sandbox: memory limits, timeouts, traps, fresh memory per attempt. `taskrt run FILE.wasm`
// runs the real module.
package sdktest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/taskrt/taskrt/abi"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/internal/host"
	"github.com/taskrt/taskrt/runtime/guestspans"
)

// Host is what an attempt is given, and what it did. Run sets the fields from Beats on, the test sets the others.
// The zero value is a first attempt without params. Run again with the same Host to simulate the next attempt: it sees
// the last saved checkpoint.
type Host struct {
	Params     []byte
	Checkpoint []byte // the checkpoint that was saved last; nil: none
	Config     []byte
	Info       abi.TaskInfo            // ID, Behavior, Attempt and the like are filled in if zero; Attempt rises with every Run
	OnBeat     func(n int) sdk.Signals // the answer to Heartbeat number n = 1, 2, … and to Signals after it; nil: nothing
	OnSave     func(data []byte) error // refuses a checkpoint with one of the SDK's errors; nil: accepts
	Now        time.Time               // the host's clock, which stands still; zero: 2000-01-01 UTC
	BeatTakes  time.Duration           // how far a heartbeat moves the clock
	Timeout    time.Duration           // from Now to the deadline; zero: an hour
	MaxResult  int                     // bytes; zero: 16 MiB, as the host's default
	Blobs      map[string][]byte       // by name, BlobName(content); nil: there are none
	Partitions []Partition             // of the operation that the task is part of, for a completion; nil: the task is part of none

	Secrets   map[string][]byte         // secrets that the behavior is granted (package secrets); a nil value is a secret that is granted, but not there
	HTTP      http.Handler              // answers requests (package sdkhttp); nil: no request is granted
	Tasks     []string                  // behaviors of which it may submit children (package tasks)
	OnSecret  func(name string) error   // refuses a secret with one of the SDK's errors; nil: refuses none
	OnRequest func(*http.Request) error // refuses a request in the same way
	OnSubmit  func(Child) error         // refuses a child in the same way

	Beats    []Beat
	Saved    [][]byte
	Notes    []string
	Logs     []Log
	Children []Child // the children of an attempt that succeeded; other attempts have none
	Spans    []Span  // of all attempts, in the order of their beginning
}

// Span is a span of the plugin's own.
type Span = guestspans.Noted

// Beat is one heartbeat.
type Beat struct{ Done, Total int64 }

// Log is one line of the log.
type Log struct {
	Level   sdk.Level
	Message string
}

// Partition is one partition of an operation, as the host tells it to a guest (abi/README.md, op.partitions).
type Partition struct {
	Index        int64           `json:"index"` // filled in
	Partition    string          `json:"partition"`
	Status       string          `json:"status"`
	Result       json.RawMessage `json:"result,omitempty"`
	ResultBase64 []byte          `json:"result_base64,omitempty"`
	Blob         string          `json:"blob,omitempty"`
	Error        *PartitionError `json:"error,omitempty"`
}

// PartitionError is why a partition failed.
type PartitionError struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

// BlobName returns the name of a blob: "sha256:" and its digest.
func BlobName(content []byte) string {
	digest := sha256.Sum256(content)
	return abi.BlobPrefix + hex.EncodeToString(digest[:])
}

// Result is how an attempt ended.
type Result struct {
	Outcome abi.Outcome
	Result  []byte // nil: none was set
	Code    string // of a failure; "": HANDLER_ERROR
	Message string
	Details json.RawMessage
	Next    sdk.Time // of Yield, RetryAt, RunAgain; 0: none
}

func (r Result) String() string {
	names := map[abi.Outcome]string{abi.OutcomeOK: "ok", abi.OutcomeRetryable: "retryable", abi.OutcomePermanent: "permanent",
		abi.OutcomeCancelled: "cancelled", abi.OutcomeYield: "yield"}
	return fmt.Sprintf("%s, result %q, code %q, message %q, details %q, next %d", names[r.Outcome], r.Result, r.Code, r.Message, r.Details, r.Next)
}

// TB is the part of testing.TB that Run needs.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Run runs one attempt of a registered behavior.
func Run(t TB, behavior string, h *Host) Result {
	t.Helper()
	index, ok := host.Installed.Index(behavior)
	if !ok {
		t.Fatalf("sdktest: no behavior %q is registered", behavior)
	}
	if h.Info.Behavior == "" {
		h.Info.Behavior = behavior
	}
	return RunIndex(t, index, h)
}

// RunIndex runs one attempt of the behavior with this place in the manifest.
func RunIndex(t TB, index int32, h *Host) Result {
	t.Helper()
	a := newAttempt(h)
	r := Result{Outcome: a.run(index)}
	h.Now = a.now
	if r.Outcome == abi.OutcomeOK {
		h.Children = append(h.Children, a.children...)
	}
	if out, ok := a.out[abi.Result]; ok {
		r.Result = out
	}
	if at, ok := a.out[abi.NextTime]; ok {
		ms, err := strconv.ParseInt(string(at), 10, 64)
		if err != nil {
			t.Fatalf("sdktest: the next time is no number: %v", err)
		}
		r.Next = sdk.Time(ms)
	}
	if detail, ok := a.out[abi.ErrorDetail]; ok {
		var e struct {
			Code    string          `json:"code"`
			Message string          `json:"message"`
			Details json.RawMessage `json:"details"`
		}
		if err := json.Unmarshal(detail, &e); err != nil {
			t.Fatalf("sdktest: the error detail is no JSON: %v", err)
		}
		r.Code, r.Message, r.Details = e.Code, e.Message, e.Details
	}
	return r
}

// run runs the attempt. It ends the attempt's turn also where the behavior ends the test.
func (a *attempt) run(index int32) abi.Outcome {
	defer host.Enter(a)()
	return host.Installed.Run(a, index)
}

// Manifest returns the manifest of the registered behaviors.
func Manifest() []byte {
	a := newAttempt(&Host{})
	host.Installed.Describe(a)
	return a.out[abi.Manifest]
}

// attempt is host.Host for one run.
type attempt struct {
	*Host
	in      map[abi.Channel][]byte
	out     map[abi.Channel][]byte
	signals sdk.Signals
	start   time.Time
	now     time.Time
	random  *rand.ChaCha8
	spans   guestspans.Notes
	began   guestspans.Open
	granted
}

var (
	_ host.Host         = (*attempt)(nil)
	_ host.Capabilities = (*attempt)(nil)
)

func newAttempt(h *Host) *attempt {
	if h.Now.IsZero() {
		h.Now = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if h.Timeout == 0 {
		h.Timeout = time.Hour
	}
	if h.MaxResult == 0 {
		h.MaxResult = 16 << 20
	}
	h.Info.Attempt++
	info := h.Info
	if info.Namespace == "" {
		info.Namespace = "default"
	}
	if info.ID == "" {
		info.ID = "test-task"
	}
	text, err := json.Marshal(info)
	if err != nil {
		panic(err) // cannot happen: a struct of strings and numbers always marshals
	}
	a := &attempt{Host: h, spans: guestspans.Notes{To: &h.Spans}, out: map[abi.Channel][]byte{}, start: h.Now, now: h.Now,
		random: rand.NewChaCha8([32]byte{byte(info.Attempt)})}
	a.in = map[abi.Channel][]byte{abi.Params: h.Params, abi.Info: text}
	if h.Checkpoint != nil {
		a.in[abi.Checkpoint] = h.Checkpoint
	}
	if h.Config != nil {
		a.in[abi.Config] = h.Config
	}
	return a
}
