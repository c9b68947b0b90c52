package server_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/api/server/socket"
	"github.com/taskrt/taskrt/api/stream"
	"github.com/taskrt/taskrt/task/access"
)

// endedTokens is a gate that lets everybody in, with tokens that no longer hold when a stream is begun.
type endedTokens struct{}

func (endedTokens) Enter(string, string) (*auth.Principal, error) {
	return &auth.Principal{Number: 1, Grant: access.Everything()}, nil
}
func (endedTokens) Guess(string) error { return nil }
func (endedTokens) Long(context.Context, *auth.Principal) (context.Context, func(), error) {
	return nil, nil, auth.Unauthenticated()
}

// TestStreamsLeaveTheirGroup: whoever stops a server waits for its streams. None of those that were refused is among them, for whatever reason, and
// none that has ended, in order or cut off.
func TestStreamsLeaveTheirGroup(t *testing.T) {
	t.Parallel()
	stopping, stop := context.WithCancelCause(t.Context())
	stop(errors.New("stopped"))
	form := stream.Forms()[0]
	ask := func(t *testing.T, url string, change func(*http.Request)) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+stream.Path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range map[string]string{
			"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
			"Sec-WebSocket-Protocol": form.Subprotocol(),
		} {
			r.Header.Set(name, v)
		}
		change(r)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode < http.StatusBadRequest {
			t.Errorf("it was to be refused: %s", res.Status)
		}
	}
	refused := func(change func(*http.Request)) func(*testing.T, string) {
		return func(t *testing.T, url string) { ask(t, url, change) }
	}
	for what, c := range map[string]struct {
		config server.Config
		come   func(t *testing.T, url string)
	}{
		"the server is stopping":    {server.Config{Stopping: stopping}, refused(func(*http.Request) {})},
		"the token no longer holds": {server.Config{Gate: endedTokens{}}, refused(func(*http.Request) {})},
		"no subprotocol":            {server.Config{}, refused(func(r *http.Request) { r.Header.Del("Sec-WebSocket-Protocol") })},
		"no key":                    {server.Config{}, refused(func(r *http.Request) { r.Header.Del("Sec-WebSocket-Key") })},
		"closed by the client":      {server.Config{}, func(t *testing.T, url string) { apitest.DialStream(t, nil, url, form, nil).Close() }},
		"cut off with a request under way": {server.Config{}, func(t *testing.T, url string) {
			var conn net.Conn
			by := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				c, err := new(net.Dialer).DialContext(ctx, network, addr)
				conn = c
				return c, err
			}}}
			s := apitest.DialStream(t, by, url, form, nil)
			send(t, s, stream.Request{Method: http.MethodGet, Path: "/v1/watch", Watch: true})
			_ = conn.Close()
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := apitest.NewFake()
			t.Cleanup(f.Close)
			group := socket.NewGroup()
			c.config.Logger = slog.New(slog.DiscardHandler)
			srv := httptest.NewUnstartedServer(server.New(f, c.config))
			srv.Config.BaseContext = func(net.Listener) context.Context { return group.In(context.Background()) }
			srv.Start()
			t.Cleanup(srv.Close)
			for range 3 {
				c.come(t, srv.URL)
			}
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				group.Stop(ctx)
			}()
			select {
			case <-stopped:
			case <-time.After(30 * time.Second):
				t.Fatalf("whoever stops the server waits for %d streams", group.Open())
			}
			if open, underWay := group.Open(), group.UnderWay(); open != 0 || underWay != 0 {
				t.Errorf("%d streams are open, %d requests are under way", open, underWay)
			}
		})
	}
}
