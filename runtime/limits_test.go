package runtime

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/upload"
)

// atWork returns the host's side of a running guest.
func atWork(t *testing.T, a Attempt, host Host) *guest {
	g := newGuest(t.Context(), nil, &Config{Clock: time.Now}, a.withDefaults(), host)
	t.Cleanup(func() { g.cancel(nil) })
	g.phase = phaseRun
	return g
}

// TestOutputLimits: output over a limit is refused as a whole, to the byte.
func TestOutputLimits(t *testing.T) {
	host := &fakeHost{}
	g := atWork(t, Attempt{ResultBytes: 4, CheckpointBytes: 4}, host)
	for _, step := range []struct {
		write string
		want  abi.Errno
		kept  string
	}{{"12345", abi.E2BIG, ""}, {"123", 0, "123"}, {"45", abi.E2BIG, "123"}, {"4", 0, "1234"}, {"5", abi.E2BIG, "1234"}} {
		if got := g.output(abi.Result, []byte(step.write)); got != step.want || string(g.result) != step.kept {
			t.Errorf("write %q: %v, result %q", step.write, got, g.result)
		}
	}
	if got := g.call(abi.OpCheckpointSave, []byte("1234")); got != 0 {
		t.Errorf("a checkpoint of the limit: %v", got)
	}
	if got := g.call(abi.OpCheckpointSave, []byte("12345")); got != abi.E2BIG || len(host.saved) != 1 {
		t.Errorf("one over the limit: %v, %d saved", got, len(host.saved))
	}
}

// TestCheckpointErrors: the guest can tell a lost lease, which ends it, from trouble that passes.
func TestCheckpointErrors(t *testing.T) {
	var err error
	g := atWork(t, Attempt{}, &fakeHost{checkpoint: func(context.Context, []byte) error { return err }})
	for _, tt := range []struct {
		err  error
		want abi.Errno
	}{{ErrLeaseLost, abi.ECONFLICT}, {ErrDenied, abi.EDENIED}, {errors.New("no leader"), abi.EAGAIN}, {nil, 0}} {
		err = tt.err
		if got := g.call(abi.OpCheckpointSave, []byte("x")); got != tt.want {
			t.Errorf("%v: answered %v, want %v", tt.err, got, tt.want)
		}
	}
}

// TestOutcomes: what the return of a run means (SPEC T7).
func TestOutcomes(t *testing.T) {
	for _, tt := range []struct {
		name     string
		status   abi.Outcome
		required bool
		written  bool
		kind     Kind
		code     string
	}{
		{"ok", abi.OutcomeOK, false, false, Succeeded, ""},
		{"ok with the result asked for", abi.OutcomeOK, true, true, Succeeded, ""},
		{"ok without the result asked for", abi.OutcomeOK, true, false, Failed, CodeNoResult},
		{"undefined", 99, false, true, Failed, CodeNoResult},
		{"negative", -1, false, true, Failed, CodeNoResult},
		{"permanent", abi.OutcomePermanent, true, false, Failed, CodeHandlerError},
		{"cancelled", abi.OutcomeCancelled, true, false, Cancelled, ""},
		{"yield", abi.OutcomeYield, true, false, Yielded, ""},
	} {
		g := atWork(t, Attempt{ResultRequired: tt.required}, &fakeHost{})
		if tt.written {
			g.output(abi.Result, []byte("1"))
		}
		if out := g.outcome(tt.status); out.Kind != tt.kind || out.Code != tt.code || out.Retryable {
			t.Errorf("%s: %+v", tt.name, out)
		}
	}
}

// TestModuleLimitIsExact (SPEC B2), and it is looked at first.
func TestModuleLimitIsExact(t *testing.T) {
	wasm := guestFile(t, "echo")
	size := int64(len(wasm))
	if _, err := newEngine(t, Config{MaxModuleBytes: size}).Inspect(t.Context(), wasm, nil, ""); err != nil {
		t.Errorf("a module of the limit: %v", err)
	}
	small := newEngine(t, Config{MaxModuleBytes: size - 1})
	for what, file := range map[string][]byte{"a module": wasm, "zeros": make([]byte, size)} { // whatever is in it
		_, err := small.Inspect(t.Context(), file, nil, "")
		if bad := uploadError(t, err); bad.Code != upload.TooLarge || bad.Limit != size-1 {
			t.Errorf("%s of one over the limit: %+v", what, bad)
		}
	}
}
