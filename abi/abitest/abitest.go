package abitest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
)

// These are the limits that the suite gives to the guest, unless a case says otherwise.
const (
	resultBytes = 4 << 10
	bigParams   = 2 << 20
	memoryBytes = 64 << 20
	runTimeout  = time.Minute
)

// Run checks a conformance guest.
func Run(t *testing.T, wasm []byte) {
	t.Helper()
	engine, err := runtime.New(runtime.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, err := engine.Inspect(t.Context(), wasm, nil, ""); err != nil {
		t.Fatalf("the guest is not accepted for upload: %v", err)
	}
	module, err := engine.Load(t.Context(), runtime.Digest(wasm), wasm)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			a := runtime.Attempt{
				Params: []byte(c.params), ResultBytes: resultBytes, MemoryBytes: memoryBytes, RunTimeout: runTimeout,
			}
			if c.attempt != nil {
				c.attempt(&a)
			}
			host := &recorder{script: c.host}
			c.check(t, module.Run(t.Context(), a, host), host)
		})
	}
	t.Run("random differs", func(t *testing.T) {
		a := runtime.Attempt{Params: []byte("random 32"), MemoryBytes: memoryBytes}
		one, two := module.Run(t.Context(), a, &recorder{}), module.Run(t.Context(), a, &recorder{})
		if len(one.Result) != 32 || bytes.Equal(one.Result, two.Result) {
			t.Errorf("two runs drew %x and %x", one.Result, two.Result)
		}
	})
}

// testCase is one line of the table in doc.go.
type testCase struct {
	name, params string
	attempt      func(*runtime.Attempt)
	host         script
	check        func(*testing.T, runtime.Outcome, *recorder)
}

// script is what the host answers. Fields that are zero make no special answers.
type script struct {
	signals    func(beats int) abi.Signals
	checkpoint error
	blobs      map[string]string // by name
	partitions string            // the answer to op.partitions
	call       error             // refuses every call
}

// recorder is a host that notes what the guest does.
type recorder struct {
	script
	beats [][2]int64
	notes []string
	saved []string
	logs  []string // "LEVEL TEXT"
	calls []string // "OP PAYLOAD", for blob.read "OP NAME OFFSET N"
}

var _ runtime.Host = (*recorder)(nil)

func (r *recorder) Beat(done, total int64, note []byte) abi.Signals {
	r.beats = append(r.beats, [2]int64{done, total})
	r.notes = append(r.notes, string(note))
	return r.Signals()
}

func (r *recorder) Signals() abi.Signals {
	if r.signals == nil {
		return 0
	}
	return r.signals(len(r.beats))
}

func (r *recorder) Checkpoint(_ context.Context, data []byte) error {
	if r.checkpoint != nil {
		return r.checkpoint
	}
	r.saved = append(r.saved, string(data))
	return nil
}

func (r *recorder) Call(_ context.Context, op abi.Op, payload []byte) ([]byte, error) {
	if op == abi.OpBlobRead {
		return r.readBlob(payload)
	}
	r.calls = append(r.calls, strconv.Itoa(int(op))+" "+string(payload))
	if r.call != nil {
		return nil, r.call
	}
	if op == abi.OpPartitions {
		return []byte(r.partitions), nil
	}
	blob, ok := r.blobs[string(payload)]
	if !ok {
		return nil, runtime.ErrNotFound
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(len(blob))), nil
}

func (r *recorder) readBlob(payload []byte) ([]byte, error) {
	q, err := runtime.ParseBlobRead(payload)
	if err != nil {
		return nil, err
	}
	name := abi.BlobPrefix + q.Digest
	r.calls = append(r.calls, fmt.Sprintf("%d %s %d %d", abi.OpBlobRead, name, q.Offset, q.Length))
	blob, ok := r.blobs[name]
	switch {
	case r.call != nil:
		return nil, r.call
	case !ok:
		return nil, runtime.ErrNotFound
	}
	return q.ReadBlob(strings.NewReader(blob), int64(len(blob)))
}

func (r *recorder) Log(level int, msg []byte) {
	r.logs = append(r.logs, strconv.Itoa(level)+" "+string(msg))
}

// result checks for a success with exactly this result.
func result(want string) func(*testing.T, runtime.Outcome, *recorder) {
	return func(t *testing.T, out runtime.Outcome, _ *recorder) {
		t.Helper()
		if out.Kind != runtime.Succeeded || !out.HasResult || string(out.Result) != want {
			t.Errorf("got %s, want success with result %.100q", describe(out), want)
		}
	}
}

// noResult checks for a success without a result.
func noResult(t *testing.T, out runtime.Outcome) {
	t.Helper()
	if out.Kind != runtime.Succeeded || out.HasResult {
		t.Errorf("got %s, want success without result", describe(out))
	}
}

// failure checks for a failure that the guest declared.
func failure(retryable bool, code, message string) func(*testing.T, runtime.Outcome, *recorder) {
	return func(t *testing.T, out runtime.Outcome, _ *recorder) {
		t.Helper()
		if out.Kind != runtime.Failed || out.Class != runtime.ClassGuest || out.Retryable != retryable || out.Code != code ||
			out.Message != message && message != "*" || out.HasResult {
			t.Errorf("got %s, want failure %q %q, retryable %t", describe(out), code, message, retryable)
		}
	}
}

func describe(out runtime.Outcome) string {
	var b strings.Builder
	b.WriteString(out.Kind.String())
	switch out.Kind {
	case runtime.Failed:
		b.WriteString(" " + out.Code + " " + strconv.Quote(out.Message) + ", retryable " + strconv.FormatBool(out.Retryable))
		if out.Details != nil {
			b.WriteString(", details " + string(out.Details))
		}
	case runtime.Killed:
		b.WriteString(": " + out.Cause.Error())
	}
	if out.HasResult {
		b.WriteString(", result " + strconv.Quote(string(out.Result[:min(len(out.Result), 100)])))
	}
	if out.NextTime != 0 {
		b.WriteString(", next " + strconv.FormatInt(out.NextTime, 10))
	}
	return b.String()
}

func same[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// after answers bits once the guest has beaten n times.
func after(n int, bits abi.Signals) func(int) abi.Signals {
	return func(beats int) abi.Signals {
		if beats < n {
			return 0
		}
		return bits
	}
}

func sumOf(params string) string {
	var sum uint32
	for i := range len(params) {
		sum += uint32(params[i])
	}
	return strconv.Itoa(len(params)) + " " + strconv.FormatUint(uint64(sum), 10)
}
