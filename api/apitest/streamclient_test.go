package apitest_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/api/stream"
)

// TestClientOverStream runs the suite over a Client that has a stream from its first request on (SPEC H5).
func TestClientOverStream(t *testing.T) {
	t.Parallel()
	var streams, plain, all atomic.Int64
	apitest.Run(t, func(t *testing.T) api.Service {
		f := apitest.NewFake()
		t.Cleanup(f.Close)
		handler := server.New(f, server.Config{Logger: slog.New(slog.DiscardHandler), OnRequest: func(string, string, int, time.Duration, string) { all.Add(1) }})
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == stream.Path {
				streams.Add(1)
			} else {
				plain.Add(1)
			}
			handler.ServeHTTP(w, r)
		}))
		t.Cleanup(s.Close)
		c, err := client.New(client.Config{URLs: []string{s.URL}, Stream: client.StreamAlways})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	})
	if over := all.Load() - plain.Load() - streams.Load(); over < 2*plain.Load() || over < 400 {
		t.Errorf("%d requests over %d streams, %d by HTTP", over, streams.Load(), plain.Load())
	} else {
		t.Logf("%d requests over %d streams, %d by HTTP", over, streams.Load(), plain.Load())
	}
}
