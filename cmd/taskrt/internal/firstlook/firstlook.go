// Package firstlook gives a cluster that somebody has just started something to do: `taskrt dev --with-examples`.
package firstlook

import (
	"bytes"
	"context"
	"errors"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/plugins/examples/starters"
)

// Behaviors are what a Push asks of a cluster.
type Behaviors interface {
	Behavior(ctx context.Context, namespace, name string) (*api.BehaviorDetail, error)
	Push(ctx context.Context, r api.PushRequest) (*api.Module, error)
}

// Push uploads the modules whose behaviors are not there, and returns for each why it cannot be tried. A module that is there under such a name
// stays, even if somebody else pushed it.
func Push(ctx context.Context, b Behaviors) (missing []error) {
	for _, s := range starters.All {
		missing = append(missing, push(ctx, b, &s))
	}
	return missing
}

// Print says what can be tried.
func Print(to *terminal.Output, missing []error) {
	_ = to.Printf("examples to submit in the console, or so:\n")
	for i, s := range starters.All {
		if missing[i] != nil {
			_ = to.Printf("  %s is not there: %v\n", s.Behavior, missing[i])
			continue
		}
		_ = to.Printf("  %s    # %s\n", s.Command, s.Shows)
	}
}

var errTaken = errors.New("another module has its name, and was left as it is")

// push uploads a module if nothing has the name of its behavior.
func push(ctx context.Context, b Behaviors, s *starters.Starter) error {
	wasm, err := s.Wasm()
	if err != nil {
		return err
	}
	switch is, err := b.Behavior(ctx, "", s.Behavior); {
	case err == nil && is.Module != blob.Digest(wasm):
		return errTaken
	case err == nil || api.CodeOf(err) != api.CodeBehaviorNotFound:
		return err
	}
	_, err = b.Push(ctx, api.PushRequest{Wasm: bytes.NewReader(wasm), Size: int64(len(wasm))})
	return err
}
