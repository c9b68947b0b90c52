package transport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/plugins/plugintest"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdkhttp"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdkhttp/transport"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
)

// body is what the behavior does in the test that runs now.
var body func(*http.Client)

func init() {
	sdk.Register(sdk.Behavior{Name: "any", Run: func(*sdk.Context) error {
		body(&http.Client{Transport: transport.New()})
		return nil
	}})
}

func run(t *testing.T, h *sdktest.Host, f func(*http.Client)) {
	t.Helper()
	body = f
	if r := sdktest.Run(t, "any", h); r.Outcome != abi.OutcomeOK {
		t.Error(r)
	}
}

// site has a page that leads to others.
func site() http.Handler {
	pages := http.NewServeMux()
	pages.HandleFunc("POST example.com/echo", func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		user, password, _ := r.BasicAuth()
		fmt.Fprintf(w, "%s %s %s %q %s", r.URL, user, password, r.Header.Get("Accept"), text)
	})
	pages.HandleFunc("example.com/moved", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "1"})
		http.SetCookie(w, &http.Cookie{Name: "b", Value: "2"})
		http.Redirect(w, r, "https://example.com/here", http.StatusFound)
	})
	pages.HandleFunc("example.com/here", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1234") // of a HEAD; a GET's is that of the body
		fmt.Fprintf(w, "here, with %q", r.Header.Get("Cookie"))
	})
	pages.HandleFunc("example.com/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
	})
	return pages
}

func read(t *testing.T, r *http.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Error(err)
		return ""
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func TestPost(t *testing.T) {
	run(t, &sdktest.Host{HTTP: site()}, func(c *http.Client) {
		q, err := http.NewRequest(http.MethodPost, "https://me:secret@example.com/echo?a=b", strings.NewReader("data"))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Add("Accept", "text/html")
		q.Header.Add("Accept", "text/plain")
		r, err := c.Do(q)
		text := read(t, r, err)
		if want := `https://example.com/echo?a=b me secret "text/html, text/plain" data`; text != want {
			t.Errorf("%s, want %s", text, want)
		}
		if err == nil && (r.Status != "200 OK" || r.ContentLength != int64(len(text)) || r.Request.URL.Path != "/echo" || r.Header.Get("content-type") == "") {
			t.Errorf("%+v", r)
		}
	})
}

// TestRedirects: the client follows, and each request is checked.
func TestRedirects(t *testing.T) {
	var asked []string
	h := &sdktest.Host{HTTP: site(), OnRequest: func(r *http.Request) error {
		asked = append(asked, r.URL.String())
		if r.URL.Host != "example.com" {
			return sdk.ErrDenied
		}
		return nil
	}}
	run(t, h, func(c *http.Client) {
		c.Jar, _ = cookiejar.New(nil)
		r, err := c.Get("https://example.com/moved")
		if text := read(t, r, err); text != `here, with "a=1; b=2"` {
			t.Error(text)
		}
		_, err = c.Get("https://example.com/away")
		if e, ok := errors.AsType[*sdkhttp.Error](err); !ok || !errors.Is(err, sdk.ErrDenied) {
			t.Errorf("%v, %v", err, e)
		}
	})
	if got := strings.Join(asked, " "); got != "https://example.com/moved https://example.com/here https://example.com/away https://elsewhere.example/" {
		t.Error(got)
	}
}

func TestHead(t *testing.T) {
	run(t, &sdktest.Host{HTTP: site()}, func(c *http.Client) {
		r, err := c.Head("https://example.com/here")
		if text := read(t, r, err); text != "" || err == nil && r.ContentLength != 1234 {
			t.Errorf("%q, %+v", text, r)
		}
		r, err = c.Head("https://example.com/moved/not")
		if read(t, r, err); err == nil && (r.StatusCode != http.StatusNotFound || r.ContentLength != -1) {
			t.Errorf("%+v", r)
		}
	})
}

// closing tells whether a body was closed.
type closing struct {
	io.Reader
	closed *bool
}

func (c closing) Close() error { *c.closed = true; return nil }

// broken is a body that cannot be read.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestNotSent(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		body io.Reader
		host string
		want error
	}{
		"over":   {over, strings.NewReader("x"), "", context.Canceled},
		"broken": {t.Context(), broken{}, "", io.ErrClosedPipe},
		"host":   {t.Context(), strings.NewReader("x"), "other.example", sdk.ErrInvalid},
	} { // order-free: independent runs
		h := &sdktest.Host{HTTP: site(), OnRequest: func(r *http.Request) error {
			t.Errorf("%s: sent to %s", name, r.URL)
			return nil
		}}
		run(t, h, func(*http.Client) {
			closed := false
			q, err := http.NewRequestWithContext(c.ctx, http.MethodPost, "https://example.com/echo", closing{c.body, &closed})
			if err != nil {
				t.Fatal(err)
			}
			if c.host != "" {
				q.Host = c.host
			}
			if _, err := transport.New().RoundTrip(q); !errors.Is(err, c.want) || !closed {
				t.Errorf("%s: %v, want %v; the body was closed: %t", name, err, c.want, closed)
			}
		})
	}
}

// TestGuest is the same in a sandbox.
func TestGuest(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a guest with the Go toolchain")
	}
	m := plugintest.Load(t, plugintest.BuildGo(t, "testdata/guest"))
	var manifest struct{ Requires []string }
	if err := json.Unmarshal(m.Manifest(), &manifest); err != nil || len(manifest.Requires) != 1 || manifest.Requires[0] != "http" {
		t.Errorf("%s, %v", m.Manifest(), err)
	}
	m.Run(t, "get", &plugintest.Host{HTTP: site(), Params: []byte("https://example.com/moved")}).
		WantResult(t, `https://example.com/here 200 here, with ""`)
	m.Run(t, "get", &plugintest.Host{HTTP: site(), Params: []byte("https://example.com/none")}).
		WantResult(t, "https://example.com/none 404 404 page not found\n")
	r := m.Run(t, "get", &plugintest.Host{Params: []byte("https://example.com/moved")})
	if r.WantError(t, "denied", false); r.Message != `Get "https://example.com/moved": http: not allowed` {
		t.Error(r)
	}
}
