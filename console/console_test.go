package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/server/pages"
	"github.com/taskrt/taskrt/api/server/session"
)

// maxPacked bounds all that a browser may load, compressed (SPEC U1).
const maxPacked = 300 << 10

// program is an API that tells what it has seen.
func program(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Seen", r.Header.Get("Authorization"))
	w.WriteHeader(http.StatusTeapot)
}

func newConsole(gate session.Gate) http.Handler {
	return New(http.HandlerFunc(program), Config{Door: pages.NewDoor(), Gate: gate, Cluster: func() string { return "c1" }})
}

// ask sends a request with headers "name: value".
func ask(h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(method, target, http.NoBody), httptest.NewRecorder()
	r.Host = "127.0.0.1:7070"
	for _, one := range headers {
		name, value, _ := strings.Cut(one, ": ")
		r.Header.Set(name, value)
	}
	h.ServeHTTP(w, r)
	return w
}

const browser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8"

// TestPage: a browser gets the page at the root, and programs get there what they got before there was one (SPEC U1).
func TestPage(t *testing.T) {
	h := newConsole(nil)
	w := ask(h, "GET", "/", browser)
	for name, want := range map[string]string{
		"Content-Security-Policy": policy, "Cache-Control": "no-cache", "Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer",
	} {
		if got := w.Header().Get(name); w.Code != 200 || got != want {
			t.Errorf("%d, %s: %q, not %q", w.Code, name, got, want)
		}
	}
	if again := ask(h, "GET", "/", browser, "If-None-Match: "+w.Header().Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("asked again: %d, %d bytes", again.Code, again.Body.Len())
	}
	for _, accept := range []string{"Accept: application/json", "Accept: */*", "X: y"} {
		if w := ask(h, "GET", "/", accept); w.Code != http.StatusTeapot {
			t.Errorf("%s: %d", accept, w.Code)
		}
	}
	for _, other := range []string{"POST /", "GET /v1/tasks", "GET /x", "GET /session", "POST /session"} {
		method, target, _ := strings.Cut(other, " ")
		if w := ask(h, method, target, browser); w.Code != http.StatusTeapot {
			t.Errorf("%s: %d", other, w.Code)
		}
	}
}

