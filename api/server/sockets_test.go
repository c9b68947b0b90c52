package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/api/stream"
	"github.com/taskrt/taskrt/task/access"
)

// holding is a Service whose reads of the task "held" wait until they are let go.
type holding struct {
	api.Service
	mu     sync.Mutex
	held   int
	most   int
	letGo  chan struct{}
	undone int
	big    string
}

func (s *holding) Task(ctx context.Context, ns, id string, _ api.GetOptions) (*api.Task, error) {
	switch id {
	case "held":
		s.mu.Lock()
		s.held++
		s.most = max(s.most, s.held)
		s.mu.Unlock()
		defer func() { s.mu.Lock(); s.held--; s.mu.Unlock() }()
		select {
		case <-s.letGo:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case "panic":
		panic("a bug")
	}
	return &api.Task{Namespace: ns, ID: id, Params: json.RawMessage(`"` + s.big + `"`)}, nil
}

func (s *holding) Accept(context.Context, api.AcceptRequest) (*api.AcceptReply, error) {
	return &api.AcceptReply{Tasks: []*api.Task{{ID: "t"}}, Undelivered: func() { s.mu.Lock(); s.undone++; s.mu.Unlock() }}, nil
}

func (s *holding) counts() (held, most, undone int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held, s.most, s.undone
}

func get(id string) stream.Request {
	return stream.Request{Method: "GET", Path: "/v1/tasks/" + id}
}

// streamTo begins a stream at a server of the bubble.
func (b *bubble) streamTo(addr string) *apitest.Stream {
	by := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return b.dial(ctx, addr) }}}
	return apitest.DialStream(b.t, by, "http://localhost", stream.Forms()[0], nil)
}

func send(t *testing.T, s *apitest.Stream, requests ...stream.Request) []<-chan stream.Answer {
	t.Helper()
	answers, err := s.Send(requests...)
	if err != nil {
		t.Fatal(err)
	}
	return answers
}

// come returns what comes. A test must not wait for ever for an answer that does not come: in a bubble the bound is virtual.
func come[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(10 * time.Minute):
		t.Fatal("nothing has come for ten minutes")
	}
	panic("unreachable")
}

func codeOf(a stream.Answer) string {
	var e api.Error
	_ = json.Unmarshal(a.Body, &e)
	return e.Code
}

// TestStreamAnswersAsTheyCome: of the requests of one message the one that waits keeps nobody; nobody waits for one that was given up; and a bug ends one
// request only (SPEC H5).
func TestStreamAnswersAsTheyCome(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := &holding{letGo: make(chan struct{})}
		stop := b.serve("n1", s)
		defer stop()
		c := b.streamTo("n1")
		defer c.Close()
		answers := send(t, c, get("held"), get("panic"), get("one"), stream.Request{Method: "GET", Path: "/v1/events"}, stream.Request{Method: "HEAD", Path: "/v1/tasks/one"},
			stream.Request{Method: "GET", Path: "/metrics"}, stream.Request{Method: "GET", Path: "/v1/stream"}, stream.Request{Method: "GET", Path: "/v1/nothing"})
		for i, want := range []string{1: "500 internal", 2: "200 ", 3: "400 bad_request", 4: "400 invalid_field", 5: "400 invalid_field", 6: "400 bad_request", 7: "404 not_found"} {
			if want == "" {
				continue
			}
			a := come(t, answers[i])
			if got := fmt.Sprintf("%d %s", a.Status, codeOf(a)); got != want {
				t.Errorf("request %d: %s, not %s: %s", i, got, want, a.Body)
			}
		}
		if held, _, _ := s.counts(); held != 1 {
			t.Fatalf("%d requests wait", held)
		}
		send(t, c, stream.Request{N: 1, Cancel: true}, stream.Request{N: 99, Cancel: true})
		if a := come(t, answers[0]); codeOf(a) != api.CodeOutcomeUnknown {
			t.Errorf("given up: %+v", a)
		}
	})
}

// TestStreamIsBounded: no more requests are under way than a stream may have. The rest is not read until some have been answered (SPEC H5).
func TestStreamIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := &holding{letGo: make(chan struct{})}
		stop := b.serve("n1", s)
		defer stop()
		c := b.streamTo("n1")
		defer c.Close()
		many := make([]stream.Request, stream.MaxUnderWay+40)
		for i := range many {
			many[i] = get("held")
		}
		answers := send(t, c, many...)
		synctest.Wait()
		if held, _, _ := s.counts(); held != stream.MaxUnderWay {
			t.Errorf("%d requests are under way", held)
		}
		if open, n := b.streams.Open(), b.streams.UnderWay(); open != 1 || n != stream.MaxUnderWay {
			t.Errorf("%d streams with %d requests are told", open, n)
		}
		<-time.After(10 * time.Minute) // the client answers no ping meanwhile that lies behind: it is there all the same
		close(s.letGo)
		for _, c := range answers {
			if a := come(t, c); a.Status != 200 {
				t.Errorf("%+v", a)
			}
		}
		if _, most, _ := s.counts(); most != stream.MaxUnderWay {
			t.Errorf("%d requests were under way", most)
		}
		send(t, c, get("held"), get("one"))
		c.Close()
		synctest.Wait()
		if open, n := b.streams.Open(), b.streams.UnderWay(); open != 0 || n != 0 {
			t.Errorf("%d streams with %d requests are told afterwards", open, n)
		}
	})
}

