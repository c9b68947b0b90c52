package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/stream"
	"github.com/taskrt/taskrt/task/access"
)

// fed is a Service with the events of a source, and with every task.
type fed struct{ *source }

func (fed) Task(_ context.Context, ns, id string, _ api.GetOptions) (*api.Task, error) {
	return &api.Task{Namespace: ns, ID: id}, nil
}

// watching is a watch of a test.
type watching struct {
	t          *testing.T
	n          uint64
	parts, end <-chan stream.Answer
}

func watch(t *testing.T, c *apitest.Stream, path string, after *uint64) *watching {
	t.Helper()
	n, parts, end, err := c.Watch(path, after)
	if err != nil {
		t.Fatal(err)
	}
	return &watching{t, n, parts, end}
}

// next is the next part in short: its events, each as type, id, data.
func (w *watching) next() string {
	w.t.Helper()
	select {
	case a, ok := <-w.parts:
		if !ok {
			w.t.Fatalf("the watch has ended: %+v", <-w.end)
		}
		if a.Status != http.StatusOK || !a.More {
			w.t.Errorf("%+v", a)
		}
		var all []string
		for _, e := range a.Events {
			id := "-"
			if e.ID != nil {
				id = fmt.Sprint(*e.ID)
			}
			all = append(all, strings.TrimSpace(fmt.Sprint(e.Type, " ", id, " ", string(e.Data))))
		}
		return strings.Join(all, "; ")
	case <-time.After(time.Hour):
		w.t.Fatal("no part has come")
		return ""
	}
}

func (w *watching) expect(want string) {
	w.t.Helper()
	if got := w.next(); got != want {
		w.t.Errorf("%q, not %q", got, want)
	}
}

// TestWatchOverAStream: a watch is answered in parts, with what Server-Sent Events say, until it is cancelled (SPEC H5, W3).
func TestWatchOverAStream(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := fed{&source{feed: make(chan api.Event), position: 6}}
		stop := b.serve("n1", s)
		defer stop()
		c := b.streamTo("n1")
		defer c.Close()
		after := uint64(4)
		w := watch(t, c, "/v1/events?id=abc&id=abd&behavior=b.one&parent=op1&status=SUCCESS&namespace=default", &after)
		w.expect("6")
		want := api.EventsRequest{Namespace: "default", Behavior: "b.one", IDs: []string{"abc", "abd"}, Parent: "op1", Status: "SUCCESS", HasAfter: true, After: 4}
		if got := s.requests[0]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("request %+v, want %+v", got, want)
		}
		for _, x := range []struct {
			e    api.Event
			want string
		}{
			{api.Event{Kind: "task", Rev: 7, Data: []byte(`{"task":{}}`)}, `task 7 {"task":{}}`},
			{api.Event{Kind: "progress", Data: []byte(`{}`)}, "progress - {}"},
			{api.Event{Kind: "removed", Rev: 8, Data: []byte(`{}`)}, "removed 8 {}"},
			{api.Event{Kind: "reset", Data: []byte(`{}`)}, "reset 0 {}"},
			{api.Event{Kind: "reset", Rev: 9, Data: []byte(`{}`)}, "reset 9 {}"},
		} {
			s.feed <- x.e
			w.expect(x.want)
		}
		s.at(12)
		began := time.Now()
		w.expect("12") // the place has moved
		if d := time.Since(began); d > 15*time.Second {
			t.Errorf("told after %v", d)
		}
		send(t, c, stream.Request{N: w.n, Cancel: true})
		if a := come(t, w.end); a.Status != http.StatusOK || a.Body != nil || a.More {
			t.Errorf("the end: %+v", a)
		}
		if n := s.streams(); n != 0 {
			t.Errorf("%d are open", n)
		}
	})
}

