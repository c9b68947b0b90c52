package plugintest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/taskrt/taskrt/abi"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/fetch"
	"github.com/taskrt/taskrt/runtime/grants"
	"github.com/taskrt/taskrt/runtime/guestspans"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/task/blobs"
)

// Host is what an attempt is given, and what it did. The test sets the fields up to the blank line, Run sets the others.
// The zero value is a first attempt without params, within the limits of the manifest. A Run with the same Host again is the
// task's next attempt: it sees a higher Info.Attempt, and the last checkpoint, unless the attempt before succeeded.
type Host struct {
	Params     []byte              // a single reference to a blob is replaced by its content, as in a submit
	Checkpoint []byte              // the checkpoint that was saved last; nil: none
	Config     []byte              // nil: none
	Info       abi.TaskInfo        // zero fields are filled in; Attempt and Token rise with every Run, Failures with failed ones
	Limits     Limits              // limits other than the manifest's
	Signals    Signals             // told to the guest from the beginning
	OnBeat     func(n int) Signals // what heartbeat number n = 1, 2, … of this Host says; it stays until the attempt ends
	OnSave     func([]byte) error  // refuses a checkpoint with one of the SDK's errors (sdk.ErrUnavailable, …); nil: accepts
	KillAtFuel int64               // kills an attempt that has used so many units; 0: none
	Blobs      map[string][]byte   // by name; AddBlob adds one
	Secrets    map[string][]byte   // secrets that the guest is granted (capability secrets); one that is nil is granted, but not there
	HTTP       http.Handler        // answers the guest's requests (capability http); nil: no request is granted
	Tasks      []string            // behaviors of which the guest may submit tasks (capability tasks)
	Partitions []Partition         // of the operation that the task is part of, for a completion; nil: the task is part of none

	Beats     []Beat
	Saved     [][]byte // checkpoints
	Notes     []string // progress notes, as beats told them
	Logs      []Log
	Children  []Child // submitted by the attempts that succeeded
	Spans     []Span  // of all attempts, in the order of their beginning
	BlobBytes int64   // bytes read of blobs; blobs that are read as params do not count
}

// Limits replace the manifest's limits; a zero field leaves the manifest's.
type Limits struct {
	Memory, Fuel, Result, Checkpoint, Log int64 // bytes; units of fuel
	RunTimeout, HeartbeatTimeout          time.Duration
}

// Beat is one heartbeat.
type Beat = sdktest.Beat

// Log is one line of the log.
type Log = sdktest.Log

// Partition is one partition of an operation, as the host tells it to a guest.
type Partition = sdktest.Partition

// Child is a task that an attempt has submitted. The Host checks less of it than a cluster.
type Child = sdktest.Child

// Span is a span of the plugin's own.
type Span = sdktest.Span

// PartitionError is why a partition failed.
type PartitionError = sdktest.PartitionError

// Signals are told to a guest: a set of the bits below.
type Signals = sdk.Signals

// These are the signals. After Cancel and LeaseLost the guest is killed when the behavior's cancel_grace is over.
const (
	Cancel    = sdk.SignalCancel
	LeaseLost = sdk.SignalLeaseLost
	Draining  = sdk.SignalDraining
	// Kill is not told to the guest: the attempt ends inside the heartbeat, as when its worker dies.
	Kill Signals = 1 << 30
)

// AtBeat makes a Host.OnBeat that gives s at heartbeat number n of the Host, counted from 1 over all its attempts.
func AtBeat(n int, s Signals) func(int) Signals {
	return func(k int) Signals {
		if k == n {
			return s
		}
		return 0
	}
}

// AddBlob gives the host a blob and returns its name, for {"$blob": name}.
func (h *Host) AddBlob(content []byte) (name string) {
	if h.Blobs == nil {
		h.Blobs = map[string][]byte{}
	}
	name = sdktest.BlobName(content)
	h.Blobs[name] = content
	return name
}

// wholeParams returns the params as the guest will read them.
func (h *Host) wholeParams() ([]byte, error) {
	for _, digest := range blobs.Named(h.Params) {
		if _, ok := h.Blobs[abi.BlobPrefix+digest]; !ok {
			return nil, fmt.Errorf("params name the blob %s%s, which the Host does not have", abi.BlobPrefix, digest)
		}
	}
	if digest, ok := blobs.Reference(h.Params); ok {
		return h.Blobs[abi.BlobPrefix+digest], nil
	}
	return h.Params, nil
}

// secret is Attempt.Secrets: a secret that the Host does not have is not granted.
func (h *Host) secret(name string) ([]byte, error) {
	value, granted := h.Secrets[name]
	switch {
	case !granted:
		return nil, grants.ErrDenied
	case value == nil:
		return nil, grants.ErrNotFound
	}
	return value, nil
}

// checkChild is runtime.Config.CheckChild.
func checkChild(doc []byte) (behavior string, err error) {
	child, err := sdktest.ParseChild(doc)
	return child.Behavior, err
}

// tasks is Attempt.Tasks.
func (h *Host) tasks(behavior string) bool { return slices.Contains(h.Tasks, behavior) }

// fetch is Attempt.HTTP: it uses no network, and no rules of an operator.
func (h *Host) fetch(ctx context.Context, q *fetch.Request) (*fetch.Response, error) {
	if h.HTTP == nil {
		return nil, fetch.ErrDenied
	}
	r, err := http.NewRequestWithContext(ctx, q.Method, q.URL, bytes.NewReader(q.Body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fetch.ErrInvalid, err)
	}
	for name, value := range q.Header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.HTTP.ServeHTTP(w, r)
	return &fetch.Response{Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}, nil
}

