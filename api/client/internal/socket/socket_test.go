package socket_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/taskrt/taskrt/api/client/internal/socket"
	"github.com/taskrt/taskrt/api/stream"
	"github.com/taskrt/taskrt/internal/memnet"
	"github.com/taskrt/taskrt/internal/mux"
)

// far is a node at the other end, which does what the test says.
type far struct {
	t          *testing.T
	net        *memnet.Net
	begun      chan *websocket.Conn
	handshakes atomic.Int64
	refusal    atomic.Int64 // status of handshakes; 0: there are streams
	client     *http.Client
	cluster    string
	forms      []string
}

func inBubble(t *testing.T, f func(t *testing.T, far *far)) {
	synctest.Test(t, func(t *testing.T) {
		x := &far{t: t, net: memnet.New(), begun: make(chan *websocket.Conn, 100), cluster: "ours", forms: []string{stream.CBOR{}.Subprotocol()}}
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return x.net.Node("client").Dial(ctx, "far", mux.Peer)
		}}
		x.client = &http.Client{Transport: transport}
		s := &http.Server{Handler: http.HandlerFunc(x.serve), ReadHeaderTimeout: time.Minute}
		ln := x.net.Node("far").Listen(mux.Peer)
		go func() { _ = s.Serve(ln) }()
		f(t, x)
		x.net.Close()
		_ = s.Close()
		transport.CloseIdleConnections()
	})
}

func (x *far) serve(w http.ResponseWriter, r *http.Request) {
	x.handshakes.Add(1)
	if status := x.refusal.Load(); status != 0 {
		w.WriteHeader(int(status))
		return
	}
	w.Header().Set("Cluster", x.cluster)
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: x.forms})
	if err != nil {
		x.t.Error(err)
		return
	}
	x.begun <- ws
}

func (x *far) node(eager bool) *socket.Node {
	return socket.NewNode(socket.Config{
		HTTP: x.client, URL: "http://far" + stream.Path, Eager: eager,
		Header: func(token string) http.Header { return http.Header{"Authorization": {token}} },
		Check: func(res *http.Response) (string, error) {
			if cluster := res.Header.Get("Cluster"); cluster != "theirs" {
				return cluster, nil
			}
			return "", errors.New("another cluster")
		},
	})
}

// receive reads messages until there are n requests.
func (x *far) receive(ws *websocket.Conn, n int) (all []stream.Request) {
	x.t.Helper()
	for len(all) < n {
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		_, text, err := ws.Read(ctx)
		cancel()
		if err != nil {
			x.t.Fatal(err)
		}
		requests, err := stream.CBOR{}.Requests(text)
		if err != nil {
			x.t.Fatal(err)
		}
		all = append(all, requests...)
	}
	return all
}

func (x *far) reply(ws *websocket.Conn, answers ...stream.Answer) {
	x.t.Helper()
	text, err := stream.CBOR{}.AppendAnswers(nil, answers)
	if err == nil {
		err = ws.Write(context.Background(), websocket.MessageBinary, text)
	}
	if err != nil {
		x.t.Fatal(err)
	}
}

// soon is how long a test waits for what must come, in the time of its bubble.
const soon = 10 * time.Minute

func come[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(soon):
		t.Fatalf("nothing has come for %v", soon)
	}
	panic("unreachable")
}

type outcome struct {
	answer *stream.Answer
	from   socket.From
	err    error
}

func owner(token string) func() (string, error) { return func() (string, error) { return token, nil } }

func ask(ctx context.Context, n *socket.Node, token string, long bool) <-chan outcome {
	c := make(chan outcome, 1)
	go func() {
		a, from, err := n.Ask(ctx, owner(token), &stream.Request{Method: "GET", Path: "/v1/cluster"}, long)
		c <- outcome{a, from, err}
	}()
	return c
}

// none asks, and expects that there is no stream.
func none(t *testing.T, n *socket.Node) {
	t.Helper()
	if o := come(t, ask(t.Context(), n, "a", false)); !errors.Is(o.err, socket.ErrNone) {
		t.Errorf("asked over a stream: %+v", o)
	}
}

