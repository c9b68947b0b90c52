package lone

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/worker"
)

// TestAliveIsLessThanAtWork: a worker without a session and one whose disk is full are alive; one whose disk does not answer is not (SPEC C10).
func TestAliveIsLessThanAtWork(t *testing.T) {
	fullDisk := errors.New("no space left on device")
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for _, tc := range []struct {
		name  string
		probe func(context.Context) error
		says  string // "": alive
	}{
		{"well", func(context.Context) error { return nil }, ""},
		{"full", func(context.Context) error { return fullDisk }, ""},
		{"hangs", hangs, "does not answer"},
	} {
		h := health{func() worker.Status { return worker.Status{} }, tc.probe}
		ctx, cancel := context.WithCancel(t.Context())
		if tc.says != "" {
			cancel() // patience is over
		}
		err := h.alive(ctx)
		cancel()
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestState: people are told for whom the worker works.
func TestState(t *testing.T) {
	for _, tc := range []struct {
		status worker.Status
		says   string
	}{
		{worker.Status{}, "has no session: looks for the cluster's leader"},
		{worker.Status{Session: 7, Leader: "n2", Connected: true}, "session 7: works for n2"},
		{worker.Status{Session: 7, Leader: "n2"}, "session 7: has lost n2, looks for the cluster's leader"},
	} {
		h := health{status: func() worker.Status { return tc.status }}
		if got := h.state(t.Context()); got != tc.says {
			t.Errorf("%q, want %q", got, tc.says)
		}
	}
}
