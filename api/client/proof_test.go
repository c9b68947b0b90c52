package client_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
)

// guarded is a server of one cluster that notes what it is asked, and answers whoever has the right token.
type guarded struct {
	cluster, token string
	deaf           bool     // it does not look at which cluster is meant
	asked          []string // method, path and Authorization
}

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	g.asked = append(g.asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
	if g.cluster != "" {
		w.Header().Set("Taskrt-Cluster", g.cluster)
	}
	status, body := http.StatusOK, `{}`
	switch meant := r.Header.Get("Taskrt-Cluster"); {
	case meant != "" && meant != g.cluster && g.cluster != "" && !g.deaf:
		status, body = http.StatusMisdirectedRequest, `{"code":"other_cluster","detail":"this is another one"}`
	case r.Header.Get("Authorization") != "Bearer "+g.token:
		status, body = http.StatusUnauthorized, `{"code":"unauthenticated"}`
	case r.URL.Path == "/v1/events":
		w.Header().Set("Content-Type", "text/event-stream")
		body = ""
	case strings.HasSuffix(r.URL.Path, "/export"):
		body = `{"end":true}`
	}
	if status != http.StatusOK {
		w.Header().Set("Content-Type", "application/problem+json")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

const secretToken = "trt_abcdefgh"

// everyWay calls a client in each of the ways in which it sends requests.
var everyWay = map[string]func(t *testing.T, c *client.Client) error{
	"get":  func(t *testing.T, c *client.Client) error { _, err := c.Cluster(t.Context()); return err },
	"post": func(t *testing.T, c *client.Client) error { _, err := c.Drain(t.Context(), "n1", true); return err },
	"put a blob": func(t *testing.T, c *client.Client) error {
		_, err := c.PutBlob(t.Context(), api.PutBlobRequest{Body: strings.NewReader("x"), Size: 1})
		return err
	},
	"blob": func(t *testing.T, c *client.Client) error {
		b, err := c.BlobContent(t.Context(), api.BlobRange{Digest: strings.Repeat("0", 64), Length: -1})
		if err == nil {
			err = b.Body.Close()
		}
		return err
	},
	"export": func(t *testing.T, c *client.Client) error {
		b, err := c.ExportNamespace(t.Context(), api.ExportRequest{Name: "default"})
		if err == nil {
			err = b.Close()
		}
		return err
	},
	"import": func(t *testing.T, c *client.Client) error {
		_, err := c.ImportNamespace(t.Context(), api.ImportRequest{Name: "copy", Body: strings.NewReader("{}")})
		return err
	},
	"events": func(t *testing.T, c *client.Client) error {
		s, err := c.Events(t.Context(), api.EventsRequest{})
		if err == nil {
			s.Close()
		}
		return err
	},
}

// TestTokenOnEveryWay: whatever a client sends carries its token and the cluster that is meant. No error shows the token (SPEC A4, A9, C2).
func TestTokenOnEveryWay(t *testing.T) {
	for name, call := range everyWay {
		t.Run(name, func(t *testing.T) {
			g := &guarded{cluster: "ours", token: secretToken}
			s := httptest.NewServer(g)
			defer s.Close()
			connect := func(token, cluster string) *client.Client {
				c, err := client.New(client.Config{URLs: []string{s.URL}, Token: client.StaticToken(token + "\n"), Cluster: cluster})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(c.Close)
				return c
			}
			if err := call(t, connect(secretToken, "ours")); api.CodeOf(err) != "" {
				t.Errorf("with the token: %v", err)
			}
			for want, c := range map[string]*client.Client{"unauthenticated": connect(secretToken+"i", "ours"), "other_cluster": connect(secretToken, "theirs")} {
				if err := call(t, c); api.CodeOf(err) != want || strings.Contains(err.Error(), secretToken) {
					t.Errorf("%v, want %s", err, want)
				}
			}
			g.deaf = true
			if err := call(t, connect(secretToken, "theirs")); api.CodeOf(err) != "other_cluster" {
				t.Errorf("the answer of another cluster: %v", err)
			}
			g.cluster = "" // an answer that does not say
			if err := call(t, connect(secretToken, "ours")); api.CodeOf(err) != "other_cluster" {
				t.Errorf("an answer of nobody: %v", err)
			}
			asked := len(g.asked)
			if err := call(t, connect("two words", "ours")); err == nil || strings.Contains(err.Error(), "words") || len(g.asked) > asked {
				t.Errorf("a token that is none: %v", err)
			}
		})
	}
}

// TestTokenIsReadAnew: a token that was replaced is used at once, also by a request that was refused for the former one.
func TestTokenIsReadAnew(t *testing.T) {
	g := &guarded{token: "trt_former"}
	s := httptest.NewServer(g)
	defer s.Close()
	var now atomic.Value
	now.Store("trt_former")
	reads := 0
	c, err := client.New(client.Config{URLs: []string{s.URL}, Token: func() (string, error) {
		if reads++; reads == 3 { // the second request has its token already
			now.Store("trt_next")
		}
		return now.Load().(string), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, token := range []string{"trt_former", "trt_next"} {
		g.token = token
		if _, err := c.Cluster(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if want := "GET /v1/cluster Bearer trt_former, GET /v1/cluster Bearer trt_former, GET /v1/cluster Bearer trt_next"; strings.Join(g.asked, ", ") != want {
		t.Errorf("%q", g.asked)
	}
	g.token = "trt_nobody"
	if _, err := c.Cluster(t.Context()); api.CodeOf(err) != "unauthenticated" || len(g.asked) != 4 {
		t.Errorf("%v, %q", err, g.asked)
	}
}

// TestTokenThatCannotBeRead: it is said why, and nobody is asked.
func TestTokenThatCannotBeRead(t *testing.T) {
	g := &guarded{}
	s := httptest.NewServer(g)
	defer s.Close()
	gone := errors.New("no such file")
	c, err := client.New(client.Config{URLs: []string{s.URL, s.URL}, Token: func() (string, error) { return "", gone }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, call := range everyWay {
		if err := call(t, c); !errors.Is(err, gone) || api.CodeOf(err) != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(g.asked) > 0 {
		t.Errorf("asked all the same: %q", g.asked)
	}
}

// TestTokenStaysOutOfTheClear: no token goes over a network in the clear, nor to another server than the one that was named.
func TestTokenStaysOutOfTheClear(t *testing.T) {
	token := client.StaticToken(secretToken)
	for url, ok := range map[string]bool{
		"http://127.0.0.1:7070": true, "localhost:7070": true, "http://[::1]:7070": true, "https://10.0.0.1:7070": true,
		"http://10.0.0.1:7070": false, "node:7070": false, "http://localhost.example:7070": false,
	} {
		for _, clear := range []bool{false, true} {
			c, err := client.New(client.Config{URLs: []string{"http://127.0.0.1:1", url}, Token: token, TokenInClear: clear})
			if (err == nil) != (ok || clear) {
				t.Errorf("%s, in the clear %t: %v", url, clear, err)
			}
			if err == nil {
				c.Close()
			}
		}
		if c, err := client.New(client.Config{URLs: []string{url}}); err != nil {
			t.Errorf("%s without a token: %v", url, err)
		} else {
			c.Close()
		}
	}
	other := &guarded{token: secretToken}
	thief := httptest.NewServer(other)
	defer thief.Close()
	s := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	c, err := client.New(client.Config{URLs: []string{s.URL}, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Cluster(t.Context()); err == nil || len(other.asked) > 0 {
		t.Errorf("%v; the other server was asked %q", err, other.asked)
	}
}
