package node

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/raftstore"
)

// TestStoreErrors: who is told "nothing was done" may do it elsewhere, so that must be true (SPEC H4); and a node that
// stops is no internal error.
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