func (x *far) expect(o outcome, status int) {
	x.t.Helper()
	if o.err != nil || o.answer.Status != status {
		x.t.Errorf("%v, %+v, want %d", o.err, o.answer, status)
	}
}

// first asks over a stream that begins for it, and receives what was asked.
func (x *far) first(ctx context.Context, n *socket.Node) (got <-chan outcome, ws *websocket.Conn, q stream.Request) {
	x.t.Helper()
	got = ask(ctx, n, "a", false)
	ws = come(x.t, x.begun)
	return got, ws, x.receive(ws, 1)[0]
}

// done answers the one request that comes, and expects that whoever asked has the answer.
func (x *far) done(ws *websocket.Conn, got <-chan outcome) {
	x.t.Helper()
	x.reply(ws, stream.Answer{N: x.receive(ws, 1)[0].N, Status: http.StatusOK})
	x.expect(come(x.t, got), http.StatusOK)
}

// TestBegins: a stream begins beside requests that go by HTTP, for the second one at a time, and for one after a few. A lone request has none.
func TestBegins(t *testing.T) {
	for name, busy := range map[string]func(n *socket.Node){
		"two at a time": func(n *socket.Node) { n.ByHTTP() },
		"one after the other": func(n *socket.Node) {
			for range 8 {
				n.ByHTTP()()
			}
		},
	} {
		inBubble(t, func(t *testing.T, far *far) {
			n := far.node(false)
			defer n.Close()
			none(t, n)
			n.ByHTTP()()
			none(t, n)
			busy(n)
			if synctest.Wait(); far.handshakes.Load() != 0 {
				t.Errorf("%s: a stream before anybody asked", name)
			}
			none(t, n) // the handshake holds nobody up
			ws := come(t, far.begun)
			synctest.Wait()
			got := ask(t.Context(), n, "a", false)
			far.done(ws, got)
		})
	}
}

// TestManyInAMessage: answers come in any order, and what is asked while a message is on its way goes in one.
func TestManyInAMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, far *far) {
		n := far.node(true)
		defer n.Close()
		first, ws, one := far.first(t.Context(), n)
		far.net.Cut("client", "far")
		var more []<-chan outcome
		for range 100 {
			more = append(more, ask(t.Context(), n, "a", false))
		}
		synctest.Wait()
		far.net.Heal("client", "far")
		all := far.receive(ws, 100)
		var answers []stream.Answer
		for i := range all {
			answers = append(answers, stream.Answer{N: all[len(all)-1-i].N, Status: 201})
		}
		far.reply(ws, append(answers, stream.Answer{N: one.N, Status: 200}, stream.Answer{N: 1 << 40, Status: 500})...)
		far.expect(come(t, first), 200)
		for _, c := range more {
			far.expect(come(t, c), 201)
		}
	})
}

// TestTokens: a stream belongs to a token. For another one there is another stream, and the former one gets its answers.
func TestTokens(t *testing.T) {
	inBubble(t, func(t *testing.T, far *far) {
		n := far.node(true)
		defer n.Close()
		former, ws, q := far.first(t.Context(), n)
		next := ask(t.Context(), n, "b", false)
		other := come(t, far.begun)
		far.reply(other, stream.Answer{N: far.receive(other, 1)[0].N, Status: 200})
		if o := come(t, next); o.err != nil || o.from != (socket.From{Token: "b", Cluster: "ours"}) {
			t.Errorf("%+v", o)
		}
		far.reply(ws, stream.Answer{N: q.N, Status: 201})
		far.expect(come(t, former), 201)
		if _, _, err := ws.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
			t.Errorf("the former stream ended with %v", err)
		}
		bad := errors.New("no token")
		if _, _, err := n.Ask(t.Context(), func() (string, error) { return "", bad }, &stream.Request{}, false); !errors.Is(err, bad) {
			t.Error(err)
		}
	})
}

