package main

import (
	"context"
	"errors"
	"testing"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
)

// TestUnlessInterrupted: an interrupt ends the wait for a function that does not end by itself, and nothing else
// does.
func TestUnlessInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	release, ended := make(chan struct{}), make(chan struct{})
	_, err := unlessInterrupted(ctx, func(context.Context) (int, error) {
		defer close(ended)
		interrupt()
		<-release
		return 1, nil
	})
	if !errors.Is(err, errAbandoned) || exit.CodeOf(ctx, err) != exit.Interrupted {
		t.Errorf("%v, exit code %d", err, exit.CodeOf(ctx, err))
	}
	close(release)
	<-ended
	if n, err := unlessInterrupted(t.Context(), func(context.Context) (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