// TestFiles: every file that the page and its modules name is there, compressed on request, and kept for ever under the digest of this build only.
func TestFiles(t *testing.T) {
	h := newConsole(nil)
	page := ask(h, "GET", "/", browser).Body.String()
	names := regexp.MustCompile(`(?:src|href)="(console/[^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(names) < 4 || strings.Contains(page, digestWord) || strings.Contains(page, accessWord) {
		t.Fatalf("the page names %v", names)
	}
	seen := map[string]bool{}
	var visit func(at string)
	visit = func(at string) {
		if seen[at] {
			return
		}
		seen[at] = true
		plain := ask(h, "GET", at)
		packed := ask(h, "GET", at, "Accept-Encoding: gzip, br")
		if plain.Code != 200 || packed.Header().Get("Content-Encoding") != "gzip" || plain.Header().Get("Content-Encoding") != "" {
			t.Fatalf("%s: %d, %v", at, plain.Code, packed.Header())
		}
		z, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(z); err != nil || !bytes.Equal(b, plain.Body.Bytes()) {
			t.Errorf("%s: other bytes when compressed: %v", at, err)
		}
		if got := plain.Header().Get("Cache-Control"); !strings.Contains(got, "immutable") {
			t.Errorf("%s: %s", at, got)
		}
		for _, m := range regexp.MustCompile(`(?m)(?:from|import) '(\.[^']+)'`).FindAllStringSubmatch(plain.Body.String(), -1) {
			visit(path.Join(path.Dir(at), m[1]))
		}
	}
	for _, n := range names {
		visit("/" + n[1])
	}
	for name := range embedded().byName {
		if path.Ext(name) == ".js" && !seen[assetPrefix+embedded().digest+"/"+name] {
			t.Errorf("nobody loads %s", name)
		}
	}
	if w := ask(h, "GET", assetPrefix+"0123/main.js"); w.Code != 200 || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("of another build: %d %v", w.Code, w.Header())
	}
	for _, target := range []string{assetPrefix, assetPrefix + "main.js", assetPrefix + embedded().digest + "/", assetPrefix + embedded().digest + "/index.html", assetPrefix + embedded().digest + "/none.js"} {
		if w := ask(h, "GET", target); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", target, w.Code)
		}
	}
	if w := ask(h, "POST", assetPrefix+embedded().digest+"/main.js"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

// TestOtherOrigins: pages of other origins get nothing of the console. A link on one may open it in a tab of its own (SPEC A6, U1).
func TestOtherOrigins(t *testing.T) {
	h := newConsole(nil)
	for _, c := range []struct {
		target, host string
		headers      []string
		status       int
	}{
		{"/", "", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, 200},
		{"/", "", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}, 403},
		{"/", "", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"}, 403},
		{"/", "evil.example", []string{"Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, 421},
		{assetPrefix + embedded().digest + "/main.js", "", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: script"}, 403},
		{assetPrefix + embedded().digest + "/main.js", "", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}, 403},
		{assetPrefix + embedded().digest + "/main.js", "", []string{"Sec-Fetch-Site: same-origin"}, 200},
	} {
		r, w := httptest.NewRequest(http.MethodGet, c.target, http.NoBody), httptest.NewRecorder()
		r.Host = "127.0.0.1:7070"
		if c.host != "" {
			r.Host = c.host
		}
		r.Header.Set("Accept", "text/html")
		for _, one := range c.headers {
			name, value, _ := strings.Cut(one, ": ")
			r.Header.Set(name, value)
		}
		h.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s %v: %d, not %d", c.target, c.headers, w.Code, c.status)
		}
	}
}

// all lets everybody in.
type all struct{}

func (all) Enter(string, string) (*auth.Principal, error) { return &auth.Principal{}, nil }
func (all) Guess(string) error                            { return nil }

// TestSessions: behind the console a cookie stands for a token; without it the API sees what came.
func TestSessions(t *testing.T) {
	h := newConsole(all{})
	if w := ask(h, "GET", "/", browser); !strings.Contains(w.Body.String(), `content="tokens"`) {
		t.Errorf("the page does not know that it must ask for a token")
	}
	r, w := httptest.NewRequest(http.MethodPost, session.Path, strings.NewReader(`{"token":"trt_abc"}`)), httptest.NewRecorder()
	r.Host = "127.0.0.1"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(session.Header, "1")
	h.ServeHTTP(w, r)
	cookies := w.Result().Cookies()
	if w.Code != http.StatusNoContent || len(cookies) != 1 {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	if w := ask(h, "GET", "/v1/tasks", session.Header+": 1", "Cookie: "+cookies[0].Name+"="+cookies[0].Value); w.Header().Get("Seen") != "Bearer trt_abc" {
		t.Errorf("the API has seen %q", w.Header().Get("Seen"))
	}
	if w := ask(h, "GET", "/v1/tasks"); w.Header().Get("Seen") != "" || w.Code != http.StatusTeapot {
		t.Errorf("without a cookie: %d %v", w.Code, w.Header())
	}
	if w := ask(h, "DELETE", session.Path, session.Header+": 1", "Sec-Fetch-Site: cross-site"); w.Code != api.StatusOf(api.CodeCrossOrigin) {
		t.Errorf("another origin signs out: %d", w.Code)
	}
}

// TestSize: all that a browser loads is small, and the libraries are those that they are said to be (SPEC U1).
func TestSize(t *testing.T) {
	packed := 0
	for _, a := range embedded().byName {
		packed += a.Packed()
	}
	t.Logf("%d bytes compressed, in %d files", packed, len(embedded().byName))
	if packed > maxPacked {
		t.Errorf("%d bytes compressed: more than %d", packed, maxPacked)
	}
	list := string(embedded().byName["lib/README.md"].Bytes())
	libraries, err := fs.ReadDir(files, "assets/lib")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range libraries {
		if path.Ext(f.Name()) != ".js" && path.Ext(f.Name()) != ".css" {
			continue
		}
		sum := sha256.Sum256(embedded().byName["lib/"+f.Name()].Bytes())
		if !strings.Contains(list, "| "+f.Name()+" |") || !strings.Contains(list, hex.EncodeToString(sum[:])) {
			t.Errorf("%s is not what lib/README.md says: %x", f.Name(), sum)
		}
	}
}

// TestHouse: the console's own files are small, and leave to the policy nothing to refuse.
func TestHouse(t *testing.T) {
	inline := regexp.MustCompile(`(?i)\sstyle="|\son[a-z]+="|<script>|innerHTML|document\.write|\beval\(|new Function|https?://`)
	for name, a := range embedded().byName {
		if strings.HasPrefix(name, "lib/") {
			continue
		}
		if n := bytes.Count(a.Bytes(), []byte("\n")); n > 500 {
			t.Errorf("%s has %d lines", name, n)
		}
		for i, line := range strings.Split(string(a.Bytes()), "\n") {
			if found := inline.FindString(strings.NewReplacer("http://www.w3.org/2000/svg", "", "http://127.0.0.1:7070", "").Replace(line)); found != "" {
				t.Errorf("%s:%d: %q", name, i+1, found)
			}
		}
	}
}
