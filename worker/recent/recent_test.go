package recent

import "testing"

func TestRecentIsBounded(t *testing.T) {
	var r Tokens
	for token := range uint64(3 * most) {
		r.Add(token)
	}
	if len(r.set) != most || len(r.ring) != most {
		t.Errorf("%d, %d", len(r.set), len(r.ring))
	}
	if !r.Has(3*most-1) || !r.Has(2*most) || r.Has(2*most-1) {
		t.Error("not the last ones")
	}
}
