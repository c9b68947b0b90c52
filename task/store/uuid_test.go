package store

import "testing"

// TestIDsArePackedAndBack: a UUID in lower case takes 17 bytes; whatever differs from one in a byte is kept as it is.
func TestIDsArePackedAndBack(t *testing.T) {
	const uuid = "018f3c2a-9b4d-7e01-8f23-456789abcdef"
	var b []byte
	short := 0
	for at := range uuid {
		for c := range 256 {
			id := []byte(uuid)
			id[at] = byte(c)
			b = appendID(b[:0], string(id))
			if got := recordID(b); got != string(id) {
				t.Fatalf("%q became %q", id, got)
			}
			if len(b) == 17 {
				short++
			}
		}
	}
	if want := 32*16 + 4; short != want { // a digit in the place of each, the dashes themselves
		t.Errorf("%d are packed as UUIDs, want %d", short, want)
	}
	for _, id := range []string{"abc", uuid[1:], uuid + "0"} {
		b = appendID(nil, id)
		if got := recordID(b); got != id {
			t.Errorf("%q became %q", id, got)
		}
	}
}
