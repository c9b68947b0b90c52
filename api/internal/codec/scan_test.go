package codec

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/taskrt/taskrt/api/internal/scan"
)

// FuzzValidJSON: the scanner agrees with encoding/json on what is JSON, and with json.Compact on what is compact.
func FuzzValidJSON(f *testing.F) {
	for _, body := range bodies[:len(bodies)-6] {
		f.Add([]byte(body))
	}
	for _, s := range []string{`-`, `-0.`, `1.e1`, `1E+`, `1E+5`, `"abcdefg\`, `"abcdefg\u00`, "\"abcdefgh\x1f\"", "\"\x7f\"", `"é12345"`, `tru`, `[1 ,2]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		valid, compact := scan.Valid(b)
		if want := utf8.Valid(b) && !scan.TooDeep(b) && json.Valid(b); valid != want {
			t.Fatalf("%q is valid: %v, want %v", b, valid, want)
		}
		if want := valid && scan.CompactLen(b) == len(b); compact != want {
			t.Fatalf("%q is compact: %v, want %v", b, compact, want)
		}
	})
}
