package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
)

// TestClientResendsUnderAKey: a request with an unknown outcome is sent again, with the same key.
func TestClientResendsUnderAKey(t *testing.T) {
	c, servers := clientOf(t, []string{"break", "outcome_unknown", "keys_exhausted", "ok"})
	if _, err := c.Submit(t.Context(), api.SubmitRequest{Behavior: "apitest.ok"}); api.CodeOf(err) != api.CodeOutcomeUnknown || servers[0].count() != 1 {
		t.Fatalf("without a key: %v after %d requests", err, servers[0].count())
	}
	ctx := client.WithIdempotencyKey(t.Context(), "k")
	if _, err := c.Submit(ctx, api.SubmitRequest{Behavior: "apitest.ok"}); err != nil || servers[0].count() != 4 {
		t.Errorf("with a key: %v after %d requests", err, servers[0].count())
	}
	_, err := c.Submit(client.WithIdempotencyKey(t.Context(), "a b"), api.SubmitRequest{Behavior: "apitest.ok"})
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Field != api.KeyHeader || servers[0].count() != 4 {
		t.Errorf("a bad key: %v", err)
	}
}

// TestClientKeysOfParts: a batch that goes in several bodies has a key for each body.
func TestClientKeysOfParts(t *testing.T) {
	var keys []string
	c, err := client.New(client.Config{URLs: []string{"http://x"}, BatchBytes: 10, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		keys = append(keys, r.Header.Get(api.KeyHeader))
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"results":[{}]}`)
		return w.Result(), nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.SubmitBatch(client.WithIdempotencyKey(t.Context(), "k"), []api.SubmitRequest{{Behavior: "abc"}, {Behavior: "abc"}, {Behavior: "abc"}}); err != nil {
		t.Fatal(err)
	}
	if strings.Join(keys, " ") != "k k~2 k~3" {
		t.Errorf("keys %q", keys)
	}
}

type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestClientSpareKey: a spare key goes with a request that cannot be sent again otherwise, as long as the cluster keeps keys.
func TestClientSpareKey(t *testing.T) {
	var keys []string
	c, err := client.New(client.Config{URLs: []string{"http://x"}, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		keys = append(keys, r.Header.Get(api.KeyHeader))
		w := httptest.NewRecorder()
		if len(keys) == 2 {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"code":"keys_exhausted"}`)
			return w.Result(), nil
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"task":{"id":"one"},"outcome":"created"}`)
		return w.Result(), nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range []api.SubmitRequest{{Behavior: "abc"}, {Behavior: "abc"}, {Behavior: "abc", ID: "one"}} {
		if _, err := c.Submit(client.WithSpareKey(t.Context(), "k"), r); err != nil {
			t.Errorf("submit %d: %v", i, err)
		}
	}
	if got := strings.Join(keys, ","); got != "k,k,," {
		t.Errorf("keys %q", got)
	}
}
