package rpc

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/internal/memnet"
	"github.com/taskrt/taskrt/internal/mux"
)

// proven is a connection of which the other end is known, as a Guard makes it.
type proven struct {
	net.Conn

	who mux.Principal
}

func (c proven) Principal() mux.Principal { return c.who }

type provenListener struct {
	net.Listener

	who mux.Principal
}

func (l provenListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return proven{c, l.who}, nil
}

type provenDialer struct {
	Dialer

	who mux.Principal
}

func (d provenDialer) Dial(ctx context.Context, addr string, p mux.Protocol) (net.Conn, error) {
	c, err := d.Dialer.Dial(ctx, addr, p)
	if err != nil {
		return nil, err
	}
	return proven{c, d.who}, nil
}

// TestGreetingsAreProven: a node is who its certificate says, on both ends: another greeting is not answered, another server is not asked
// (SPEC A2).
func TestGreetingsAreProven(t *testing.T) {
	n1, n2, n3 := mux.Principal{Role: mux.Node, ID: "n1"}, mux.Principal{Role: mux.Node, ID: "n2"}, mux.Principal{Role: mux.Node, ID: "n3"}
	for what, c := range map[string]struct {
		client, server mux.Principal
		want           string
	}{
		"both as they say":        {n1, n2, ""},
		"the client is another":   {n3, n2, "connection lost"},
		"the client is a worker":  {mux.Principal{Role: mux.Worker, ID: "n1"}, n2, "connection lost"},
		"the server is another":   {n1, n3, "n2:1 is not n2/b"},
		"the ID is only a prefix": {mux.Principal{Role: mux.Node, ID: "n"}, n2, "connection lost"},
	} {
		t.Run(strings.ReplaceAll(what, " ", "-"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := memnet.New()
				defer net.Close()
				ctx, cancel := context.WithCancel(t.Context())
				v := NewServer(ctx, provenListener{net.Node("n2:1").Listen(mux.Propose), c.client}, "n2/b", 10*time.Second, &echo{})
				var wg sync.WaitGroup
				wg.Go(v.Run)
				cs := NewClients(provenDialer{net.Node("n1:1"), c.server}, "n1/a", 10*time.Second)
				a, err := Request[string](t.Context(), cs, "n2:1", "n2/b", KindHello, "q")
				if c.want == "" && (a != "q" || err != nil) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%q, %v", a, err)
				}
				if c.want == "connection lost" && !errors.Is(err, errConnLost) {
					t.Errorf("%v", err)
				}
				cs.Close()
				cancel()
				v.Close()
				wg.Wait()
			})
		})
	}
}