// attempt makes the next attempt.
func (h *Host) attempt(s *manifest.Settings, version string, params []byte) (runtime.Attempt, error) {
	h.Info.Attempt++
	h.Info.Token++
	info := h.Info
	if info.ID == "" {
		info.ID = "test-task"
	}
	if info.Version == "" {
		info.Version = version
	}
	a, err := runtime.LocalAttempt(s, params, info)
	a.Checkpoint, a.Config = h.Checkpoint, h.Config
	a.Secrets, a.HTTP, a.Tasks = h.secret, h.fetch, h.tasks
	a.Spans = &guestspans.Notes{To: &h.Spans}
	replace(&a.MemoryBytes, h.Limits.Memory)
	replace(&a.Fuel, h.Limits.Fuel)
	replace(&a.ResultBytes, h.Limits.Result)
	replace(&a.CheckpointBytes, h.Limits.Checkpoint)
	replace(&a.LogBytes, h.Limits.Log)
	replace(&a.RunTimeout, h.Limits.RunTimeout)
	replace(&a.HeartbeatTimeout, h.Limits.HeartbeatTimeout)
	if k := h.KillAtFuel; k > 0 && (a.Fuel == 0 || k < a.Fuel) {
		a.Fuel = k
	}
	return a, err
}

func replace[T int64 | time.Duration](limit *T, by T) {
	if by != 0 {
		*limit = by
	}
}

// errKilled is the cause of a kill by the test.
var errKilled = errors.New("killed by the test")

// killedAtFuel turns the end of an attempt's fuel into a kill: the fuel went as far as the test wanted.
func killedAtFuel(o runtime.Outcome) runtime.Outcome {
	if o.Code == runtime.CodeOutOfFuel && o.Class == runtime.ClassExhausted {
		return runtime.Outcome{
			Kind: Killed, Cause: errKilled, Started: o.Started, Ended: o.Ended, PeakMemory: o.PeakMemory, Fuel: o.Fuel, Stderr: o.Stderr,
		}
	}
	return o
}

// ended keeps what the next attempt needs to know.
func (h *Host) ended(o runtime.Outcome) Result {
	switch o.Kind {
	case Succeeded:
		h.Checkpoint, h.Info.Failures = nil, 0
		for _, doc := range o.Children {
			child, err := sdktest.ParseChild(doc)
			if err != nil { // it was checked when it was submitted
				panic(err)
			}
			h.Children = append(h.Children, child)
		}
	case Failed:
		h.Info.Failures++
	}
	return Result{o}
}

// attempt is the world of one attempt. It is a runtime.Host; all of it happens on the goroutine of Run.
type attempt struct {
	*Host
	kill  context.CancelCauseFunc
	grace time.Duration
	timer *time.Timer // of the grace
	told  Signals
}

var _ runtime.Host = (*attempt)(nil)

// tell adds signals to what the guest is told.
func (a *attempt) tell(s Signals) {
	a.told |= s &^ Kill
	if a.timer != nil || !a.told.Cancelled() {
		return
	}
	cause := runtime.ErrKilledCancel
	if a.told.LeaseLost() {
		cause = runtime.ErrKilledLease
	}
	a.timer = time.AfterFunc(a.grace, func() { a.kill(cause) })
}

func (a *attempt) end() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

// Beat implements runtime.Host.
func (a *attempt) Beat(done, total int64, note []byte) abi.Signals {
	a.Beats = append(a.Beats, Beat{Done: done, Total: total})
	if note != nil && (len(a.Notes) == 0 || a.Notes[len(a.Notes)-1] != string(note)) {
		a.Notes = append(a.Notes, string(note))
	}
	if a.OnBeat != nil {
		s := a.OnBeat(len(a.Beats))
		if s&Kill != 0 {
			a.kill(errKilled)
			panic(context.Canceled) // unwinds the guest here, not somewhere in the slice of code that follows
		}
		a.tell(s)
	}
	return a.Signals()
}

// Signals implements runtime.Host.
func (a *attempt) Signals() abi.Signals { return abi.Signals(a.told) }

// Checkpoint implements runtime.Host.
func (a *attempt) Checkpoint(_ context.Context, data []byte) error {
	if data == nil {
		data = []byte{}
	}
	if a.OnSave != nil {
		if err := a.OnSave(data); err != nil {
			return asHost(err)
		}
	}
	a.Saved = append(a.Saved, data)
	a.Host.Checkpoint = data
	return nil
}

// asHost turns an error of the SDK into the error of a host from which the SDK makes it.
func asHost(err error) error {
	switch {
	case errors.Is(err, sdk.ErrLeaseLost):
		return runtime.ErrLeaseLost
	case errors.Is(err, sdk.ErrDenied):
		return runtime.ErrDenied
	}
	return err // EAGAIN
}

// Call implements runtime.Host.
func (a *attempt) Call(_ context.Context, op abi.Op, payload []byte) ([]byte, error) {
	if op == abi.OpPartitions && a.Partitions != nil {
		q, err := runtime.ParsePartitions(payload)
		if err != nil {
			return nil, err
		}
		return sdktest.Page(a.Partitions, q.From)
	}
	answer, err := runtime.AnswerBlob(op, payload, a.blob)
	if op == abi.OpBlobRead {
		a.BlobBytes += int64(len(answer))
	}
	return answer, err
}

func (a *attempt) blob(digest string) *runtime.Source {
	content, ok := a.Blobs[abi.BlobPrefix+digest]
	if !ok {
		return nil
	}
	return &runtime.Source{ReaderAt: bytes.NewReader(content), Size: int64(len(content))}
}

// Log implements runtime.Host.
func (a *attempt) Log(level int, msg []byte) {
	a.Logs = append(a.Logs, Log{Level: sdk.Level(level), Message: string(msg)})
}