// TestEnds: what a node that stops has not answered goes to another one; what a node that closes the stream of a token that has ended has not answered goes by HTTP; what was under way when a connection broke may have been done. The next
// handshake comes a second later.
func TestEnds(t *testing.T) {
	for _, code := range []websocket.StatusCode{websocket.StatusGoingAway, stream.TokenEnded, 0} {
		inBubble(t, func(t *testing.T, far *far) {
			n := far.node(true)
			defer n.Close()
			got, ws, _ := far.first(t.Context(), n)
			want := socket.ErrLost
			switch code {
			case 0:
				_ = ws.CloseNow()
			case websocket.StatusGoingAway:
				want = socket.ErrStops
				_ = ws.Close(code, "go elsewhere")
			default:
				want = socket.ErrNone
				_ = ws.Close(code, "another token")
			}
			if o := come(t, got); !errors.Is(o.err, want) {
				t.Errorf("%v, want %v", o.err, want)
			}
			synctest.Wait()
			none(t, n)
			for range 3 { // not longer for a stream that was good for something
				time.Sleep(time.Second)
				again := ask(t.Context(), n, "a", false)
				ws = come(t, far.begun)
				far.done(ws, again)
				_ = ws.CloseNow()
				synctest.Wait()
				none(t, n)
			}
		})
	}
}

// TestGoodbyeWhileAsked: a node stops while a request is on its way to it, which it takes no more. The write fails, and the request goes to another node all the
// same: the node has said that it has not begun it.
func TestGoodbyeWhileAsked(t *testing.T) {
	inBubble(t, func(t *testing.T, far *far) {
		n := far.node(true)
		defer n.Close()
		got, ws, q := far.first(t.Context(), n)
		far.reply(ws, stream.Answer{N: q.N, Status: http.StatusOK})
		far.expect(come(t, got), http.StatusOK)
		failed := make(chan error, 1)
		go func() {
			large := []byte(`"` + strings.Repeat("x", 6<<20) + `"`) // more than the network buffers
			_, _, err := n.Ask(t.Context(), owner("a"), &stream.Request{Method: "POST", Path: "/v1/tasks", Body: large}, false)
			failed <- err
		}()
		synctest.Wait()
		go func() { _ = ws.Close(websocket.StatusGoingAway, "this node stops") }()
		if err := come(t, failed); !errors.Is(err, socket.ErrStops) {
			t.Errorf("%v, want %v", err, socket.ErrStops)
		}
	})
}

// TestGivenUp: nobody waits for a request whose context ended. The server is told, and the request's place is free when its answer comes.
func TestGivenUp(t *testing.T) {
	inBubble(t, func(t *testing.T, far *far) {
		n := far.node(true)
		defer n.Close()
		ctx, cancel := context.WithCancel(t.Context())
		got, ws, q := far.first(ctx, n)
		cancel()
		if o := come(t, got); !errors.Is(o.err, socket.ErrLost) || !errors.Is(o.err, context.Canceled) {
			t.Error(o.err)
		}
		if c := far.receive(ws, 1)[0]; c.N != q.N || !c.Cancel {
			t.Errorf("the server was told %+v", c)
		}
		var more []<-chan outcome
		for range stream.MaxUnderWay - 1 {
			more = append(more, ask(t.Context(), n, "a", false))
		}
		all := far.receive(ws, stream.MaxUnderWay-1)
		ctx, cancel = context.WithCancel(t.Context())
		unsent := ask(ctx, n, "a", false)
		synctest.Wait()
		cancel()
		if o := come(t, unsent); !errors.Is(o.err, socket.ErrUnsent) {
			t.Errorf("one too many: %v", o.err)
		}
		last := ask(t.Context(), n, "a", false)
		synctest.Wait()
		far.reply(ws, stream.Answer{N: q.N, Status: 499})
		all = append(all, far.receive(ws, 1)...)
		for _, q := range all {
			far.reply(ws, stream.Answer{N: q.N, Status: 200})
		}
		for _, c := range append(more, last) {
			far.expect(come(t, c), 200)
		}
	})
}

