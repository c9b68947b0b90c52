package e2e

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/leash"
)

//go:embed testdata/page.html
var page string

// try is one try of the page: what it could read of the answer. An empty text: nothing.
type try struct{ How, Route, Read string }

// pageRoute is a route for the page to try.
type pageRoute struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Body   string `json:"body"`
}

// TestPagesInABrowser: pages in a real browser try every route of an open `taskrt dev` in every way that pages have: from another site,
// from another port of the same machine, from a sandbox, and by their own name that they have rebound to the server's address. No route is
// reached, and nothing is readable but that the process lives (SPEC A6). A server without taskrt's checks shows that the tries are real.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	browser := findBrowser(t)
	d := startDev(t)
	routes := d.routes()
	naive := newNaive(t)
	for _, c := range []struct {
		name            string
		host            string // of the page's URL
		sandbox, rebind bool
	}{
		{"another site", "other.test", false, false}, {"another port", "127.0.0.1", false, false},
		{"sandbox", "other.test", true, false}, {"rebound name", "rebound.test", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			attack := func(target string) []try {
				return visit(t, browser, pageVisit{host: c.host, target: target, routes: routes, sandbox: c.sandbox, rebind: c.rebind})
			}
			naive.reset()
			tries := attack(naive.server.URL)
			mustBeReal(t, tries, naive, routes, c.rebind)

			before := d.reached()
			tries = attack("http://" + d.addr)
			if after := d.reached(); !maps.Equal(before, after) {
				t.Errorf("routes were reached:\n%v\nbefore\n%v", after, before)
			}
			if len(tries) < 3*len(routes) {
				t.Errorf("%d tries of %d routes", len(tries), len(routes))
			}
			for _, x := range tries {
				if !readsNothing(x, c.rebind) {
					t.Errorf("%s, %s: read %q", x.Route, x.How, x.Read)
				}
			}
		})
	}
}

// readsNothing reports whether a try was in vain. A page on a rebound name sees refusals; a page of another origin does not even see them.
// Everybody may know whether the process lives.
func readsNothing(x try, rebound bool) bool {
	alive := x.Route == "GET /healthz" || x.Route == "GET /readyz"
	return x.Read == "" || alive || rebound && strings.Contains(x.Read, `"code":"unknown_host"`)
}

// mustBeReal demands that the page reaches every route of a server that does not defend itself, in most ways, and that a page on a rebound
// name can read it all: else a browser's own defence would let the test pass.
func mustBeReal(t *testing.T, tries []try, n *naive, routes []pageRoute, rebound bool) {
	t.Helper()
	ways := map[string]bool{}
	for _, x := range tries {
		ways[x.How] = ways[x.How] || x.Read != ""
		if x.How == "fetch" && rebound && !strings.HasPrefix(x.Read, "200 ") {
			t.Fatalf("the page could not read a server without defence: %+v", x)
		}
	}
	for _, how := range []string{"fetch", "fetch no-cors, multipart", "form", "stream", "socket", "picture", "script", "style", "frame", "object"} {
		if _, tried := ways[how]; !tried {
			t.Fatalf("the page has not tried %q: %v", how, ways)
		}
	}
	for _, r := range routes {
		if (r.Method == http.MethodGet || r.Method == http.MethodPost || rebound) && !n.saw(r.Method+" "+r.Path) {
			t.Fatalf("%s %s of a server without defence was not reached", r.Method, r.Path)
		}
	}
}

// naive is a server that answers everything, to everybody.
type naive struct {
	server *httptest.Server
	mu     sync.Mutex
	seen   map[string]bool
}

