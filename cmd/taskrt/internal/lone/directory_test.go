package lone

import (
	"net/http"
	"net/http/httptest"
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
