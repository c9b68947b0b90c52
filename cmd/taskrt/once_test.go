package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestSubmitIsSentAgain: a submit whose answer was lost is sent again under its own key (SPEC H4).
func TestSubmitIsSentAgain(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var keys []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if keys = append(keys, r.Header.Get("Idempotency-Key")); len(keys) == 1 {
			panic(http.ErrAbortHandler) // after the body has come
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"task":{"id":"one"},"outcome":"created"}`))
	}))
	defer server.Close()
	out, code := runHere(t.Context(), t, "submit", "echo", "--server", server.URL)
	if code != 0 || out != "one\n" || len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] {
		t.Errorf("%q, code %d, keys %q", out, code, keys)
	}
}

// TestOperatorsActOnce: each act of an operator carries a key of its own, and so does a submit that could not be sent again without one (SPEC
// H4).
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
	if key := send("submit", "echo"); key == "" || seen[key] {
		t.Errorf("submit: key %q", key)
	}
	if key := send("submit", "echo", "--id", "mine"); key != "" {
		t.Errorf("a submit that may be sent again anyway takes the key %q of those that the cluster keeps", key)
	}
	if key := send("retry", "some-id", "--idempotency-key", "mine"); key != "mine" {
		t.Errorf("given: key %q", key)
	}
}

// TestWaitsLookWithinTheirTime: the first look of a wait, too, goes on without a leader for as long as the wait may take (SPEC W1).
func TestWaitsLookWithinTheirTime(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"wait", "one"}, {"op", "watch", "one"}} {
		var first string
		var mu sync.Mutex
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if first == "" {
				first = r.URL.Query().Get("until") + " " + r.URL.Query().Get("wait")
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = w.Write([]byte(`{"code":"no_leader"}`))
				return
			}
			w.Header().Set("Content-Type", "application/json")
			if strings.HasPrefix(r.URL.Path, "/v1/tasks/") {
				_, _ = w.Write([]byte(`{"task":{"id":"one","status":"SUCCESS","final":true,"rev":3}}`))
				return
			}
			_, _ = w.Write([]byte(`{"operation":{"id":"one","status":"SUCCESS","rev":3}}`))
		}))
		out, code := runHere(t.Context(), t, append(args, "--timeout", "10m", "--server", server.URL)...)
		if code != 0 || first != "rev:1 20s" {
			t.Errorf("%v: %q, code %d; the first look was %q", args, out, code, first)
		}
		server.Close()
	}
}