// TestStreamDrains: when the server stops, what is under way gets its answer, what is new is refused, and then the client is told to go elsewhere (SPEC H5).
func TestStreamDrains(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := &holding{letGo: make(chan struct{})}
		stop := b.serve("n1", s)
		c := b.streamTo("n1")
		defer c.Close()
		under := send(t, c, get("held"))
		synctest.Wait()
		stopped := make(chan struct{})
		go func() { stop(); close(stopped) }()
		synctest.Wait()
		refused := send(t, c, get("one"))
		if a := come(t, refused[0]); codeOf(a) != api.CodeNotReady {
			t.Errorf("a new request: %+v", a)
		}
		close(s.letGo)
		if a := come(t, under[0]); a.Status != 200 {
			t.Errorf("the request under way: %+v", a)
		}
		if err := c.Ended(); websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("the end: %v", err)
		}
		<-stopped
	})
}

// TestStreamIsCutOff: a server that stops waits for its streams as long as for other requests, and not longer.
func TestStreamIsCutOff(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := &holding{letGo: make(chan struct{})}
		stop := b.serve("n1", s)
		c := b.streamTo("n1")
		defer c.Close()
		under := send(t, c, get("held"))
		synctest.Wait()
		began := time.Now()
		stop()
		if d := time.Since(began); d < 4*time.Second || d > 8*time.Second {
			t.Errorf("stopped after %v", d)
		}
		if a, ok := <-under[0]; ok {
			t.Errorf("answered %+v", a)
		}
	})
}

// raw begins a stream by hand: what is written to the connection afterwards are frames.
func (b *bubble) raw(addr string) net.Conn {
	b.t.Helper()
	c, err := b.dial(b.t.Context(), addr)
	if err != nil {
		b.t.Fatal(err)
	}
	fmt.Fprint(c, "GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Protocol: x, taskrt.v1+json\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols || res.Header.Get("Sec-WebSocket-Protocol") != "taskrt.v1+json" || res.Header.Get("Sec-WebSocket-Extensions") != "" {
		b.t.Fatalf("%v, %+v", err, res)
	}
	return c
}

// message writes a message of 126 bytes or more as one frame.
func (b *bubble) message(c net.Conn, text string) {
	b.t.Helper()
	frame := append([]byte{0x81, 0x80 | 126, byte(len(text) >> 8), byte(len(text)), 0, 0, 0, 0}, text...)
	if _, err := c.Write(frame); err != nil {
		b.t.Fatal(err)
	}
}

// gets is a message of n requests.
func gets(n int) string {
	var m strings.Builder
	for i := range n {
		fmt.Fprintf(&m, `,{"n":%d,"method":"GET","path":"/v1/tasks/one"}`, i+1)
	}
	return `{"requests":[` + m.String()[1:] + `]}`
}

// untilGone returns when the server has closed a connection, whatever it has sent before.
func untilGone(c net.Conn) {
	for b := make([]byte, 4096); ; {
		if _, err := c.Read(b); err != nil {
			return
		}
	}
}

// TestStreamOfAHostileClient: whatever a client sends or leaves out, its connection ends in time, and holds little until then (SPEC H5).
func TestStreamOfAHostileClient(t *testing.T) {
	const masked, text, rsv1 = 0x80, 0x81, 0x40
	mask := "\x00\x00\x00\x00"
	for name, x := range map[string]struct {
		frames string
		most   time.Duration
	}{
		"says nothing":                 {"", 2 * time.Minute},
		"announces 2^62 bytes":         {string([]byte{text, masked | 127, 0x40, 0, 0, 0, 0, 0, 0, 0}) + mask + "x", time.Minute},
		"announces 10 MB, sends some":  {string([]byte{text, masked | 127, 0, 0, 0, 0, 0, 0x98, 0x96, 0x80}) + mask + strings.Repeat("x", 1000), time.Minute},
		"a message without an end":     {string([]byte{0x01, masked | 1}) + mask + "x", time.Minute},
		"compressed, without a word":   {string([]byte{text | rsv1, masked | 1}) + mask + "x", 20 * time.Second},
		"half a header":                {string([]byte{text}), 2 * time.Minute},
		"not masked":                   {string([]byte{text, 1}) + "x", 20 * time.Second},
		"a control frame of 200 bytes": {string([]byte{0x89, masked | 126, 0, 200}) + mask + strings.Repeat("x", 200), 20 * time.Second},
	} {
		inBubble(t, func(t *testing.T, b *bubble) {
			s := &holding{}
			stop := b.serve("n1", s)
			defer stop()
			c := b.raw("n1")
			defer c.Close()
			if _, err := c.Write([]byte(x.frames)); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			untilGone(c)
			if d := time.Since(began); d > x.most {
				t.Errorf("%s: closed after %v", name, d)
			}
		})
	}
}

