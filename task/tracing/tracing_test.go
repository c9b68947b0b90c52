package tracing

import (
	"strings"
	"testing"
)

const given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestParse: headers are read as W3C Trace Context asks for, and what is none is ignored (SPEC U2).
func TestParse(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		given:                                 given,
		strings.Replace(given, "00", "cc", 1): given,
		"cc" + given[2:] + "-what-the-future-brings": given,
		given[:53] + "00": given[:53] + "00",
		given[:53] + "ff": given[:53] + "03",
		given[:53] + "fe": given[:53] + "02",

		"":                                      "",
		given[1:]:                               "",
		given + "-more":                         "",
		given + "0":                             "",
		"cc" + given[2:] + ".":                  "",
		"ff" + given[2:]:                        "",
		"0x" + given[2:]:                        "",
		strings.ToUpper(given):                  "",
		given[:53] + "0g":                       "",
		given[:10] + "g" + given[11:]:           "",
		given[:40] + "-" + given[41:]:           "",
		strings.Replace(given, "-b7", "_b7", 1): "",
		"00-" + strings.Repeat("0", 32) + given[35:]: "",
		given[:36] + strings.Repeat("0", 16) + "-01": "",
		"00-" + strings.Repeat("é", 16) + given[35:]: "",
	} {
		if got := Parse(header); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
		if want != "" && !Valid(want) || Valid(header) != (header == want && want != "") && !strings.HasPrefix(header, "00-") {
			t.Errorf("%q: valid %v", header, Valid(header))
		}
	}
}

// TestAttempt: the span of an attempt follows from what everybody knows. The numbers are contract, because children's records have them.
func TestAttempt(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range []string{
		Attempt(given, "default", "a-task", 1), Attempt(given, "default", "a-task", 2), Attempt(given, "default", "b-task", 1), Attempt(given, "other", "a-task", 1),
		Attempt("00-1"+given[4:], "default", "a-task", 1),
	} {
		if !Valid(s) || seen[s] || s[35:53] == given[35:53] || !Sampled(s) {
			t.Errorf("%q", s)
		}
		seen[s] = true
	}
	if got := Attempt(given, "default", "a-task", 1); ID(got) != ID(given) || got[36:52] != Span(given, "default", "a-task", 1) || got[36:52] != "adee02b81630f679" {
		t.Error(got)
	}
	if Attempt("", "default", "a-task", 1) != "" || ID("") != "" || SpanID("") != "" || SpanID(given) != given[36:52] || Sampled("") || Sampled(given[:53]+"02") {
		t.Error("what has no trace has one")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(given)
	f.Fuzz(func(t *testing.T, s string) {
		if p := Parse(s); p != "" && (!Valid(p) || Parse(p) != p || !Valid(Attempt(p, s, s, 1))) {
			t.Errorf("%q", p)
		}
	})
}