// TestWatchesThatAreRefused: what HTTP refuses a watch is refused, too; and a watch is asked for as one (SPEC H5).
func TestWatchesThatAreRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		stop := b.serve("n1", fed{&source{feed: make(chan api.Event)}})
		defer stop()
		c := b.streamTo("n1")
		defer c.Close()
		far, one := uint64(1)<<63, uint64(1)
		for _, x := range []struct {
			request stream.Request
			want    string
		}{
			{stream.Request{Path: "/v1/events?status=DONE", Watch: true}, "invalid_field status"},
			{stream.Request{Path: "/v1/events?colour=red", Watch: true}, "unknown_field colour"},
			{stream.Request{Path: "/v1/events", Watch: true, After: &far}, "invalid_field Last-Event-ID"},
			{stream.Request{Path: "/v1/events"}, "bad_request watch"},
			{stream.Request{Path: "/v1/tasks/one", Watch: true}, "bad_request watch"},
			{stream.Request{Path: "/v1/tasks/one", After: &one}, "invalid_field after"},
			{stream.Request{Path: "/v1/audit", Watch: true}, "token_not_found "},
		} {
			x.request.Method = http.MethodGet
			a := come(t, send(t, c, x.request)[0])
			if e := problemOf(a); e.Code+" "+e.Field != x.want {
				t.Errorf("%+v: %s", x.request, a.Body)
			}
		}
	})
}

// TestWatchesAreBounded: watches beyond their bound are refused, and those that are there keep no request from its answer (SPEC H5).
func TestWatchesAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := fed{&source{feed: make(chan api.Event)}}
		stop := b.serve("n1", s)
		defer stop()
		c := b.streamTo("n1")
		defer c.Close()
		var all []*watching
		for range stream.MaxWatches {
			w := watch(t, c, "/v1/events", nil)
			w.expect("")
			all = append(all, w)
		}
		more := watch(t, c, "/v1/events", nil)
		if a := come(t, more.end); codeOf(a) != api.CodeOverloaded {
			t.Errorf("one more watch: %+v", a)
		}
		many := make([]stream.Request, 2*stream.MaxUnderWay)
		for i := range many {
			many[i] = get("one")
		}
		for _, answer := range send(t, c, many...) {
			if a := come(t, answer); a.Status != http.StatusOK {
				t.Errorf("%+v", a)
			}
		}
		send(t, c, stream.Request{N: all[0].n, Cancel: true})
		come(t, all[0].end)
		watch(t, c, "/v1/events", nil).expect("")
		if n := s.streams(); n != stream.MaxWatches {
			t.Errorf("%d watches are open", n)
		}
	})
}

// TestWatchOfASlowReader: a watch whose client takes nothing holds one part, and goes with its stream (SPEC H5).
func TestWatchOfASlowReader(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := fed{&source{feed: make(chan api.Event)}}
		stop := b.serve("n1", s)
		defer stop()
		c := b.raw("n1") // the test never reads from it
		defer c.Close()
		b.message(c, `{"requests":[{"n":1,"method":"GET","path":"/v1/events?`+strings.Repeat("&", 100)+`","watch":true}]}`)
		synctest.Wait()
		began := time.Now()
		taken := s.cutOff([]byte(`"` + strings.Repeat("x", 10<<10) + `"`))
		if d := time.Since(began); d < 29*time.Second || d > 70*time.Second {
			t.Errorf("cut off after %v", d)
		}
		if taken == 0 || taken > 1000 {
			t.Errorf("%d events were taken for a client that reads none", taken)
		}
	})
}

