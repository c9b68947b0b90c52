package wasi

import "testing"

// TestFilesText: the state of descriptors after closing and renumbering comes back from its text, and no other text
// is accepted.
func TestFilesText(t *testing.T) {
	f := Files{}
	f.moved[Stdin] = move{closed: true}
	f.moved[Stdout] = move{by: 7, flags: flagNonblock}
	f.moved[Stderr] = move{by: 1<<32 - 1, dropped: rightWrite | 1<<63}
	text, err := f.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var got Files
	if err := got.UnmarshalText(text); err != nil || got != f {
		t.Errorf("%s: %+v, %v", text, got, err)
	}
	for _, bad := range []string{"", "0", string(text[:len(text)-2]), string(text) + "00", "g" + string(text[1:])} {
		if err := got.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