// TestStreamOfASlowReader: a client that takes no answers is read no further, and cut off (SPEC H5).
func TestStreamOfASlowReader(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := &holding{big: strings.Repeat("x", 1<<20)}
		stop := b.serve("n1", s)
		defer stop()
		c := b.raw("n1")
		defer c.Close()
		b.message(c, gets(100))
		<-time.After(65 * time.Second) // virtual
		synctest.Wait()
		began := time.Now()
		untilGone(c)
		if d := time.Since(began); d > time.Second {
			t.Errorf("it was there for %v more", d)
		}
	})
}

// TestStreamMessagesThatAreRefused: what cannot be read ends the stream, with a code that says why.
func TestStreamMessagesThatAreRefused(t *testing.T) {
	for message, want := range map[string]websocket.StatusCode{
		`{`:                                     1007,
		`[]`:                                    1007,
		`{}`:                                    1007,
		`{"requests":[]}`:                       1007,
		`{"requests":[{"n":0}]}`:                1007,
		`{"requests":[{"n":-1}]}`:               1007,
		`{"requests":[{"n":1,"n":2}]}`:          1007,
		`{"requests":[{"n":9007199254740992}]}`: 1007,
		`{"requests":[{"n":1,"headers":{}}]}`:   1007,
		`{"requests":[{"n":1,"N":1}]}`:          1007,
		`{"requests":[{"n":1}],"more":1}`:       1007,
		`{"requests":[{"n":1,"cancel":true,"after":0}]}`:                                                               1008,
		`{"requests":[{"n":1,"cancel":true,"key":"k"}]}`:                                                               1008,
		`{"requests":[{"n":7,"method":"GET","path":"/v1/tasks/held"},{"n":7,"method":"GET","path":"/v1/tasks/held"}]}`: 1008,
		`{"requests":[{"n":1,"body":"` + strings.Repeat("x", stream.MaxMessage) + `"}]}`:                               1009,
	} {
		inBubble(t, func(t *testing.T, b *bubble) {
			stop := b.serve("n1", &holding{letGo: make(chan struct{})})
			defer stop()
			c := b.streamTo("n1")
			defer c.Close()
			_ = c.Raw(message) // the server may close the connection before it has all
			if err := c.Ended(); websocket.CloseStatus(err) != want {
				t.Errorf("%.80s: %v", message, err)
			}
		})
	}
}

// TestStreamGivesTasksBack: tasks whose answer did not arrive are given back, as over HTTP.
func TestStreamGivesTasksBack(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := &holding{big: strings.Repeat("x", 512<<10)}
		stop := b.serve("n1", s)
		defer stop()
		accept := stream.Request{Method: "POST", Path: "/v1/behaviors/bee/accept", Body: json.RawMessage(`{"worker":"w"}`)}
		c := b.streamTo("n1")
		if a := come(t, send(t, c, accept)[0]); a.Status != 200 {
			t.Errorf("%+v", a)
		}
		c.Close()
		synctest.Wait()
		if _, _, undone := s.counts(); undone != 0 {
			t.Errorf("%d answers that arrived were given back", undone)
		}
		// This client takes nothing: what it is answered first fills the connection, and the tasks lie behind.
		deaf := b.raw("n1")
		b.message(deaf, gets(40))
		synctest.Wait()
		b.message(deaf, `{"requests":[{"n":99,"method":"POST","path":"/v1/behaviors/bee/accept","body":{"worker":"w","request_id":"`+strings.Repeat("r", 60)+`"}}]}`)
		synctest.Wait()
		_ = deaf.Close()
		synctest.Wait()
		if _, _, undone := s.counts(); undone != 1 {
			t.Errorf("%d answers were given back", undone)
		}
	})
}