// TestWatchGoesOnElsewhere: when the server stops it tells each watch, and then the stream. The watch goes on at another node from the place that it
// knows, and misses and repeats nothing (SPEC H5).
func TestWatchGoesOnElsewhere(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		one := apitest.NewFake()
		defer one.Close()
		stopOne, stopTwo := b.serve("n1", one), b.serve("n2", one)
		defer stopTwo()
		if _, err := one.PutBehavior(t.Context(), api.PutBehaviorRequest{Name: "later", Policy: []byte(`{"kind":"external"}`)}); err != nil {
			t.Fatal(err)
		}
		submit := func(id string) {
			t.Helper()
			if _, err := one.Submit(t.Context(), api.SubmitRequest{Behavior: "later", ID: id}); err != nil {
				t.Fatal(err)
			}
		}
		c := b.streamTo("n1")
		defer c.Close()
		w := watch(t, c, "/v1/events?behavior=later", nil)
		var place uint64
		var seen []string
		take := func(a stream.Answer) {
			for _, e := range a.Events {
				if e.ID != nil {
					place = *e.ID
				}
				for _, id := range []string{"first", "second", "third"} {
					if strings.Contains(string(e.Data), `"`+id+`"`) {
						seen = append(seen, id)
					}
				}
			}
		}
		take(come(t, w.parts))
		submit("first")
		for len(seen) == 0 {
			take(come(t, w.parts))
		}
		go stopOne()
		if a := come(t, w.end); codeOf(a) != api.CodeNotReady {
			t.Errorf("the end of the watch: %+v", a)
		}
		if err := c.Ended(); websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("the end of the stream: %v", err)
		}
		submit("second")
		d := b.streamTo("n2")
		defer d.Close()
		w = watch(t, d, "/v1/events?behavior=later", &place)
		submit("third")
		for len(seen) < 3 {
			take(come(t, w.parts))
		}
		if got := strings.Join(seen, " "); got != "first second third" {
			t.Errorf("seen: %s", got)
		}
	})
}

func problemOf(a stream.Answer) (e api.Error) {
	_ = json.Unmarshal(a.Body, &e)
	return e
}

// revocable is a Gate with one token, which a test revokes.
type revocable struct{ holds context.Context }

func (g revocable) Enter(string, string) (*auth.Principal, error) {
	if g.holds.Err() != nil {
		return nil, auth.Unauthenticated()
	}
	return &auth.Principal{Name: "p", Number: 2, Grant: access.Everything()}, nil
}

func (revocable) Guess(string) error { return nil }

func (g revocable) Long(ctx context.Context, p *auth.Principal) (long context.Context, end func(), err error) {
	long, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(g.holds, func() { cancel(context.Cause(g.holds)) })
	return long, func() { stop(); cancel(nil) }, nil
}

// TestStreamEndsWithItsToken: a stream of a token that was revoked is closed, although nobody asks anything. What is under way is answered first,
// if it does not take too long (SPEC A4, H5).
func TestStreamEndsWithItsToken(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		holds, revoke := context.WithCancelCause(t.Context())
		s := &holding{letGo: make(chan struct{})}
		b.gate = revocable{holds}
		stop := b.serve("n1", s)
		defer stop()
		idle, busy := b.streamTo("n1"), b.streamTo("n1")
		defer idle.Close()
		defer busy.Close()
		under := send(t, busy, get("held"))
		synctest.Wait()
		began := time.Now()
		revoke(auth.Unauthenticated())
		if err := idle.Ended(); websocket.CloseStatus(err) != stream.TokenEnded || time.Since(began) > 0 {
			t.Errorf("idle: %v after %v", err, time.Since(began))
		}
		if a := come(t, send(t, busy, get("one"))[0]); codeOf(a) != api.CodeUnauthenticated {
			t.Errorf("a new request: %+v", a)
		}
		s.letGo <- struct{}{}
		if a := come(t, under[0]); a.Status != http.StatusOK {
			t.Errorf("the request under way: %+v", a)
		}
		if err := busy.Ended(); websocket.CloseStatus(err) != stream.TokenEnded || time.Since(began) > 0 {
			t.Errorf("busy: %v after %v", err, time.Since(began))
		}
		synctest.Wait()
		if n := b.streams.Open(); n != 0 {
			t.Errorf("%d streams are open", n)
		}
	})
}

// TestStreamOfAnEndedTokenIsCutOff: requests under way keep no stream open whose token has ended (SPEC H5).
func TestStreamOfAnEndedTokenIsCutOff(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		holds, revoke := context.WithCancelCause(t.Context())
		b.gate = revocable{holds}
		stop := b.serve("n1", &holding{letGo: make(chan struct{})})
		defer stop()
		c := b.streamTo("n1")
		defer c.Close()
		send(t, c, get("held"))
		synctest.Wait()
		began := time.Now()
		revoke(auth.Unauthenticated())
		err := c.Ended()
		if d := time.Since(began); d < 4*time.Second || d > 6*time.Second {
			t.Errorf("%v after %v", err, d)
		}
	})
}
