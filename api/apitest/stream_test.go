package apitest_test

import (
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/api/stream"
)

// TestOverStream runs the suite, which runs over HTTP, over streams of each form, too (SPEC H5). What a stream does not take goes by HTTP: files
// and modules.
func TestOverStream(t *testing.T) {
	t.Parallel()
	for _, form := range stream.Forms() {
		t.Run(form.Subprotocol(), func(t *testing.T) {
			var all *apitest.Stream
			apitest.Run(t, func(t *testing.T) api.Service {
				f := apitest.NewFake()
				t.Cleanup(f.Close)
				server := httptest.NewServer(server.New(f, server.Config{Logger: slog.New(slog.DiscardHandler)}))
				t.Cleanup(server.Close)
				all = apitest.DialStream(t, nil, server.URL, form, nil)
				client, err := client.New(client.Config{URLs: []string{server.URL}, Transport: all})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(client.Close)
				return client
			})
			if over, plain := all.Streamed.Load(), all.Plain.Load(); over < 2*plain || over < 200 || all.Watched.Load() < 10 {
				t.Errorf("%d requests went over the stream, %d of them watches, %d did not", over, all.Watched.Load(), plain)
			}
		})
	}
}