// TestStreamOfAClientThatHangsUp: a client that has its answer may hang up before the server knows that it has written it. Its tasks are its own (SPEC J2, H5).
func TestStreamOfAClientThatHangsUp(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := &holding{}
		b.late = time.Second
		stop := b.serve("n1", s)
		defer stop()
		c := b.streamTo("n1")
		accept := stream.Request{Method: "POST", Path: "/v1/behaviors/bee/accept", Body: json.RawMessage(`{"worker":"w"}`)}
		if a := come(t, send(t, c, accept)[0]); a.Status != 200 {
			t.Errorf("%+v", a)
		}
		c.Close()
		<-time.After(time.Minute)
		if _, _, undone := s.counts(); undone != 0 {
			t.Errorf("%d answers that arrived were given back", undone)
		}
	})
}

// TestStreamHandshake: what is no handshake, or not from where it should be, is refused with a problem.
func TestStreamHandshake(t *testing.T) {
	gate := byName{}
	p := &auth.Principal{Name: "p", Number: 2, Grant: access.Grant{Namespaces: []string{"*"}, Behaviors: []string{"*"}}}
	p.Grant.Roles, _ = access.Role("read")
	gate["Bearer p"] = p
	s := &holding{}
	served := httptest.NewServer(server.New(s, server.Config{Logger: slog.New(slog.DiscardHandler), Gate: gate}))
	t.Cleanup(served.Close)
	whole := []string{"Authorization: Bearer p", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Protocol: taskrt.v1+cbor"}
	for name, x := range map[string]struct {
		without string
		with    string
		code    string
	}{
		"no token":          {without: "Authorization", code: api.CodeUnauthenticated},
		"no upgrade":        {without: "Upgrade", code: api.CodeBadRequest},
		"no key":            {without: "Sec-WebSocket-Key", code: api.CodeBadRequest},
		"no subprotocol":    {without: "Sec-WebSocket-Protocol", code: api.CodeBadRequest},
		"another page":      {with: "Origin: http://evil.example", code: api.CodeCrossOrigin},
		"another site":      {with: "Sec-Fetch-Site: cross-site", code: api.CodeCrossOrigin},
		"an older protocol": {without: "Sec-WebSocket-Version", with: "Sec-WebSocket-Version: 8", code: api.CodeBadRequest},
		"another cluster":   {with: "Taskrt-Cluster: other", code: api.CodeNotReady},
	} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, served.URL+stream.Path, http.NoBody)
		for _, h := range append(whole, x.with) {
			if n, v, ok := strings.Cut(h, ": "); ok && (n != x.without || h == x.with) {
				req.Header[http.CanonicalHeaderKey(n)] = []string{v}
			}
		}
		res, err := served.Client().Do(req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var e api.Error
		_ = json.NewDecoder(res.Body).Decode(&e)
		_ = res.Body.Close()
		if e.Code != x.code || res.StatusCode != api.StatusOf(x.code) || res.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %+v", name, res.StatusCode, e)
		}
	}
	c := apitest.DialStream(t, nil, served.URL, stream.Forms()[1], http.Header{"Authorization": {"Bearer p"}})
	submit := stream.Request{Method: "POST", Path: "/v1/tasks", Body: json.RawMessage(`{"behavior":"b","namespace":"default"}`)}
	answers := send(t, c, get("one"), stream.Request{Method: "POST", Path: "/v1/tasks?namespace=default", Body: submit.Body})
	if a := come(t, answers[0]); a.Status != 200 {
		t.Errorf("what the token may do: %+v", a)
	}
	if a := come(t, answers[1]); codeOf(a) != api.CodeForbidden {
		t.Errorf("what the token may not do: %+v", a)
	}
}

// TestStreamOfATokenThatEnds: each request of a stream is asked for its token, so one that was revoked gets nothing more (SPEC A4, H5).
func TestStreamOfATokenThatEnds(t *testing.T) {
	var mu sync.Mutex
	holds := true
	gate := asking(func() bool { mu.Lock(); defer mu.Unlock(); return holds })
	served := httptest.NewServer(server.New(&holding{}, server.Config{Logger: slog.New(slog.DiscardHandler), Gate: gate}))
	t.Cleanup(served.Close)
	c := apitest.DialStream(t, nil, served.URL, stream.Forms()[0], nil)
	if a := come(t, send(t, c, get("one"))[0]); a.Status != 200 {
		t.Errorf("before: %+v", a)
	}
	mu.Lock()
	holds = false
	mu.Unlock()
	if a := come(t, send(t, c, get("one"))[0]); codeOf(a) != api.CodeUnauthenticated {
		t.Errorf("after: %+v", a)
	}
}

// asking is a Gate that lets everybody in while it holds.
type asking func() bool

func (g asking) Enter(string, string) (*auth.Principal, error) {
	if !g() {
		return nil, auth.Unauthenticated()
	}
	return &auth.Principal{Name: "p", Grant: access.Everything()}, nil
}

func (asking) Guess(string) error { return nil }
