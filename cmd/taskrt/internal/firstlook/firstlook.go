// Package firstlook gives a cluster that somebody has just started something to do: `taskrt dev --with-examples`.
package firstlook

import (
	"bytes"
	"context"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/plugins/examples/starters"
)

// Behaviors are what a Push asks of a cluster.
type Behaviors interface {
	Behavior(ctx context.Context, namespace, name string) (*api.BehaviorDetail, error)
	Push(ctx context.Context, r api.PushRequest) (*api.Module, error)
}

// Push uploads the modules whose behaviors are not there. What is there under such a name stays, whoever pushed it.
func Push(ctx context.Context, b Behaviors) error {
	for _, s := range starters.All {
		_, err := b.Behavior(ctx, "", s.Behavior)
		if err == nil {
			continue
		}
		if api.CodeOf(err) != api.CodeBehaviorNotFound {
			return err
		}
		wasm, err := s.Wasm()
		if err != nil {
			return err
		}
		if _, err := b.Push(ctx, api.PushRequest{Wasm: bytes.NewReader(wasm), Size: int64(len(wasm))}); err != nil {
			return err
		}
	}
	return nil
}

// Print says what can be tried.
func Print(to *terminal.Output) {
	_ = to.Printf("examples to submit in the console, or so:\n")
	for _, s := range starters.All {
		_ = to.Printf("  %s    # %s\n", s.Command, s.Shows)
	}
}
