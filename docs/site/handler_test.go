package site

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api/server/pages"
)

// TestServed: the site is at /docs and its list at /llms.txt, for everybody, compressed, with a strict policy; what else is asked for goes on
// (SPEC U4).
func TestServed(t *testing.T) {
	t.Parallel()
	h := New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }), pages.NewDoor(), "1.2.3")
	ask := func(method, target string, headers ...string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(method, target, http.NoBody), httptest.NewRecorder()
		r.Host = "127.0.0.1:7070"
		for _, one := range headers {
			name, value, _ := strings.Cut(one, ": ")
			if name == "Host" {
				r.Host = value
			}
			r.Header.Set(name, value)
		}
		h.ServeHTTP(w, r)
		return w
	}
	for _, c := range []struct {
		what   string
		status int
		says   string // in the body, or as Location
	}{
		{"GET /docs", 302, "docs/"},
		{"GET /docs/", 200, "taskrt 1.2.3"},
		{"GET /docs/errors.html", 200, `id="no_leader"`},
		{"GET /docs/errors", 302, "errors.html"},
		{"GET /docs/errors.md", 200, "### no_leader"},
		{"GET /docs/search-index.js", 200, "no_leader"},
		{"GET /docs/llms.txt", 200, "](errors.md)"},
		{"GET /llms.txt", 200, "](docs/errors.md)"},
		{"HEAD /docs/errors.html", 200, ""},
		{"POST /docs/errors.html", 405, "GET"},
		{"GET /docs/none", 404, "/docs/"},
		{"GET /docs/a/b", 404, ""},
		{"GET /docs/../docs.go", 404, ""},
		{"GET /docs/layout.html", 404, ""},
		{"GET /", 418, ""},
		{"GET /v1/tasks", 418, ""},
		{"GET /docsx", 418, ""},
	} {
		method, target, _ := strings.Cut(c.what, " ")
		w := ask(method, target)
		if w.Code != c.status || !strings.Contains(w.Body.String()+w.Header().Get("Location"), c.says) {
			t.Errorf("%s: %d %s %.300s", c.what, w.Code, w.Header().Get("Location"), w.Body)
		}
		if got := w.Header().Get("Content-Security-Policy"); (got == policy) != (c.status != 418) {
			t.Errorf("%s: policy %q", c.what, got)
		}
	}
	first := ask("GET", "/docs/errors.html", "Accept-Encoding: gzip")
	if first.Header().Get("Content-Encoding") != "gzip" || first.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("%v", first.Header())
	}
	if w := ask("GET", "/docs/errors.html", "If-None-Match: "+first.Header().Get("ETag")); w.Code != http.StatusNotModified {
		t.Errorf("asked again: %d", w.Code)
	}
	link := []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}
	if w := ask("GET", "/docs/errors.html", link...); w.Code != 200 {
		t.Errorf("by a link elsewhere: %d", w.Code)
	}
	if w := ask("GET", "/docs/docs.js", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"); w.Code != http.StatusForbidden {
		t.Errorf("in a page elsewhere: %d", w.Code)
	}
	if w := ask("GET", "/docs/", "Host: evil.example"); w.Code != http.StatusMisdirectedRequest {
		t.Errorf("by another name: %d", w.Code)
	}
}
