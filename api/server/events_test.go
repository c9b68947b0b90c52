package server_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/api/server/pages"
	"github.com/taskrt/taskrt/api/server/socket"
	"github.com/taskrt/taskrt/internal/memnet"
	"github.com/taskrt/taskrt/internal/mux"
)

// source is a Service whose event streams a test feeds.
type source struct {
	api.Service
	mu       sync.Mutex
	requests []api.EventsRequest
	open     int
	err      error
	feed     chan api.Event
	position uint64
}

func (s *source) Events(_ context.Context, r api.EventsRequest) (api.EventStream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	if s.err != nil {
		return nil, s.err
	}
	s.open++
	return &sourceStream{s, r.HasAfter && r.After == 0}, nil
}

type sourceStream struct {
	s     *source
	reset bool // the stream would begin with a reset
}

func (x *sourceStream) Next(ctx context.Context) (api.Event, error) {
	select {
	case e, ok := <-x.s.feed:
		if !ok {
			return e, api.NewError(api.CodeNotReady, "stopping")
		}
		return e, nil
	case <-ctx.Done():
		return api.Event{}, ctx.Err()
	}
}

func (x *sourceStream) Position() uint64 {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	if x.reset {
		return 0
	}
	return x.s.position
}

func (x *sourceStream) Close() {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	x.s.open--
}

func (s *source) streams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

func (s *source) at(position uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.position = position
}

// bubble is a network in which servers and clients of the API speak in virtual time.
type bubble struct {
	t       *testing.T
	net     *memnet.Net
	gate    server.Gate   // of the servers that come; nil: none
	late    time.Duration // so much later than the client has it a server learns that it has written something
	streams *socket.Group // of the server that was served last
	crashed atomic.Bool   // a server may end without being stopped
}

func inBubble(t *testing.T, f func(t *testing.T, b *bubble)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{t: t, net: memnet.New()}
		defer b.net.Close()
		f(t, b)
	})
}

// serve serves s at addr. The returned function stops the server as SIGTERM stops a process.
func (b *bubble) serve(addr string, s api.Service) (stop func()) {
	ctx, cancel := context.WithCancel(b.t.Context())
	b.streams = socket.NewGroup()
	ctx = b.streams.In(ctx)
	done := make(chan struct{})
	log := slog.New(slog.DiscardHandler)
	ln := lateListener{b.net.Node(addr).Listen(mux.Peer), b.late}
	go func() {
		defer close(done)
		if err := server.Serve(ctx, ln, server.New(s, server.Config{Logger: log, Stopping: ctx, Door: pages.NewDoor(addr), Gate: b.gate}), log); err != nil && !b.crashed.Load() {
			b.t.Errorf("serve %s: %v", addr, err)
		}
	}()
	return func() { cancel(); <-done }
}

// lateListener accepts connections whose Write returns late.
type lateListener struct {
	net.Listener
	by time.Duration
}

func (l lateListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return lateConn{c, l.by}, err
}

type lateConn struct {
	net.Conn
	by time.Duration
}

func (c lateConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if c.by > 0 {
		<-time.After(c.by)
	}
	return n, err
}

func (b *bubble) dial(ctx context.Context, addr string) (net.Conn, error) {
	return b.net.Node("client").Dial(ctx, addr, mux.Peer)
}

// get sends a request for events by hand. It returns the connection, of which the header has been read, and the header.
func (b *bubble) get(addr, query string, headers ...string) (net.Conn, *bufio.Reader, *http.Response) {
	b.t.Helper()
	c, err := b.dial(b.t.Context(), addr)
	if err != nil {
		b.t.Fatal(err)
	}
	fmt.Fprintf(c, "GET /v1/events%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", query, strings.Join(append(headers, ""), "\r\n"))
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return c, bufio.NewReader(res.Body), res
}

// block reads up to the next empty line.
func block(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	var b strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("after %q: %v", b.String(), err)
		}
		if line == "\n" {
			return b.String()
		}
		b.WriteString(line)
	}
}

