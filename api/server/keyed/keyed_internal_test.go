package keyed

import (
	"testing"

	"github.com/taskrt/taskrt/api/auth"
)

// TestKeysBelongToTheirToken: two tokens that use one idempotency key use two, and a cluster that is open has the keys that it always had
// (SPEC A4, H4).
func TestKeysBelongToTheirToken(t *testing.T) {
	k := Once{Key: "k", Route: "POST /v1/tasks", Method: "POST", Target: "/v1/tasks?", Namespace: "default", body: []byte("{}")}
	open, one, other := k.Hashes(nil), k.Hashes(&auth.Principal{Number: 2}), k.Hashes(&auth.Principal{Number: 3})
	if open.Key == one.Key || one.Key == other.Key || open.Key == other.Key {
		t.Errorf("keys %d, %d, %d", open.Key, one.Key, other.Key)
	}
	if open.Body != one.Body || one.Body != other.Body {
		t.Error("the request is the same one")
	}
	if open.Key != hashOf("default", "POST /v1/tasks", "k") {
		t.Error("keys of an open cluster are others than they were")
	}
	if again := k.Hashes(&auth.Principal{Number: 2, Name: "another"}); again != one {
		t.Error("the key of one token is two")
	}
}
