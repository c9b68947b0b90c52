package server

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
)

// nobody is a Gate that lets nobody in.
type nobody struct{}

func (nobody) Enter(string, string) (*auth.Principal, error) { return nil, auth.Unauthenticated() }
func (nobody) Guess(string) error                            { return nil }

// FuzzStranger: what a stranger asks a server that asks for tokens: no method, path, query or header makes it look at a Service, or fail.
func FuzzStranger(f *testing.F) {
	for _, r := range routes() {
		f.Add(r.method, r.path+"?namespace=a&limit=1", "localhost", "Bearer trt_x")
	}
	f.Add("GET", "/v1/tasks/%2e%2e/x?a=%zz", "[::1]:7070", "")
	f.Add("CONNECT", "//x", "a b", "Basic")
	h := New(nil, Config{Logger: slog.New(slog.DiscardHandler), Gate: nobody{}})
	f.Fuzz(func(t *testing.T, method, target, host, authorization string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(u.Path, "/") {
			return
		}
		r := &http.Request{Method: method, URL: u, Host: host, RequestURI: target, Header: http.Header{"Authorization": {authorization}}, Body: http.NoBody, RemoteAddr: "192.0.2.1:5", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(t.Context()))
		if w.Code >= 500 && !strings.HasSuffix(u.Path, "/readyz") {
			t.Errorf("%s %q of %q: %d %s", method, target, host, w.Code, w.Body)
		}
	})
}

// FuzzQuery: the query of a request: each parameter is read as the table says, or refused with a field.
func FuzzQuery(f *testing.F) {
	for _, text := range []string{"namespace=a&limit=10", "limit=-1", "limit=99999999999999999999", "wait=1h&until=final", "after=x&after=y", "%zz", "stale=maybe", "due_before=2026-01-01T00:00:00Z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, to := range routes() {
			q := readQuery(&url.URL{RawQuery: text}, to.query)
			for _, p := range to.query {
				_, _, _ = q.texts(p.name), q.duration(p.name), q.number(p.name)
			}
			if err := q.done(); err != nil && api.StatusOf(api.CodeOf(err)) != http.StatusBadRequest {
				t.Errorf("%q of %s: %v", text, to.id, err)
			}
		}
	})
}
