package firstlook_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/firstlook"
	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/plugins/examples/starters"
)

// cluster has behaviors, by name the digest of the module, and takes modules in the order of the starters.
type cluster struct {
	has    map[string]string
	pushed []string
}

func (c *cluster) Behavior(_ context.Context, _, name string) (*api.BehaviorDetail, error) {
	if c.has[name] == "" {
		return nil, api.NewError(api.CodeBehaviorNotFound, "no behavior %s", name)
	}
	return &api.BehaviorDetail{Module: c.has[name]}, nil
}

func (c *cluster) Push(_ context.Context, r api.PushRequest) (*api.Module, error) {
	wasm, err := io.ReadAll(r.Wasm)
	c.pushed = append(c.pushed, blob.Digest(wasm))
	return &api.Module{}, err
}

// TestPush: what is there is not pushed again, and what is somebody else's is said and left alone.
func TestPush(t *testing.T) {
	var digests []string
	for _, s := range starters.All {
		wasm, err := s.Wasm()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, blob.Digest(wasm))
	}
	c := &cluster{has: map[string]string{"example.greet": blob.Digest([]byte("another")), "example.countdown": digests[1]}}
	missing := firstlook.Push(t.Context(), c)
	if len(c.pushed) != 2 || c.pushed[0] != digests[2] || c.pushed[1] != digests[3] {
		t.Errorf("pushed %v of %v", c.pushed, digests)
	}
	var said bytes.Buffer
	firstlook.Print(terminal.New(&said), missing)
	if lines := strings.Split(said.String(), "\n"); lines[1] != "  example.greet is not there: another module has its name, and was left as it is" || !strings.Contains(lines[2], "submit example.countdown") {
		t.Error(said.String())
	}
}
