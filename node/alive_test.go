package node_test

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/internal/clustertest"
	"github.com/taskrt/taskrt/node"
)

// TestAliveIsLessThanReady: a watchdog would start a node again that is not alive. So a node without a leader is alive, and one whose disk is full;
// one whose disk does not answer is not, until the disk answers.
func TestAliveIsLessThanReady(t *testing.T) {
	var full, hung atomic.Bool
	release := make(chan struct{})
	configure := func(i int, c *node.Config) {
		if i != 0 {
			return
		}
		c.CreateBlob = func(dir, pattern string) (blob.TempFile, error) {
			if hung.Load() {
				<-release
			}
			if full.Load() {
				return nil, &os.PathError{Op: "open", Path: dir, Err: syscall.ENOSPC}
			}
			return os.CreateTemp(dir, pattern)
		}
	}
	clustertest.Run(t, 3, clustertest.Options{NoWorkers: true, Configure: configure}, func(t *testing.T, c *clustertest.Cluster) {
		release = make(chan struct{}) // of the bubble
		n := c.Node(0)
		ask := func(f func(context.Context) error) error {
			c.Sleep(time.Minute) // what a probe has found is remembered for a while
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			return f(ctx)
		}
		both := func(when string, ready bool) {
			t.Helper()
			if err := ask(n.Alive); err != nil {
				t.Errorf("%s: not alive: %v", when, err)
			}
			if err := ask(n.Ready); (err == nil) != ready {
				t.Errorf("%s: ready: %v", when, err)
			}
		}
		both("at first", true)
		c.Net.Isolate(c.Members[0].Addr)
		both("without a leader", false)
		c.Net.HealAll()
		full.Store(true)
		both("with a full disk", false)
		full.Store(false)
		hung.Store(true)
		if err := ask(n.Alive); err == nil || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("with a disk that hangs: alive: %v", err)
		}
		hung.Store(false)
		close(release)
		both("when the disk answers again", true)
	})
}
