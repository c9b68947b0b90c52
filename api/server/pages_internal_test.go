package server

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/server/pages"
)

// TestPagesGetNothing: every route refuses web pages before it reads a body or asks the Service; only the open ones answer (SPEC A6). The
// Service is nil, so whatever passes panics, and that is a 500.
func TestPagesGetNothing(t *testing.T) {
	h := New(nil, Config{Logger: slog.New(slog.DiscardHandler), Door: pages.NewDoor("n1.example")})
	ask := func(method, host, path string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://"+host+path, unread{t})
		r.ContentLength = 1000
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Header().Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s %s: browsers may show the answer to any page: %v", method, path, w.Header())
		}
		return w
	}
	open, closed := 0, 0
	for _, r := range routes() {
		path := strings.NewReplacer("{id}", "abc", "{name}", "abc", "{digest}", strings.Repeat("0", 64), "{group}", "abc", "{ids}", "1", "{run}", "1").Replace(r.path)
		if strings.Contains(path, "{") {
			t.Fatalf("%s: name its parameter here", r.path)
		}
		isOpen := r.needs.Scope == auth.Open && !strings.HasPrefix(r.path, "/v1/")
		for _, method := range []string{r.method, http.MethodOptions, http.MethodHead, http.MethodPost} {
			for code, w := range map[string]*httptest.ResponseRecorder{
				api.CodeUnknownHost: ask(method, "rebound.example:7070", path),
				api.CodeCrossOrigin: ask(method, "n1.example:7070", path, "Sec-Fetch-Site", "cross-site", "Content-Type", "text/plain"),
			} {
				refused := w.Code == api.StatusOf(code) && strings.Contains(w.Body.String(), `"code":"`+code+`"`)
				if refused == isOpen || refused != (w.Header().Get("Connection") == "close") {
					t.Errorf("%s %s, open %v: %d %v %s", method, path, isOpen, w.Code, w.Header(), w.Body)
				}
			}
		}
		if isOpen {
			open++
		} else {
			closed++
		}
	}
	if open != 2 || closed < 60 {
		t.Errorf("%d open routes, %d others", open, closed)
	}
	for _, path := range []string{"/", "/v1/nothing", "/taskstore/nothing", "/healthz/", "/healthz/x", "//healthz", "/readyz/../v1/tasks"} {
		if w := ask(http.MethodPost, "rebound.example", path); w.Code != http.StatusMisdirectedRequest {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