func TestEventsOnTheWire(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := &source{feed: make(chan api.Event), position: 6}
		stop := b.serve("n1", s)
		defer stop()
		c, r, res := b.get("n1", "?id=abc&id=abd&behavior=b.one&parent=op1&status=SUCCESS&namespace=default", "Last-Event-ID: 4")
		defer c.Close()
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%d %v", res.StatusCode, res.Header)
		}
		want := api.EventsRequest{Namespace: "default", Behavior: "b.one", IDs: []string{"abc", "abd"}, Parent: "op1", Status: "SUCCESS", HasAfter: true, After: 4}
		if got := s.requests[0]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("request %+v, want %+v", got, want)
		}
		expect := func(want string) {
			t.Helper()
			if got := block(t, r); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		expect(":\nid: 6\n")
		began := time.Now()
		expect(":\n") // comes 15 s later
		if d := time.Since(began); d != 15*time.Second {
			t.Errorf("a heartbeat after %v", d)
		}
		for _, x := range []struct {
			e    api.Event
			want string
		}{
			{api.Event{Kind: "task", Rev: 7, Data: []byte(`{"task":{}}`)}, "event: task\nid: 7\ndata: {\"task\":{}}\n"},
			{api.Event{Kind: "progress", Data: []byte(`{}`)}, "event: progress\ndata: {}\n"},
			{api.Event{Kind: "removed", Rev: 8, Data: []byte(`{}`)}, "event: removed\nid: 8\ndata: {}\n"},
			{api.Event{Kind: "reset", Data: []byte(`{}`)}, "event: reset\nid: 0\ndata: {}\n"},
			{api.Event{Kind: "task", Data: []byte("1\n2")}, "event: task\ndata: 1\ndata: 2\n"},
			{api.Event{Kind: "reset", Rev: 9, Data: []byte(`{}`)}, "event: reset\nid: 9\ndata: {}\n"},
		} {
			s.feed <- x.e
			expect(x.want)
		}
		s.at(12)
		expect(":\nid: 12\n")
	})
}

func TestEventsRequestsThatAreRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := &source{feed: make(chan api.Event)}
		stop := b.serve("n1", s)
		defer stop()
		for _, x := range []struct {
			query, header string
			status        int
		}{
			{"", "Last-Event-ID: x", 400}, {"", "Last-Event-ID: -1", 400}, {"", "Last-Event-ID: 9223372036854775808", 400},
			{"?status=DONE", "A: b", 400}, {"?id=a", "A: b", 400}, {"?id=abc&id=abc", "A: b", 400}, {"?colour=red", "A: b", 400},
			{"?behavior=a&behavior=b", "A: b", 400}, {"?namespace=%20", "A: b", 400},
			{"", "Last-Event-ID: ", 200}, {"", "Last-Event-ID: 0", 200},
		} {
			c, _, res := b.get("n1", x.query, x.header)
			c.Close()
			if res.StatusCode != x.status {
				t.Errorf("%s %s: %d", x.query, x.header, res.StatusCode)
			}
		}
		s.mu.Lock()
		s.err = api.NewError(api.CodeOverloaded, "too many")
		s.mu.Unlock()
		c, _, res := b.get("n1", "", "A: b")
		c.Close()
		if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
			t.Errorf("%d %v", res.StatusCode, res.Header)
		}
	})
}

// cutOff feeds events with the data to readers that take nothing until none is left, or far too many were taken, and returns how many
// were.
func (s *source) cutOff(data []byte) (taken int) {
	for s.streams() > 0 && taken < 10_000 {
		select {
		case s.feed <- api.Event{Kind: "task", Rev: 1, Data: data}:
			taken++
		case <-time.After(100 * time.Millisecond):
		}
	}
	return taken
}

// TestAReaderThatStopsIsCutOff: a client that takes nothing for 30 s is cut off. Until then it costs a bounded buffer.
func TestAReaderThatStopsIsCutOff(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := &source{feed: make(chan api.Event)}
		stop := b.serve("n1", s)
		defer stop()
		c, _, _ := b.get("n1", "", "A: b") // the test never reads from it
		defer c.Close()
		began := time.Now()
		taken := s.cutOff(bytes.Repeat([]byte("x"), 10<<10))
		if d := time.Since(began); d < 29*time.Second || d > 35*time.Second {
			t.Errorf("cut off after %v", d)
		}
		if taken > 1000 {
			t.Errorf("%d events were taken for a client that reads none", taken)
		}
	})
}

// TestStreamsEndWithTheServer: a server that stops ends its streams at once.
func TestStreamsEndWithTheServer(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := &source{feed: make(chan api.Event)}
		stop := b.serve("n1", s)
		c, r, _ := b.get("n1", "", "A: b")
		defer c.Close()
		block(t, r)
		began := time.Now()
		stop()
		if d := time.Since(began); d > time.Second || s.streams() != 0 {
			t.Errorf("stopped after %v, %d streams open", d, s.streams())
		}
		if _, err := r.ReadByte(); err == nil {
			t.Error("the stream goes on")
		}
	})
}