func newNaive(t *testing.T) *naive {
	n := &naive{}
	n.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		n.seen[r.Method+" "+r.URL.Path] = true
		n.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"secret":1}`)
	}))
	t.Cleanup(n.server.Close)
	return n
}

func (n *naive) reset() {
	n.mu.Lock()
	n.seen = map[string]bool{}
	n.mu.Unlock()
}

func (n *naive) saw(route string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seen[route]
}

// pageVisit is a visit of a browser to a page.
type pageVisit struct {
	host, target    string
	routes          []pageRoute
	sandbox, rebind bool
}

// visit opens the page in a browser of its own, and returns what the page tells.
func visit(t *testing.T, browser string, v pageVisit) []try {
	t.Helper()
	report := make(chan []try, 1)
	site := http.NewServeMux()
	home := httptest.NewServer(site)
	t.Cleanup(home.Close)
	front := &rebinder{t: t, to: home.Listener.Addr().String()}
	origin := front.listen()
	site.HandleFunc("GET /page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if v.sandbox {
			w.Header().Set("Content-Security-Policy", "sandbox allow-scripts allow-forms allow-popups")
		}
		_, _ = io.WriteString(w, strings.ReplaceAll(page, "HOME", home.URL))
	})
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		_ = json.NewEncoder(w).Encode(v)
	}
	site.HandleFunc("GET /plan", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"target": v.target, "rebind": v.rebind, "routes": v.routes})
	})
	site.HandleFunc("POST /rebind", func(w http.ResponseWriter, _ *http.Request) {
		front.rebind(strings.TrimPrefix(v.target, "http://"))
		answer(w, true)
	})
	site.HandleFunc("POST /report", func(w http.ResponseWriter, r *http.Request) {
		var tries []try
		if err := json.NewDecoder(r.Body).Decode(&tries); err != nil {
			t.Errorf("the page's report: %v", err)
		}
		select {
		case report <- tries:
		default:
		}
		answer(w, true)
	})
	_, port, _ := net.SplitHostPort(origin)
	l, err := leash.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Kill)
	cmd := leash.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-port=0", "--host-resolver-rules=MAP *.test 127.0.0.1", "http://"+v.host+":"+port+"/page")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	l.Tie(cmd) // instead: the browser and its children end before the next visit
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { _ = cmd.Wait(); close(gone) }()
	end := func() { l.Kill(); <-gone }
	select {
	case tries := <-report:
		end()
		return tries
	case <-gone:
	case <-time.After(patience):
	}
	end()
	t.Fatalf("the page says nothing; the browser:\n%s", log.Bytes())
	return nil
}

// rebinder is the address that a page's name has: a proxy to the page's own server first, and to another one when the name is rebound.
type rebinder struct {
	t     *testing.T
	mu    sync.Mutex
	to    string
	conns []net.Conn
}

func (r *rebinder) listen() string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { ln.Close(); r.rebind("") })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go r.carry(c)
		}
	}()
	return ln.Addr().String()
}

func (r *rebinder) carry(c net.Conn) {
	defer c.Close()
	r.mu.Lock()
	to, err := net.Dial("tcp", r.to)
	if err != nil {
		r.mu.Unlock()
		return
	}
	r.conns = append(r.conns, c, to)
	r.mu.Unlock()
	defer to.Close()
	go func() { _, _ = io.Copy(to, c); to.Close() }()
	_, _ = io.Copy(c, to)
}

// rebind lets further connections go elsewhere. The present ones end.
func (r *rebinder) rebind(to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = to
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

// findBrowser skips the test where there is no browser.
func findBrowser(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("needs chromium: apt-get install chromium")
	return ""
}

// dev is a `taskrt dev` with a task, a behavior and a record in it.
type dev struct {
	t    *testing.T
	addr string
}

func startDev(t *testing.T) *dev {
	t.Helper()
	cmd := leash.Command(binary, "dev", "--nodes", "1", "--worker", "none", "--http", "127.0.0.1:0", "--dir", filepath.Join(t.TempDir(), "dev"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	addr, ready := strings.CutPrefix(strings.TrimSpace(line), "ready http://")
	if err != nil || !ready {
		t.Fatalf("taskrt dev says %q: %v", line, err)
	}
	d := &dev{t, addr}
	d.do("PUT", "/v1/behaviors/ext", `{"kind":"external"}`)
	d.do("POST", "/v1/tasks", `{"behavior":"ext","id":"victim","params":"secret"}`)
	d.do("POST", "/taskstore/update", `{"clientid":1,"adds":[{"group":"victim","data":"secret"}]}`)
	return d
}

func (d *dev) do(method, path, body string) []byte {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), method, "http://"+d.addr+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		d.t.Fatalf("%s %s: %d %s %v", method, path, res.StatusCode, b, err)
	}
	return b
}

// reached counts requests that have reached a route, by route, method and status. Refusals before a route have none, and everybody may ask
// whether the process lives.
func (d *dev) reached() map[string]string {
	counts := map[string]string{}
	for line := range strings.Lines(string(d.do("GET", "/metrics", ""))) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(name, "taskrt_http_requests_total{") && !strings.Contains(name, `route=""`) && !regexp.MustCompile(`route="/(healthz|readyz|metrics)"`).MatchString(name) {
			counts[name] = count
		}
	}
	if len(counts) == 0 {
		d.t.Fatal("no metric counts requests")
	}
	return counts
}

// routes reads the table of routes, and fills in what exists.
func (d *dev) routes() []pageRoute {
	d.t.Helper()
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(d.do("GET", "/openapi.json", ""), &document); err != nil {
		d.t.Fatal(err)
	}
	fill := strings.NewReplacer("{id}", "victim", "{name}", "ext", "{digest}", strings.Repeat("0", 64), "{group}", "victim", "{ids}", "1", "{run}", "1")
	bodies := map[string]string{
		"/v1/tasks": `{"behavior":"ext"}`, "/v1/tasks:wait": `{"tasks":["victim"]}`, "/v1/behaviors/{name}/accept": `{"worker":"w"}`,
		"/taskstore/update": `{"clientid":1,"adds":[{"group":"page"}]}`, "/taskstore/claim": `{"clientid":1,"group":"victim"}`,
	}
	var all []pageRoute
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for method := range document.Paths[path] {
			body, ok := bodies[path]
			if !ok {
				body = "{}"
			}
			all = append(all, pageRoute{strings.ToUpper(method), fill.Replace(path), body})
		}
	}
	if len(all) < 60 || slices.ContainsFunc(all, func(r pageRoute) bool { return strings.Contains(r.Path, "{") }) {
		d.t.Fatalf("routes: %v", fmt.Sprint(all))
	}
	return all
}
