package client_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/api/stream"
)

// streaming is a node, and what it was asked.
type streaming struct {
	url                 string
	stop                func()       // as SIGTERM does
	streams, plain, all atomic.Int64 // handshakes, requests by HTTP, and all requests without handshakes
	refuses             atomic.Bool  // to begin streams
}

func newStreaming(t *testing.T, s api.Service) *streaming {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &streaming{url: "http://" + ln.Addr().String(), stop: cancel}
	log := slog.New(slog.DiscardHandler)
	handler := server.New(s, server.Config{Logger: log, Stopping: ctx, OnRequest: func(route, _ string, _ int, _ time.Duration, _ string) {
		if route != stream.Path {
			n.all.Add(1)
		}
	}})
	counting := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != stream.Path:
			n.plain.Add(1)
		case n.refuses.Load():
			http.NotFound(w, r)
			return
		default:
			n.streams.Add(1)
		}
		handler.ServeHTTP(w, r)
	})
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, ln, counting, log) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return n
}

func submitOf(id string) api.SubmitRequest {
	return api.SubmitRequest{Behavior: "work", ID: id, IfExists: "join", Params: []byte("1")}
}

func newFake(t *testing.T) api.Service {
	f := apitest.NewFake()
	t.Cleanup(f.Close)
	if _, err := f.PutBehavior(t.Context(), api.PutBehaviorRequest{Name: "work", Policy: []byte(`{"kind":"external"}`)}); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestStreams: a client has a stream when there is enough to do, or from the beginning on, or never, as it was told. Without streams at the node all goes by
// HTTP. Nothing is sent twice.
func TestStreams(t *testing.T) {
	for name, c := range map[string]struct {
		config  client.Config
		refuses bool
		callers int
		over    int64 // requests over a stream after which there is enough; 0: there is none
		eager   bool  // all of them are over the stream
	}{
		"busy":                      {callers: 10, over: 100},
		"one by one":                {callers: 1, over: 100},
		"always":                    {config: client.Config{Stream: client.StreamAlways}, callers: 1, over: 100, eager: true},
		"never":                     {config: client.Config{Stream: client.StreamNever}, callers: 10},
		"every request is counted":  {config: client.Config{Sent: func(int64) {}}, callers: 10},
		"a transport of another":    {config: client.Config{Transport: another{}}, callers: 10},
		"always, over another's":    {config: client.Config{Transport: another{}, Stream: client.StreamAlways}, callers: 10, over: 100, eager: true},
		"the node has none, always": {config: client.Config{Stream: client.StreamAlways}, refuses: true, callers: 10},
		"the node has none":         {refuses: true, callers: 10},
	} {
		t.Run(name, func(t *testing.T) {
			n := newStreaming(t, newFake(t))
			n.refuses.Store(c.refuses)
			c.config.URLs = []string{n.url}
			cl, err := client.New(c.config)
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			var sent atomic.Int64
			var all sync.WaitGroup
			for range c.callers {
				all.Go(func() {
					for c.over > 0 && n.over() < c.over || sent.Load() < 200 {
						if _, err := cl.Submit(t.Context(), submitOf(fmt.Sprint("task-", sent.Add(1)))); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			if n.streams.Load() != min(c.over, 1) || n.all.Load() != sent.Load() || c.over == 0 && n.over() > 0 || c.eager && n.plain.Load() > 0 {
				t.Errorf("%d streams, %d sent, %d requests, %d by HTTP", n.streams.Load(), sent.Load(), n.all.Load(), n.plain.Load())
			}
		})
	}
}

// TestStreamsOfANodeThatStops: what a node that stops has not begun, and what comes afterwards, is done by another node, once. Of a request that meets the end of its
// listener by HTTP nobody knows whether it was done.
func TestStreamsOfANodeThatStops(t *testing.T) {
	f := newFake(t)
	one, other := newStreaming(t, f), newStreaming(t, f)
	cl, err := client.New(client.Config{URLs: []string{one.url, other.url}, Stream: client.StreamAlways})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	var stop sync.Once
	var made, unknown atomic.Int64
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for other.over() < 200 {
				r, err := cl.Submit(t.Context(), api.SubmitRequest{Behavior: "work", Params: []byte("1")}) // nobody could send it twice
				if api.CodeOf(err) == api.CodeOutcomeUnknown && strings.Contains(err.Error(), `Post "`) {
					unknown.Add(1)
					continue
				}
				if err != nil || r.Outcome != "created" {
					t.Errorf("%v, %+v", err, r)
					return
				}
				if made.Add(1) == 200 {
					stop.Do(one.stop)
				}
			}
		})
	}
	all.Wait()
	page, err := f.Tasks(t.Context(), api.ListRequest{Behaviors: []string{"work"}, Count: true, Limit: 1})
	if err != nil || page.Count == nil || *page.Count < made.Load() || *page.Count > made.Load()+unknown.Load() {
		t.Errorf("%v, %+v tasks, want %d, and up to %d more", err, page, made.Load(), unknown.Load())
	}
	if one.over() == 0 {
		t.Error("the node that stopped had nothing to do")
	}
}

// over returns how many requests came over streams.
func (n *streaming) over() int64 { return n.all.Load() - n.plain.Load() }

// another is a RoundTripper that is no *http.Transport.
type another struct{}

func (another) RoundTrip(r *http.Request) (*http.Response, error) {
	return http.DefaultTransport.RoundTrip(r)
}