// TestClientGoesOnElsewhere: after its connection broke, the client asks for what follows the events that it has seen.
func TestClientGoesOnElsewhere(t *testing.T) {
	for _, x := range []struct {
		name   string
		events []api.Event
		want   uint64 // Last-Event-ID of the second request
	}{
		{"nothing seen", nil, 5},
		{"a task", []api.Event{{Kind: "task", Rev: 7, Data: []byte("1")}}, 7},
		{"then progress", []api.Event{{Kind: "task", Rev: 7, Data: []byte("1")}, {Kind: "progress", Data: []byte("2")}}, 7},
		{"in the middle of a reset", []api.Event{{Kind: "task", Rev: 7, Data: []byte("1")}, {Kind: "reset", Data: []byte("{}")}, {Kind: "task", Data: []byte("2")}}, 0},
		{"after a reset", []api.Event{{Kind: "reset", Data: []byte("{}")}, {Kind: "task", Data: []byte("2")}, {Kind: "task", Rev: 9, Data: []byte("3")}}, 9},
	} {
		for _, how := range []string{"stopped", "crashed", "silent"} {
			inBubble(t, func(t *testing.T, b *bubble) {
				one, two := &source{feed: make(chan api.Event), position: 5}, &source{feed: make(chan api.Event), position: 1}
				stopOne, stopTwo := b.serve("n1", one), b.serve("n2", two)
				defer stopTwo()
				transport := &http.Transport{DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
					return b.dial(ctx, strings.TrimSuffix(addr, ":80"))
				}}
				client, err := client.New(client.Config{URLs: []string{"http://n1", "http://n2"}, Transport: transport})
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				stream, err := client.Events(t.Context(), api.EventsRequest{IDs: []string{"abc"}})
				if err != nil {
					t.Fatal(err)
				}
				defer stream.Close()
				var got []string
				read := func() {
					e, err := stream.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, e.Kind+string(e.Data))
				}
				var want []string
				for _, e := range x.events {
					one.feed <- e
					read()
					want = append(want, e.Kind+string(e.Data))
				}
				synctest.Wait()
				switch how {
				case "stopped":
					stopOne()
				case "crashed":
					b.crashed.Store(true)
					b.net.Crash("n1")
					defer stopOne()
				case "silent":
					b.net.Isolate("n1")
					defer stopOne()
					defer b.net.HealAll()
				}
				two.feed <- api.Event{Kind: "task", Rev: 20, Data: []byte("last")}
				read()
				want = append(want, "tasklast")
				if !slices.Equal(got, want) || stream.Position() != 20 {
					t.Errorf("%s, %s: got %q, want %q, position %d", x.name, how, got, want, stream.Position())
				}
				if r := two.requests[0]; !r.HasAfter || r.After != x.want || len(r.IDs) != 1 {
					t.Errorf("%s, %s: asked %+v, want after %d", x.name, how, r, x.want)
				}
				transport.CloseIdleConnections()
			})
		}
	}
}

// TestClientGivesUpAStream: a final answer ends the stream at once. If nobody answers, the stream ends after RetryFor.
func TestClientGivesUpAStream(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := &source{feed: make(chan api.Event)}
		stop := b.serve("n1", s)
		transport := &http.Transport{DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return b.dial(ctx, strings.TrimSuffix(addr, ":80"))
		}}
		defer transport.CloseIdleConnections()
		cl, err := client.New(client.Config{URLs: []string{"http://n1"}, Transport: transport, RetryFor: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		stream, err := cl.Events(t.Context(), api.EventsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		stop()
		b.net.Crash("n1")
		began := time.Now()
		if _, err := stream.Next(t.Context()); api.CodeOf(err) != client.CodeUnreachable {
			t.Errorf("%v", err)
		}
		if d := time.Since(began); d < 5*time.Second || d > 40*time.Second {
			t.Errorf("gave up after %v", d)
		}
		if _, err := stream.Next(t.Context()); err == nil {
			t.Error("goes on")
		}
		stream.Close()
		if _, err := cl.Events(t.Context(), api.EventsRequest{Status: "DONE"}); api.CodeOf(err) != api.CodeInvalidField {
			t.Errorf("%v", err)
		}
	})
}
