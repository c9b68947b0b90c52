package main

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// TestOperatorsActOnce: each act of an operator carries a key of its own; a submit carries only the key that it is given
// (SPEC H4).
func TestOperatorsActOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var keys []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			mu.Lock()
			keys = append(keys, r.Header.Get("Idempotency-Key"))
			mu.Unlock()
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	send := func(args ...string) string {
		t.Helper()
		keys = nil
		runHere(t.Context(), t, append(args, "--server", server.URL)...)
		if len(keys) != 1 {
			t.Fatalf("%v: %d requests", args, len(keys))
		}
		return keys[0]
	}
	seen := map[string]bool{}
	for _, args := range [][]string{
		{"behavior", "pause", "echo"}, {"behavior", "pause", "echo"}, {"behavior", "resume", "echo"}, {"behavior", "rm", "echo"},
		{"cluster", "drain", "n1"}, {"cluster", "undrain", "n1"}, {"retry", "some-id"}, {"resubmit", "some-id"},
		{"op", "start", "echo"}, {"op", "retry", "some-id"},
	} {
		key := send(args...)
		if key == "" || seen[key] {
			t.Errorf("%v: key %q", args, key)
		}
		seen[key] = true
	}
	if key := send("submit", "echo"); key != "" {
		t.Errorf("submit: key %q", key)
	}
	if key := send("retry", "some-id", "--idempotency-key", "mine"); key != "mine" {
		t.Errorf("given: key %q", key)
	}
}
