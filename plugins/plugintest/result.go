package plugintest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/taskrt/taskrt/runtime"
)

// Kind is how an attempt ended.
type Kind = runtime.Kind

// These are the Kinds. Killed is no outcome: a cluster starts another attempt.
const (
	Succeeded = runtime.Succeeded
	Failed    = runtime.Failed
	Cancelled = runtime.Cancelled
	Yielded   = runtime.Yielded
	Killed    = runtime.Killed
)

// Result is how an attempt ended, as the cluster records it. A Result that does not match result_schema is a failure, Retryable
// applies the behavior's policy, and a success that wrote nothing has the result null. Use Fuel and PeakMemory for
// budgets: the same module with the same params uses the same fuel everywhere, unless it looks at the clock or at randomness.
type Result struct {
	runtime.Outcome
}

func (r Result) String() string {
	text := r.Kind.String()
	switch r.Kind {
	case Succeeded:
		text += fmt.Sprintf(" with %.1000s", r.Result)
	case Failed:
		text += fmt.Sprintf(" with %s: %s", r.Code, r.Message)
		if r.Retryable {
			text += " (retryable)"
		}
	case Killed:
		text += ": " + r.Cause.Error()
	case Cancelled:
		if r.Message != "" {
			text += ": " + r.Message
		}
	}
	return text + fmt.Sprintf(", fuel %d, peak memory %d bytes", r.Fuel, r.PeakMemory)
}

// WantKind fails the test unless the attempt ended with this Kind.
func (r Result) WantKind(t TB, want Kind) {
	t.Helper()
	if r.Kind != want {
		t.Fatalf("the attempt %v; want %v", r, want)
	}
}

// WantResult fails the test unless the attempt succeeded with this result. For JSON, space and the order of members do
// not count; anything else must be the same bytes.
func (r Result) WantResult(t TB, want string) {
	t.Helper()
	if r.Kind != Succeeded || !sameJSON(r.Result, []byte(want)) {
		t.Fatalf("the attempt %v; want the result %s", r, want)
	}
}

// WantError fails the test unless the attempt failed with this code and is retryable or not as given. The code is the guest's own
// or one of the host (TRAP, TIMEOUT, OUT_OF_MEMORY, OUT_OF_FUEL, NO_RESULT, HANDLER_ERROR).
func (r Result) WantError(t TB, code string, retryable bool) {
	t.Helper()
	if r.Kind != Failed || r.Code != code || r.Retryable != retryable {
		t.Fatalf("the attempt %v; want the error %s, retryable: %t", r, code, retryable)
	}
}

// Decode reads the result of a success.
func (r Result) Decode(t TB, to any) {
	t.Helper()
	r.WantKind(t, Succeeded)
	if err := json.Unmarshal(r.Result, to); err != nil {
		t.Fatalf("the result %.1000s: %v", r.Result, err)
	}
}

// sameJSON reports whether both are the same bytes or the same JSON value. Numbers are the same if they are written the same way.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errA := decode(a)
	y, errB := decode(b)
	return errA == nil && errB == nil && reflect.DeepEqual(x, y)
}

func decode(text []byte) (v any, err error) {
	if !json.Valid(text) {
		return nil, fmt.Errorf("not JSON: %.100q", text)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}
