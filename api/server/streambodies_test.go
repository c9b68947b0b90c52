package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/api/stream"
)

// TestStreamGivesRoomBack: bodies that came over a stream count against the budget of bodies until their requests have read them, and no longer. Each
// kind of request, among them those that are refused before anybody looks at the body, brings twice as many bytes as there is room for in all (SPEC H3, H5).
func TestStreamGivesRoomBack(t *testing.T) {
	t.Parallel()
	const room, length = 1 << 20, 48 << 10
	body := func(text string) []byte {
		b, err := json.Marshal(map[string]string{"behavior": "echo", "params": text})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	long := body(string(bytes.Repeat([]byte("x"), length)))
	after := uint64(1)
	for _, form := range stream.Forms() {
		t.Run(form.Subprotocol(), func(t *testing.T) {
			t.Parallel()
			f := apitest.NewFake()
			t.Cleanup(f.Close)
			srv := httptest.NewServer(server.New(f, server.Config{Logger: slog.New(slog.DiscardHandler), BodyBytes: room}))
			t.Cleanup(srv.Close)
			s := apitest.DialStream(t, nil, srv.URL, form, nil)
			many := func(what string, each func(i int) stream.Request) {
				for i := range 2 * room / length {
					q := each(i)
					q.Body = long
					answers, err := s.Send(q)
					if err != nil {
						t.Fatalf("%s %d: %v", what, i, err)
					}
					if a := come(t, answers[0]); a.Status == 0 || bytes.Contains(a.Body, []byte("too many bodies")) {
						t.Fatalf("%s %d: %d %s, stream: %v", what, i, a.Status, a.Body, s.Ended())
					}
				}
			}
			post := stream.Request{Method: http.MethodPost, Path: "/v1/tasks"}
			with := func(change func(*stream.Request)) func(int) stream.Request {
				return func(int) stream.Request {
					q := post
					change(&q)
					return q
				}
			}
			many("submit", with(func(*stream.Request) {}))
			many("no such route", with(func(q *stream.Request) { q.Path = "/v1/nowhere" }))
			many("no such method", with(func(q *stream.Request) { q.Method = "BREW" }))
			many("no path", with(func(q *stream.Request) { q.Path = "/elsewhere" }))
			many("after without watch", with(func(q *stream.Request) { q.After = &after }))
			many("a body that nobody reads", with(func(q *stream.Request) { q.Method, q.Path = http.MethodGet, "/v1/cluster" }))
			for range stream.MaxWatches {
				send(t, s, stream.Request{Method: http.MethodGet, Path: "/v1/watch", Watch: true})
			}
			many("too many watches", func(i int) stream.Request {
				return stream.Request{Method: http.MethodGet, Path: fmt.Sprint("/v1/watch?n=", i), Watch: true}
			})
		})
	}
}
