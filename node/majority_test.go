package node_test

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/clustertest"
)

// TestModuleNeedsAMajority: nothing may refer to a file that only one node holds (SPEC B2). The push fails before
// anything is proposed.
func TestModuleNeedsAMajority(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{NoWorkers: true}, func(t *testing.T, c *clustertest.Cluster) {
		wasm, _, err := clustertest.Guest("echo")
		if err != nil {
			t.Fatal(err)
		}
		lonely := c.Followers()[0]
		// The node is cut off after it has begun to take in the file. Before that it asks for the namespace.
		file := io.MultiReader(readerFunc(func([]byte) (int, error) {
			c.Net.Isolate(c.Members[lonely].Addr)
			return 0, io.EOF
		}), bytes.NewReader(wasm))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		_, err = c.Node(lonely).Push(ctx, api.PushRequest{Name: "echo", Wasm: file})
		wantError(t, err, 503, api.CodeNotReady, "")
		c.Net.HealAll()
		c.Sleep(5 * time.Second)
		_, err = c.Node(lonely).Behavior(t.Context(), "", "echo")
		wantError(t, err, 404, api.CodeBehaviorNotFound, "")
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
