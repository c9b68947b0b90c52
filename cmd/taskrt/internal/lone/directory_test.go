package lone

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
)

// TestTokens: while secrets are being replaced a worker has a token that a node does not know yet, and one that it knows. It asks with both
// (SPEC A2, A4).
func TestTokens(t *testing.T) {
	const answer = `{"leader":"n1","nodes":[{"id":"n1","raft":"192.0.2.1:7170"}]}`
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer trt_known" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"code":"unauthenticated","status":401}`))
			return
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer node.Close()
	for _, c := range []struct {
		tokens []string
		code   string
	}{
		{[]string{"trt_known"}, ""},
		{[]string{"trt_next", "trt_known"}, ""},
		{[]string{"trt_next", "trt_other"}, api.CodeUnauthenticated},
	} {
		d, err := NewDirectory([]string{node.URL}, Trust{Tokens: func() ([]string, error) { return c.tokens, nil }})
		if err != nil {
			t.Fatal(err)
		}
		addr, err := d.leader(t.Context())
		if api.CodeOf(err) != c.code || err == nil && addr != "192.0.2.1:7170" {
			t.Errorf("%v: %q, %v", c.tokens, addr, err)
		}
	}
}

// TestTokensStayPrivate: a worker with tokens refuses URLs to which they would travel in the clear, and learns none from the nodes (SPEC A4).
func TestTokensStayPrivate(t *testing.T) {
	tokens := func() ([]string, error) { return []string{"trt_known"}, nil }
	for url, fine := range map[string]bool{"https://192.0.2.1:7070": true, "http://127.0.0.1:7070": true, "http://192.0.2.1:7070": false, "192.0.2.1:7070": false} {
		d, err := NewDirectory([]string{url}, Trust{Tokens: tokens})
		if (err == nil) != fine {
			t.Errorf("%s: %v", url, err)
		}
		if _, err := NewDirectory([]string{url}, Trust{}); err != nil {
			t.Errorf("%s without a token: %v", url, err)
		}
		d.learn(&api.Cluster{Nodes: []api.Node{{HTTP: "https://192.0.2.2:7070"}, {HTTP: "http://192.0.2.3:7070"}, {HTTP: "http://[::1]:7070"}}})
		if want := []string{url, "https://192.0.2.2:7070", "http://[::1]:7070"}; !slices.Equal(d.urls, want) {
			t.Errorf("learned %v", d.urls)
		}
	}
}

// TestClusterIsPinned: a worker that has found its cluster asks, and believes, no other one at the same addresses (SPEC C2).
func TestClusterIsPinned(t *testing.T) {
	id, asked := "first", ""
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("Taskrt-Cluster")
		w.Header().Set("Taskrt-Cluster", id)
		_, _ = w.Write([]byte(`{"leader":"n1","nodes":[{"id":"n1","raft":"192.0.2.1:7170"}]}`))
	}))
	defer node.Close()
	d, err := NewDirectory([]string{node.URL}, Trust{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if addr, err := d.leader(t.Context()); addr != "192.0.2.1:7170" || err != nil {
			t.Fatalf("%q, %v", addr, err)
		}
	}
	if asked != "first" {
		t.Errorf("the second question is for cluster %q", asked)
	}
	id = "second"
	if addr, err := d.leader(t.Context()); api.CodeOf(err) != api.CodeOtherCluster || !strings.Contains(err.Error(), "started again") {
		t.Errorf("another cluster: %q, %v", addr, err)
	}
}
