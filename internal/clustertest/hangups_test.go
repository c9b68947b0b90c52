package clustertest

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/api/server/socket"
	"github.com/taskrt/taskrt/internal/mux"
)

// front serves the API of member i on a port of the cluster's network, and returns a client whose requests all go over one stream. Each way takes 3 ms.
func front(t *testing.T, c *Cluster, i int) (over *client.Client, stop func()) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(t.Context())
	ctx = socket.NewGroup().In(ctx)
	ln := c.Net.Node("door").Listen(mux.Peer)
	c.Net.Delay("door", "client", 3*time.Millisecond)
	c.Net.Delay("client", "door", 3*time.Millisecond)
	var served sync.WaitGroup
	served.Go(func() {
		if err := server.Serve(ctx, ln, server.New(c.Node(i), server.Config{Logger: log, Stopping: ctx}), log); err != nil {
			t.Error(err)
		}
	})
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return c.Net.Node("client").Dial(ctx, "door", mux.Peer)
	}}
	over, err := client.New(client.Config{URLs: []string{"http://localhost"}, Transport: transport, Stream: client.StreamAlways})
	if err != nil {
		t.Fatal(err)
	}
	return over, func() {
		over.Close()
		cancel()
		served.Wait()
		transport.CloseIdleConnections()
	}
}

// TestCancelledAccepts: callers give up their accepts over a stream at every possible moment, also while the answer is on its way. Nothing is leased to
// nobody, and what was given back counts as nothing (SPEC J2, H5).
func TestCancelledAccepts(t *testing.T) {
	Run(t, 1, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		putExternal(t, c, 0, "ext", `{"kind":"external","lease":"1h"}`)
		over, stop := front(t, c, 0)
		defer stop()
		if _, err := over.Cluster(t.Context()); err != nil { // from now on there is a stream
			t.Fatal(err)
		}
		const n = 80
		var wg sync.WaitGroup
		taken, back := 0, 0
		for k := range n {
			id := c.Submit(0, "ext", `1`)
			ctx, cancel := context.WithCancel(t.Context())
			wg.Go(func() {
				c.Sleep(time.Duration(k) * 250 * time.Microsecond) // the answer comes after 6 ms at least
				cancel()
			})
			reply, err := over.Accept(ctx, acceptOf("w", 1, time.Minute))
			wg.Wait()
			switch {
			case err == nil && len(reply.Tasks) == 1 && reply.Tasks[0].ID == id:
				taken++
				finishAt(t, c, 0, reply.Tasks[0], `1`)
				continue
			case err == nil:
				t.Errorf("accepted %v", reply.Tasks)
			}
			c.Sleep(time.Second)
			x, err := c.Node(0).Task(t.Context(), "default", id, api.GetOptions{})
			if err != nil || x.Status != "CREATED" || x.LostCount+x.Failures != 0 {
				t.Fatalf("given up after %v: %v, %s", time.Duration(k)*250*time.Microsecond, err, Show(x))
			}
			for _, h := range x.History {
				if h.Outcome == "GIVEN_BACK" {
					back++
				}
			}
			finishAt(t, c, 0, acceptAt(t, c, 0, acceptOf("w", 1, 0))[0], `1`)
		}
		if taken < n/4 || back < 10 {
			t.Errorf("%d of %d accepted, %d given back: the test tests little", taken, n, back)
		}
	})
}
