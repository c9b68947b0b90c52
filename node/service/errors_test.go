package service

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
)

// TestStoreErrors: a client that hears "nothing was done" may repeat the request elsewhere, so this must be true (SPEC
// H4). The error of a node that stops is no internal error.
func TestStoreErrors(t *testing.T) {
	both := func(a, b error) error { return fmt.Errorf("%w: some commands were applied: %w", a, b) }
	for _, x := range []struct {
		err  error
		sent bool
		want string
	}{
		{raftstore.ErrOutcomeUnknown, true, api.CodeOutcomeUnknown},
		{both(raftstore.ErrOutcomeUnknown, raftstore.ErrNoLeader), true, api.CodeOutcomeUnknown},
		{both(raftstore.ErrOutcomeUnknown, raftstore.ErrOverloaded), true, api.CodeOutcomeUnknown},
		{both(raftstore.ErrOutcomeUnknown, raftstore.ErrClosed), true, api.CodeOutcomeUnknown},
		{both(raftstore.ErrNoLeader, context.DeadlineExceeded), true, api.CodeNoLeader},
		{context.DeadlineExceeded, true, api.CodeOutcomeUnknown},
		{context.DeadlineExceeded, false, api.CodeNoLeader},
		{raftstore.ErrOverloaded, true, api.CodeOverloaded},
		{raftstore.ErrClosed, true, api.CodeNotReady},
		{both(raftstore.ErrStopped, raftstore.ErrDiskFailed), true, api.CodeNotReady},
		{raftstore.ErrTooLarge, true, api.CodeTooLarge},
		{api.NewError(api.CodeRemoved, ""), true, api.CodeRemoved},
		{errors.New("anything"), true, api.CodeInternal},
	} {
		if got := api.CodeOf(storeError(x.err, x.sent)); got != x.want {
			t.Errorf("%v: %s, want %s", x.err, got, x.want)
		}
	}
	if storeError(nil, true) != nil {
		t.Error("an error for none")
	}
}

// TestDelayRoundsUp: a task never starts earlier than asked (SPEC R1), even where adding before dividing would wrap
// around.
func TestDelayRoundsUp(t *testing.T) {
	for d, want := range map[api.Duration]task.Millis{
		0: 0, 1: 1, 999_999: 1, 1_000_000: 1, 1_000_001: 2, math.MaxInt64: math.MaxInt64/1_000_000 + 1,
	} {
		if got := delayMillis(d); got != want {
			t.Errorf("%d ns: %d ms, want %d", d, got, want)
		}
	}
}
