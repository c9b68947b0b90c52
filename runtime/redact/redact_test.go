package redact

import (
	"bytes"
	"testing"
)

// TestJSON: a secret is hidden wherever it stands, also escaped, and in what is no JSON (SPEC B6).
func TestJSON(t *testing.T) {
	t.Parallel()
	hide := func(text []byte) []byte {
		return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("se\ncret"), []byte("*")), []byte("12345678"), []byte("#"))
	}
	for text, want := range map[string]string{
		`{"a se\ncret":["se\u000acret",1,null,true]}`: `{"a *":["*",1,null,true]}`,
		`[12345678,1234567]`:                          `["#",1234567]`,
		"{se\ncret":                                   "{*",
	} {
		if got := string(JSON([]byte(text), hide)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
