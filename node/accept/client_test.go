package accept

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/internal/memnet"
	"github.com/taskrt/taskrt/internal/mux"
)

// leader plays a leader. It notes what it is asked, and it answers when the test tells it to.
type leader struct {
	mu    sync.Mutex
	asks  []Ask
	ends  []uint64 // the calls that settled
	left  []uint64 // the calls that were abandoned
	drops []uint64
	to    Replier
}

func (l *leader) note(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	return true
}

func (l *leader) Ask(q Ask, to Replier) bool {
	return l.note(func() { l.asks, l.to = append(l.asks, q), to })
}
func (l *leader) Settle(call uint64) bool { return l.note(func() { l.ends = append(l.ends, call) }) }
func (l *leader) Abandon(a Abandon, to Replier) bool {
	return l.note(func() {
		l.left = append(l.left, a.Call)
		to.Reply(Answer{Call: a.Call, Abandoned: true})
	})
}
func (l *leader) Drop(calls []uint64, _ Replier) {
	l.note(func() { l.drops = append(l.drops, calls...) })
}

// links is a client with the nodes that may lead. It lives in a synctest bubble.
type links struct {
	t       *testing.T
	net     *memnet.Net
	client  *Client
	leaders map[string]*leader

	mu            sync.Mutex
	addr          string
	gone, changed chan struct{}
}

func (x *links) follow() (string, <-chan struct{}, <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.addr, x.gone, x.changed
}

// lead makes another node the leader. With "" nobody leads.
func (x *links) lead(addr string) {
	x.mu.Lock()
	close(x.gone)
	close(x.changed)
	x.addr, x.gone, x.changed = addr, make(chan struct{}), make(chan struct{})
	x.mu.Unlock()
	time.Sleep(time.Second)
	synctest.Wait()
}

func (x *links) serve(ctx context.Context, wg *sync.WaitGroup, addr string) {
	l := &leader{}
	x.leaders[addr] = l
	ln := x.net.Node(addr).Listen(mux.Accept)
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer context.AfterFunc(ctx, func() { _ = c.Close() })()
				_ = Serve(c, l)
			})
		}
	})
	context.AfterFunc(ctx, func() { _ = ln.Close() })
}

func withLinks(t *testing.T, f func(x *links)) {
	synctest.Test(t, func(t *testing.T) {
		x := &links{t: t, net: memnet.New(), leaders: map[string]*leader{}, gone: make(chan struct{}), changed: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		x.serve(ctx, &wg, "a")
		x.serve(ctx, &wg, "b")
		x.client = NewClient(Config{Net: x.net.Node("n"), Follow: x.follow, Logger: slog.New(slog.DiscardHandler)})
		wg.Go(func() { x.client.Run(ctx) })
		f(x)
		cancel()
		wg.Wait()
		x.net.Close()
	})
}

func (x *links) begin(request string) *Call {
	x.t.Helper()
	c, err := x.client.Begin(Ask{Key: key(request), Max: 1})
	if err != nil {
		x.t.Fatal(err)
	}
	return c
}

func (l *leader) asked() []Ask {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.asks)
}

func TestClientAsksWhoeverLeads(t *testing.T) {
	withLinks(t, func(x *links) {
		call := x.begin("r1") // nobody leads yet
		time.Sleep(2 * time.Second)
		x.lead("a")
		first := x.leaders["a"].asked()
		if len(first) != 1 || first[0].Age < 2000 || first[0].Key != key("r1") {
			t.Fatalf("%+v", first)
		}
		time.Sleep(time.Minute) // the call is blocked; the link must not be taken for dead
		if got := x.leaders["a"].asked(); len(got) != 1 {
			t.Fatalf("asked again without need: %+v", got)
		}
		x.lead("b")
		second := x.leaders["b"].asked()
		if len(second) != 1 || second[0].Call != first[0].Call || second[0].Age < 60_000 {
			t.Fatalf("%+v", second)
		}
		if l := x.leaders["a"]; !slices.Equal(l.drops, []uint64{first[0].Call}) {
			t.Errorf("the former leader keeps %v", l.drops)
		}
		x.client.Settle(call)
		synctest.Wait()
		x.leaders["b"].mu.Lock()
		ends, to := x.leaders["b"].ends, x.leaders["b"].to
		x.leaders["b"].mu.Unlock()
		if len(ends) != 1 {
			t.Fatalf("settled %v", ends)
		}
		to.Reply(Answer{Call: second[0].Call, Index: 7})
		if a := <-call.Answer; a.Index != 7 {
			t.Errorf("%+v", a)
		}
		ctx, cancel := context.WithTimeout(x.t.Context(), time.Second)
		defer cancel()
		if x.client.Settled(ctx); ctx.Err() != nil {
			t.Error("something is still open")
		}
		if time.Sleep(3 * idleLink); x.net.Conns() != 0 {
			t.Error("an idle link stays")
		}
	})
}

func TestAbandonedIsToldToTheNextLeader(t *testing.T) {
	withLinks(t, func(x *links) {
		x.lead("a")
		call := x.begin("r1")
		synctest.Wait()
		x.net.Cut("n", "a")
		x.client.Abandon(call)
		ctx, cancel := context.WithTimeout(x.t.Context(), time.Second)
		if x.client.Settled(ctx); ctx.Err() == nil {
			t.Error("settled without a leader")
		}
		cancel()
		x.lead("b")
		synctest.Wait()
		l := x.leaders["b"]
		l.mu.Lock()
		if len(l.left) != 1 || len(l.asks) != 0 {
			t.Errorf("abandoned %v, asked %v", l.left, l.asks)
		}
		l.mu.Unlock()
		x.client.Settled(x.t.Context())
		// Nobody leads. After a while no leader needs to hear of the abandoned call any more.
		x.lead("")
		x.client.Abandon(x.begin("r2"))
		time.Sleep(abandonFor + time.Second)
		x.lead("b")
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.left) != 1 {
			t.Errorf("abandoned %v", l.left)
		}
	})
}

// TestSilentLinkEnds: a link that is cut without a word ends on both sides.
func TestSilentLinkEnds(t *testing.T) {
	withLinks(t, func(x *links) {
		x.lead("a")
		x.begin("r1")
		synctest.Wait()
		x.net.Cut("n", "a")
		time.Sleep(silence + pulse)
		l := x.leaders["a"]
		l.mu.Lock()
		drops := len(l.drops)
		l.mu.Unlock()
		if drops != 1 {
			t.Errorf("%d calls dropped", drops)
		}
		x.net.Heal("n", "a")
		time.Sleep(2 * time.Second)
		if got := l.asked(); len(got) != 2 || got[0].Call != got[1].Call {
			t.Errorf("%+v", got)
		}
	})
}

// TestHangingUpWithoutALeaderIsBounded: abandoned calls that no leader has heard of take no more memory than waiting
// calls may.
func TestHangingUpWithoutALeaderIsBounded(t *testing.T) {
	c := NewClient(Config{})
	for range MaxWaiting {
		call, err := c.Begin(Ask{Key: key("r"), Max: 1})
		if err != nil {
			t.Fatal(err)
		}
		c.Abandon(call)
	}
	if _, err := c.Begin(Ask{Key: key("r"), Max: 1}); !errors.Is(err, ErrOverloaded) {
		t.Errorf("one more: %v", err)
	}
}
