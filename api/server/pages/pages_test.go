package pages_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/server/pages"
)

// TestHosts: a server answers to addresses, to loopback names and to its own names (SPEC A6).
func TestHosts(t *testing.T) {
	door := pages.NewDoor("n1.example", "Proxy.Example.", "10.0.0.1")
	for host, known := range map[string]bool{
		"": true, "localhost": true, "localhost:7070": true, "LocalHost:7070": true, "localhost.": true, "taskrt.localhost:80": true,
		"127.0.0.1": true, "127.0.0.1:7070": true, "127.9.9.9": true, "192.168.1.5:7070": true, "0.0.0.0:7070": true,
		"[::1]": true, "[::1]:7070": true, "[fe80::1%25eth0]:7070": true, "[2001:db8::1]": true,
		"n1.example": true, "n1.example:7070": true, "N1.EXAMPLE.:1": true, "proxy.example": true, "proxy.example:443": true,

		"evil.example": false, "evil.example:7070": false, "n1.example.evil.example": false, "evil-n1.example": false, "example": false,
		"localhost.evil.example": false, "notlocalhost": false, "127.0.0.1.evil.example": false, "127.0.0.1.nip.io:7070": false,
		"localhost:7070@evil.example": false, "evil.example:localhost": false, "[evil.example]": false, "[evil.example]:7070": false, "[": false,
		".": false, "..": false, " localhost": false, "localhost\x00": false, "0x7f000001.evil": false, "x": false,
	} {
		err := door.Check(&http.Request{Method: http.MethodGet, Host: host})
		if (err == nil) != known || err != nil && api.CodeOf(err) != api.CodeUnknownHost {
			t.Errorf("Host %q: %v", host, err)
		}
	}
	if err := (pages.Door{}).Check(&http.Request{Host: "n1.example"}); api.CodeOf(err) != api.CodeUnknownHost {
		t.Errorf("a door without names: %v", err)
	}
	if err := (pages.Door{}).Check(&http.Request{Host: "127.0.0.1:7070"}); err != nil {
		t.Errorf("a door without names, an address: %v", err)
	}
	if err := (pages.Door{}).Check(&http.Request{Host: "n1.example", TLS: &tls.ConnectionState{}}); err != nil {
		t.Errorf("a name that TLS has proven: %v", err)
	}
	long := door.Check(&http.Request{Host: strings.Repeat("x", 100_000)})
	if long == nil || len(long.Error()) > 500 {
		t.Errorf("a long host: %d bytes of error", len(long.Error()))
	}
}

// TestOrigins: what browsers say of other origins is refused for every method, also over TLS. Programs say nothing (SPEC A6).
func TestOrigins(t *testing.T) {
	const host = "127.0.0.1:7070"
	for _, c := range []struct {
		headers string // name: value, …
		passes  bool
	}{
		{"", true},
		{"Sec-Fetch-Site: none", true}, // typed by a person
		{"Sec-Fetch-Site: same-origin", true},
		{"Sec-Fetch-Site: same-origin, Origin: http://127.0.0.1:7070", true},
		{"Origin: http://127.0.0.1:7070", true}, // of a browser that has no Sec-Fetch-Site
		{"Sec-Fetch-Site: cross-site", false},
		{"Sec-Fetch-Site: same-site", false}, // another port of this machine
		{"Sec-Fetch-Site: nonsense", false},
		{"Sec-Fetch-Site: cross-site, Origin: http://127.0.0.1:7070", false},
		{"Origin: http://127.0.0.1:3000", false},
		{"Origin: http://localhost:7070", false},
		{"Origin: https://evil.example", false},
		{"Origin: null", false}, // a file, a sandboxed frame
		{"Origin: http://127.0.0.1:7070.evil.example", false},
		{"Origin: http://127.0.0.1:7070@evil.example", false},
		{"Origin: \x00", false},
		{"Origin: chrome-extension://abcdef", false},
	} {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"} {
			for _, over := range []*tls.ConnectionState{nil, {}} {
				r := httptest.NewRequest(method, "http://"+host+"/v1/tasks", http.NoBody)
				r.TLS = over
				for h := range strings.SplitSeq(c.headers, ", ") {
					if name, value, ok := strings.Cut(h, ": "); ok {
						r.Header.Set(name, value)
					}
				}
				err := pages.NewDoor().Check(r)
				if (err == nil) != c.passes || err != nil && api.CodeOf(err) != api.CodeCrossOrigin {
					t.Errorf("%s with %q, TLS %v: %v", method, c.headers, over != nil, err)
				}
				if r.Method != method {
					t.Errorf("the request has become a %s", r.Method)
				}
			}
		}
	}
}

// TestKeep: a handler behind a door sees only what may pass, and every answer says that pages of other origins must not have it.
func TestKeep(t *testing.T) {
	calls := 0
	h := pages.NewDoor("n1").Keep(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		_, _ = io.WriteString(w, "metrics")
	}))
	for i, c := range []struct {
		url, site string
		status    int
	}{{"http://n1/metrics", "", 200}, {"http://n2/metrics", "", 421}, {"http://n1/metrics", "cross-site", 403}} {
		r, w := httptest.NewRequest(http.MethodGet, c.url, http.NoBody), httptest.NewRecorder()
		if c.site != "" {
			r.Header.Set("Sec-Fetch-Site", c.site)
		}
		h.ServeHTTP(w, r)
		if w.Code != c.status || w.Header().Get("Cross-Origin-Resource-Policy") != "same-origin" || (w.Body.String() == "metrics") != (c.status == 200) {
			t.Errorf("%d: %d %v %s", i, w.Code, w.Header(), w.Body)
		}
	}
	if calls != 1 {
		t.Errorf("%d requests have passed", calls)
	}
}

// TestNames: an operator's names are names or addresses, no URLs.
func TestNames(t *testing.T) {
	for name, good := range map[string]bool{
		"n1": true, "n1.example": true, "n1.example.": true, "N-1_x.example": true, "10.0.0.1": true, "::1": true, strings.Repeat("a.", 126) + "a": true,
		"": false, ".": false, "a..b": false, "http://n1": false, "n1:7070": false, "n1/": false, "*.example": false, "n 1": false, "[::1]": false,
		"müller": false, strings.Repeat("a", 64): false, strings.Repeat("a.", 127): false,
	} {
		if err := pages.CheckName(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}
