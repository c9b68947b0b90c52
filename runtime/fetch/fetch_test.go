package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
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
		{ // the name is allowed, and resolves to an address that is not
			q: Request{Method: "GET", URL: "http://localhost:" + port}, want: ErrDenied, naming: "localhost:" + port + " has no public address",
			change: func(r *Rule) { r.Hosts, r.Private = []string{"*:" + port}, nil },
		},
		{q: Request{Method: "GET", URL: s.URL}, want: ErrDenied, naming: "has no public address", change: func(r *Rule) { r.Private = nil }},
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

// nameserver resolves every name to the addresses that it has at the moment.
type nameserver struct {
	mu    sync.Mutex
	addrs []string // IPv4
}

func (n *nameserver) set(addrs ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addrs = addrs
}

// resolver starts the server.
func (n *nameserver) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 512)
		for {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(n.answer(buf[:size]), from)
		}
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// answer answers one question (RFC 1035, 4.1).
func (n *nameserver) answer(query []byte) []byte {
	end := 12 // of the question: the name's labels, and 5 bytes
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	end += 5
	n.mu.Lock()
	defer n.mu.Unlock()
	addrs := n.addrs
	if query[end-3] != 1 { // no A: there are no other addresses
		addrs = nil
	}
	msg := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, byte(len(addrs)), 0, 0, 0, 0}, query[12:end]...)
	for _, a := range addrs {
		ip := netip.MustParseAddr(a).As4()
		msg = append(append(msg, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), ip[:]...)
	}
	return msg
}

// TestRebinding: a name that leads to another address than a moment ago does not lead anywhere that is not allowed,
// and a guest does not learn which address that would be.
func TestRebinding(t *testing.T) {
	mux := http.NewServeMux()
	asked := map[string]int{} // by the address that was connected to
	var mu sync.Mutex
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		host, _, _ := net.SplitHostPort(r.Context().Value(http.LocalAddrContextKey).(net.Addr).String())
		asked[host]++
	})
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: ln, Config: &http.Server{Handler: mux}}
	s.Start()
	defer s.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	names := &nameserver{}
	c := &Client{resolver: names.resolver(t)}
	defer c.Close()
	rules := []*Rule{{
		Hosts: []string{"*.example:" + port}, Schemes: []string{"http"}, Methods: []string{"GET"}, MaxResponseBytes: 10, Timeout: time.Minute,
		Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, // stands for what is public
	}}
	get := func(name string) error {
		_, err := c.Do(t.Context(), rules, &Request{Method: "GET", URL: "http://" + name + ".example:" + port + "/"})
		return err
	}
	names.set("127.0.0.2")
	if err := get("a"); err != nil {
		t.Fatal(err)
	}
	c.Close() // of what was kept open, so that it has to be dialed again
	names.set("127.0.0.1")
	for _, name := range []string{"a", "b"} {
		if err := get(name); !errors.Is(err, ErrDenied) || strings.Contains(err.Error(), "127.") {
			t.Errorf("%s: %v", name, err)
		}
	}
	names.set("127.0.0.1", "127.0.0.2") // some of it is allowed
	if err := get("c"); err != nil {
		t.Error(err)
	}
	names.set()
	if err := get("d"); !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "no such host") || strings.Contains(err.Error(), "127.") {
		t.Errorf("without an address: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 1 || asked["127.0.0.2"] != 2 {
		t.Errorf("asked: %v", asked)
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

// TestPublic: the ways to write an address of one's own network are all known.
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
