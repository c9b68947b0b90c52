package main

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/stream"
	"github.com/taskrt/taskrt/trust"
)

// streamsOverTLS: a secure cluster has streams over TLS, for whoever has a token and as long as it holds (SPEC A3, A4, H5). run gives a line to a shell
// that uses the cluster, whose key has the pin.
func streamsOverTLS(t *testing.T, url, pin string, run func(code int, line string) string) {
	t.Helper()
	secure, err := trust.Client(pin)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: secure}
	defer transport.CloseIdleConnections()
	token := strings.TrimSpace(run(0, "taskrt token create streamer --role read 2>/dev/null"))
	form, by := stream.CBOR{}, &http.Client{Transport: transport}
	s := apitest.DialStream(t, by, url, form, http.Header{"Authorization": {"Bearer " + token}})
	answers, err := s.Send(
		stream.Request{Method: http.MethodGet, Path: "/v1/tasks/kept"},
		stream.Request{Method: http.MethodPost, Path: "/v1/tasks?namespace=default", Body: stream.Body(`{"behavior":"echo"}`)},
	)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{http.StatusOK, http.StatusForbidden} {
		if a := <-answers[i]; a.Status != want {
			t.Errorf("request %d: %d %s", i, a.Status, a.Body)
		}
	}
	run(0, "taskrt token revoke streamer")
	if err := s.Ended(); websocket.CloseStatus(err) != stream.TokenEnded {
		t.Errorf("the end of the stream of a token that was revoked: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, res, err := websocket.Dial(ctx, url+stream.Path, &websocket.DialOptions{
		HTTPClient: by, Subprotocols: []string{form.Subprotocol()}, HTTPHeader: http.Header{"Authorization": {"Bearer " + token}},
	})
	if err == nil || res == nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a stream of a token that was revoked: %v, %+v", err, res)
	}
}
