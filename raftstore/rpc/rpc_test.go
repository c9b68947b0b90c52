package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/taskrt/taskrt/internal/memnet"
	"github.com/taskrt/taskrt/internal/mux"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo answers each question with the question itself. It answers proposals when the test says so.
type echo struct {
	mu      sync.Mutex
	replies []Reply
}

func (e *echo) Propose(_ []byte, r Reply) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.replies = append(e.replies, r)
}

func (e *echo) Answer(_ context.Context, _ string, kind byte, body []byte) (byte, []byte) {
	if kind != KindHello {
		return StatusRefused, []byte("unknown request")
	}
	return Handle(body, func(q string) (string, error) { return q, nil })
}

// pair runs f with a node n2 that echoes, and with the connections of another node.
func pair(t *testing.T, f func(t *testing.T, e *echo, cs *Clients)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		net := memnet.New()
		defer net.Close()
		ctx, cancel := context.WithCancel(t.Context())
		e := &echo{}
		v := NewServer(ctx, net.Node("n2:1").Listen(mux.Propose), "n2/b", 10*time.Second, e)
		var wg sync.WaitGroup
		wg.Go(v.Run)
		cs := NewClients(net.Node("n1:1"), "n1/a", 10*time.Second)
		f(t, e, cs)
		cs.Close()
		cancel()
		v.Close()
		wg.Wait()
	})
}

// TestRequests: each request gets its own answer, or hears why it got none.
func TestRequests(t *testing.T) {
	pair(t, func(t *testing.T, _ *echo, cs *Clients) {
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				q := fmt.Sprint("question ", i)
				if a, err := Request[string](t.Context(), cs, "n2:1", "n2/b", KindHello, q); a != q || err != nil {
					t.Errorf("%q is answered %q, %v", q, a, err)
				}
			})
		}
		wg.Wait()
		var refused *StatusError
		if _, err := Request[string](t.Context(), cs, "n2:1", "n2/b", KindTerm, ""); !errors.As(err, &refused) || refused.Status != StatusRefused || refused.Text != "unknown request" {
			t.Errorf("an unknown request: %v", err)
		}
		var notSent *NotSentError
		if _, err := Request[string](t.Context(), cs, "n3:1", "", KindHello, ""); !errors.As(err, &notSent) {
			t.Errorf("nobody is there: %v", err)
		}
		// The other side hangs up at the greeting, either before or after the request has left.
		if _, err := Request[string](t.Context(), cs, "n2:1", "n2/other", KindHello, ""); !errors.Is(err, errConnLost) {
			t.Errorf("for another instance: %v", err)
		}
	})
}

// TestProposalsOverlap: proposals are answered in any order, and a caller that no longer waits gives up.
func TestProposalsOverlap(t *testing.T) {
	pair(t, func(t *testing.T, e *echo, cs *Clients) {
		answers := make([]string, 3)
		gone := make(chan struct{})
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() {
				a, err := cs.Call(t.Context(), "n2:1", "n2/b", KindPropose, nil, gone)
				answers[i] = fmt.Sprint(string(a), err)
			})
			synctest.Wait()
		}
		lost, err := cs.Lost(t.Context(), "n2:1", "n2/b", nil)
		if err != nil {
			t.Fatal(err)
		}
		e.replies[2].Send(StatusOK, []byte("third"))
		e.replies[0].Send(StatusOverloaded, nil)
		synctest.Wait()
		close(gone)
		wg.Wait()
		if fmt.Sprintf("%q", answers) != `["raftstore: peer refused (3) " "raftstore: another node leads" "third<nil>"]` {
			t.Errorf("%q", answers)
		}
		select {
		case <-lost:
			t.Error("the connection is lost")
		default:
		}
		cs.Close()
		<-lost
	})
}

// TestSilentPeer: a request without an answer ends when its time is over, and the next request tries another
// connection.
func TestSilentPeer(t *testing.T) {
	pair(t, func(t *testing.T, _ *echo, cs *Clients) {
		lost, err := cs.Lost(t.Context(), "n2:1", "n2/b", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cs.Call(t.Context(), "n2:1", "n2/b", KindPropose, nil, nil); !errors.Is(err, errConnLost) {
			t.Errorf("%v", err)
		}
		<-lost
		if a, err := Request[string](t.Context(), cs, "n2:1", "n2/b", KindHello, "again"); a != "again" || err != nil {
			t.Errorf("%q, %v", a, err)
		}
	})
}