// TestLong: requests that wait long take half of the places, and the others go by HTTP.
func TestLong(t *testing.T) {
	inBubble(t, func(t *testing.T, far *far) {
		n := far.node(true)
		defer n.Close()
		for range stream.MaxUnderWay / 2 {
			ask(t.Context(), n, "a", true)
		}
		ws := come(t, far.begun)
		waiting := far.receive(ws, stream.MaxUnderWay/2)
		if o := come(t, ask(t.Context(), n, "a", true)); !errors.Is(o.err, socket.ErrNone) {
			t.Errorf("one long one too many: %+v", o)
		}
		short := ask(t.Context(), n, "a", false)
		far.done(ws, short)
		far.reply(ws, stream.Answer{N: waiting[0].N, Status: 200})
		synctest.Wait()
		long := ask(t.Context(), n, "a", true)
		far.done(ws, long)
		_ = ws.CloseNow()
		synctest.Wait()
	})
}

// TestSilence: a node that is away without a word is noticed, although no request has a deadline.
func TestSilence(t *testing.T) {
	inBubble(t, func(t *testing.T, far *far) {
		n := far.node(true)
		defer n.Close()
		got, ws, _ := far.first(t.Context(), n)
		go ws.Read(context.Background()) // to answer pings
		time.Sleep(5 * time.Minute)      // and pings are answered
		select {
		case o := <-got:
			t.Fatalf("%+v", o)
		default:
		}
		far.net.Cut("client", "far")
		begun := time.Now()
		if o := come(t, got); !errors.Is(o.err, socket.ErrLost) || time.Since(begun) > 30*time.Second {
			t.Errorf("%v after %v", o.err, time.Since(begun))
		}
		far.net.Heal("client", "far")
	})
}

// TestIdle: a stream that nobody uses ends after a while, and the next request has another one at once.
func TestIdle(t *testing.T) {
	inBubble(t, func(t *testing.T, far *far) {
		n := far.node(true)
		defer n.Close()
		for range 2 {
			got := ask(t.Context(), n, "a", false)
			ws := come(t, far.begun)
			far.done(ws, got)
			if _, _, err := ws.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
				t.Errorf("it ended with %v", err)
			}
			synctest.Wait()
		}
	})
}

// TestRefused: a server without streams, or one of another cluster or that speaks otherwise, is asked once a minute at most.
func TestRefused(t *testing.T) {
	for name, how := range map[string]func(x *far){
		"no streams":      func(x *far) { x.refusal.Store(http.StatusNotFound) },
		"another cluster": func(x *far) { x.cluster = "theirs" },
		"another form":    func(x *far) { x.forms = nil },
	} {
		inBubble(t, func(t *testing.T, far *far) {
			how(far)
			n := far.node(true)
			defer n.Close()
			for range 600 {
				none(t, n)
				time.Sleep(time.Second)
			}
			if k := far.handshakes.Load(); k < 10 || k > 16 {
				t.Errorf("%s: %d handshakes in ten minutes", name, k)
			}
			for len(far.begun) > 0 {
				_ = (<-far.begun).CloseNow()
			}
		})
	}
}

// TestRetire: a stream whose node answers too late gets no more requests.
func TestRetire(t *testing.T) {
	inBubble(t, func(t *testing.T, far *far) {
		n := far.node(true)
		defer n.Close()
		ask(t.Context(), n, "a", false)
		far.receive(come(t, far.begun), 1)
		n.Retire()
		got := ask(t.Context(), n, "a", false)
		ws := come(t, far.begun)
		far.done(ws, got)
		far.net.Crash("far")
		synctest.Wait()
	})
}

// TestClose: requests under way get their answers, then the stream ends, and no other one begins.
func TestClose(t *testing.T) {
	inBubble(t, func(t *testing.T, far *far) {
		n := far.node(true)
		got, ws, q := far.first(t.Context(), n)
		n.Close()
		synctest.Wait()
		far.reply(ws, stream.Answer{N: q.N, Status: 200})
		far.expect(come(t, got), 200)
		if _, _, err := ws.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
			t.Errorf("it ended with %v", err)
		}
		none(t, n)
		if far.handshakes.Load() != 1 {
			t.Error("another handshake")
		}
	})
}
