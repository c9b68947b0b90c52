package server

import (
	"testing"

	"github.com/taskrt/taskrt/api/auth"
)

// TestKeysBelongToTheirToken: two tokens that use one idempotency key use two, and a cluster that is open has the keys that it always had
// (SPEC A4, H4).
func TestKeysBelongToTheirToken(t *testing.T) {
	k := keyed{key: "k", route: "POST /v1/tasks", method: "POST", target: "/v1/tasks?", namespace: "default", body: []byte("{}")}
	open, one, other := k.hashes(nil), k.hashes(&auth.Principal{Number: 2}), k.hashes(&auth.Principal{Number: 3})
	if open.Key == one.Key || one.Key == other.Key || open.Key == other.Key {
		t.Errorf("keys %d, %d, %d", open.Key, one.Key, other.Key)
	}
	if open.Body != one.Body || one.Body != other.Body {
		t.Error("the request is the same one")
	}
	if open.Key != hashOf("default", "POST /v1/tasks", "k") {
		t.Error("keys of an open cluster are others than they were")
	}
	if again := k.hashes(&auth.Principal{Number: 2, Name: "another"}); again != one {
		t.Error("the key of one token is two")
	}
}
