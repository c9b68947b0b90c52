package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// rule allows requests to a test's server.
func rule(server *httptest.Server, change func(*Rule)) *Rule {
	u, err := url.Parse(server.URL)
	if err != nil {
		panic(err)
	}
	r := &Rule{
		Hosts: []string{u.Host}, Schemes: []string{"http"}, Methods: []string{"GET", "POST"}, Private: loopback,
		MaxRequestBytes: 100, MaxResponseBytes: 1000, Timeout: time.Minute,
	}
	if change != nil {
		change(r)
	}
	return r
}

func serve(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "http://elsewhere.example/", http.StatusFound)
		case "/large":
			_, _ = w.Write(make([]byte, 1001))
		case "/limit":
			_, _ = w.Write(make([]byte, 1000))
		case "/upgrade": // the connection is the server's and the client's own from here on, and stays open
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "x")
			w.WriteHeader(http.StatusSwitchingProtocols)
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				t.Cleanup(func() { c.Close() })
			}
		case "/slow":
			<-r.Context().Done()
		case "/header":
			w.Header().Set("X-Long", strings.Repeat("x", maxResponseHead+1000))
		case "/gzip":
			_, _ = io.WriteString(w, r.Header.Get("Accept-Encoding"))
		default:
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %s %q %s", r.Method, r.URL, r.Header.Get("X-Mine"), body, r.UserAgent())
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestDo(t *testing.T) {
	s := serve(t)
	c := &Client{}
	defer c.Close()
	rules := []*Rule{rule(s, nil)}
	for _, tt := range []struct {
		q      Request
		status int
		body   string
	}{
		{Request{Method: "GET", URL: s.URL + "/a?b=c#d"}, 200, `GET /a?b=c  "" taskrt`},
		{Request{Method: "POST", URL: s.URL + "/", Header: map[string]string{"x-mine": "1", "User-Agent": "me"}, Body: []byte("data")}, 200, `POST / 1 "data" me`},
		{Request{Method: "GET", URL: s.URL + "/limit"}, 200, strings.Repeat("\x00", 1000)},
		{Request{Method: "GET", URL: s.URL + "/gzip"}, 200, ""},
	} {
		res, err := c.Do(t.Context(), rules, &tt.q)
		if err != nil || res.Status != tt.status || string(res.Body) != tt.body {
			t.Errorf("%s %s: %+v, %v", tt.q.Method, tt.q.URL, res, err)
		}
	}
	// A redirect is an answer: nobody goes there.
	res, err := c.Do(t.Context(), rules, &Request{Method: "GET", URL: s.URL + "/redirect"})
	if err != nil || res.Status != 302 || res.Header["Location"][0] != "http://elsewhere.example/" {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestDoRefuses(t *testing.T) {
	s := serve(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	for _, tt := range []struct {
		q      Request
		change func(*Rule)
		want   error
		naming string
	}{
		{q: Request{Method: "DELETE", URL: s.URL}, want: ErrDenied, naming: "DELETE"},
		{q: Request{Method: "get", URL: s.URL}, want: ErrDenied, naming: "get"},
		{q: Request{Method: "GET", URL: "http://other.example/"}, want: ErrDenied, naming: "other.example"},
		{q: Request{Method: "GET", URL: "http://127.0.0.1:1/"}, want: ErrDenied, naming: "127.0.0.1:1"},
		{q: Request{Method: "GET", URL: "https" + s.URL[4:]}, want: ErrDenied, naming: "https://"},
		// The name is allowed, and resolves to an address that is not: also when it did not a moment ago.
		{
			q: Request{Method: "GET", URL: "http://localhost:" + port}, want: ErrDenied, naming: "not a public address",
			change: func(r *Rule) { r.Hosts, r.Private = []string{"*:" + port}, nil },
		},
		{q: Request{Method: "GET", URL: s.URL}, want: ErrDenied, naming: "127.0.0.1 is not", change: func(r *Rule) { r.Private = nil }},
		{q: Request{Method: "POST", URL: s.URL, Body: make([]byte, 101)}, want: ErrTooBig, naming: "at most 100"},
		{q: Request{Method: "GET", URL: s.URL + "/large"}, want: ErrTooBig, naming: "1000"},
		{q: Request{Method: "GET", URL: s.URL + "/slow"}, want: ErrFailed, naming: "deadline", change: func(r *Rule) { r.Timeout = 20 * time.Millisecond }},
		{q: Request{Method: "GET", URL: s.URL + "/upgrade"}, want: ErrFailed, naming: "status 101", change: func(r *Rule) { r.Timeout = 100 * time.Millisecond }},
		{q: Request{Method: "GET", URL: s.URL + "/header"}, want: ErrFailed, naming: "header"},
		{q: Request{Method: "GET", URL: "ftp://x"}, want: ErrInvalid, naming: "http://"},
		{q: Request{Method: "GET", URL: "http:opaque"}, want: ErrInvalid, naming: "http://"},
		{q: Request{Method: "GET", URL: "http://"}, want: ErrInvalid, naming: "host"},
		{q: Request{Method: "GET", URL: "http://u:p@127.0.0.1/"}, want: ErrInvalid, naming: "credentials"},
		{q: Request{Method: "GET", URL: "http://a\u0430.example/"}, want: ErrInvalid, naming: "host"},
		{q: Request{Method: "GET", URL: "http://[fe80::1%25eth0]/"}, want: ErrInvalid, naming: "host"},
		{q: Request{Method: "GET", URL: s.URL + "/\x00"}, want: ErrInvalid, naming: "url"},
		{q: Request{Method: "GET", URL: s.URL + "/" + strings.Repeat("x", maxURL)}, want: ErrInvalid, naming: "at most 8192"},
		{q: Request{Method: "GET", URL: s.URL, Header: map[string]string{"host": "other.example"}}, want: ErrInvalid, naming: "Host"},
		{q: Request{Method: "GET", URL: s.URL, Header: map[string]string{"transfer-encoding": "chunked"}}, want: ErrInvalid, naming: "Transfer-Encoding"},
		{q: Request{Method: "GET", URL: s.URL, Header: map[string]string{"X": "a\r\nHost: b"}}, want: ErrInvalid, naming: "control"},
		{q: Request{Method: "GET", URL: s.URL, Header: map[string]string{"X Y": "a"}}, want: ErrInvalid, naming: "X Y"},
		{q: Request{Method: "GET", URL: s.URL, Header: map[string]string{"X": strings.Repeat("x", maxHeaderBytes)}}, want: ErrInvalid, naming: "at most 16384"},
	} {
		c := &Client{}
		res, err := c.Do(t.Context(), []*Rule{rule(s, tt.change)}, &tt.q)
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.naming) {
			t.Errorf("%s %.80s: %+v, %v; want %v naming %q", tt.q.Method, tt.q.URL, res, err, tt.want, tt.naming)
		}
		c.Close()
	}
	c := &Client{}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Do(ctx, []*Rule{rule(s, nil)}, &Request{Method: "GET", URL: s.URL}); !errors.Is(err, ErrFailed) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestHosts(t *testing.T) {
	for _, tt := range []struct {
		pattern, url string
		want         bool
	}{
		{"api.example.com", "https://api.example.com/x", true},
		{"api.example.com", "https://API.Example.com.:443/", true},
		{"api.example.com", "https://api.example.com:8443/", false},
		{"api.example.com:8443", "https://api.example.com:8443/", true},
		{"api.example.com", "https://api.example.com.evil.example/", false},
		{"api.example.com", "https://xapi.example.com/", false},
		{"*.example.com", "https://a.b.example.com/", true},
		{"*.example.com", "https://example.com/", false},
		{"*.example.com", "https://evilexample.com/", false},
		{"*", "https://anything.example/", true},
		{"*", "https://anything.example:444/", false},
		{"[2001:4860::1]", "https://[2001:4860::1]/", true},
		{"[2001:4860::1]:8443", "https://[2001:4860::1]:8443/", true},
		{"api.example.com", "http://api.example.com/", false},
	} {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		r := &Rule{Hosts: []string{tt.pattern}, Schemes: []string{"https"}}
		if got := r.allows(u); got != tt.want {
			t.Errorf("%s of %s: %t", tt.url, tt.pattern, got)
		}
	}
}

// TestPublic: every way to write an address of one's own network.
func TestPublic(t *testing.T) {
	r := &Rule{Private: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	for address, want := range map[string]bool{
		"93.184.216.34:80": true, "[2606:2800:220:1::1]:443": true, "8.8.8.8:53": true, "10.1.2.3:80": true,
		"127.0.0.1:80": false, "127.8.9.1:80": false, "10.2.0.1:80": false, "172.16.0.1:80": false, "192.168.1.1:80": false, "169.254.169.254:80": false,
		"100.64.0.1:80": false, "0.0.0.0:80": false, "0.1.2.3:80": false, "255.255.255.255:80": false, "224.0.0.1:80": false, "240.0.0.1:80": false,
		"198.18.0.1:80": false, "192.0.2.1:80": false, "[::1]:80": false, "[::]:80": false, "[fe80::1]:80": false, "[fe80::1%eth0]:80": false, "[fc00::1]:80": false,
		"[fd12::1]:80": false, "[ff02::1]:80": false, "[::ffff:127.0.0.1]:80": false, "[::ffff:10.2.0.1]:80": false, "[::ffff:10.1.0.1]:80": true,
		"[64:ff9b::7f00:1]:80": false, "[64:ff9b:1::1]:80": false, "[2002:7f00:1::]:80": false, "[::127.0.0.1]:80": false, "[2001:db8::1]:80": false, "[fec0::1]:80": false,
		"nonsense": false, "localhost:80": false,
	} { // order-free: independent addresses
		if err := r.reaches(address); (err == nil) != want || err != nil && !errors.Is(err, ErrDenied) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
