package tracing

import (
	"fmt"
	"strings"
	"testing"
)

// TestParseState: a tracestate is kept in one form, and what W3C does not know is none (SPEC U2).
func TestParseState(t *testing.T) {
	t.Parallel()
	long := func(key string, n int) string { return key + "=" + strings.Repeat("v", n-len(key)-1) }
	var many []string
	for i := range 33 {
		many = append(many, fmt.Sprintf("k%d=1", i))
	}
	var four []string
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		four = append(four, long(key, 128))
	}
	for header, want := range map[string]string{
		"congo=t61rcWkgMzE":                            "congo=t61rcWkgMzE",
		" rojo=00f067aa0ba902b7\t, ,congo=t61, ":       "rojo=00f067aa0ba902b7,congo=t61",
		"fw529a3039@dt=FfQ, 1a-_*/@v=!~ x,k= v":        "fw529a3039@dt=FfQ,1a-_*/@v=!~ x,k= v",
		long("a", 512-257) + "," + long("b", 256):      long("a", 512-257) + "," + long("b", 256),
		strings.Join(many[:32], ","):                   strings.Join(many[:32], ","),
		strings.Repeat("k", 256) + "=" + "1":           strings.Repeat("k", 256) + "=" + "1",
		long("a", 250) + ",b=1," + long("c", 258):      long("a", 250) + ",b=1",
		strings.Join(four, ","):                        strings.Join(four[:3], ","), // four with commas have more than 512
		long("z", 257) + "," + strings.Join(four, ","): strings.Join(four[:3], ","),

		"": "", " , ": "", "a": "", "=1": "", "a=": "", "a= ": "", "a=1=2": "", "a=1,a=2": "", "1a=1": "", "A=1": "", "a b=1": "", "é=1": "", "a=é": "", "a=\x7f": "",
		"a@b@c=1": "", "@b=1": "", "a@=1": "", "a@1=1": "", "_a=1": "", "_a@b=1": "", "a@b23456789012345=1": "",
		strings.Repeat("k", 257) + "=1":          "",
		strings.Repeat("k", 242) + "@v=1":        "",
		"k=" + strings.Repeat("v", 257):          "",
		strings.Join(many, ","):                  "",
		"fine=1," + strings.Repeat("k", 1) + "=": "",
	} {
		if got := ParseState(header); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

// TestJoin: a record keeps both in one text, and attempts keep the state.
func TestJoin(t *testing.T) {
	t.Parallel()
	s := Join(given, "b=2, a=1")
	if s != given+";b=2,a=1" || !Valid(s) || Parent(s) != given || State(s) != "b=2,a=1" || ID(s) != ID(given) || SpanID(s) != SpanID(given) || !Sampled(s) {
		t.Errorf("%q", s)
	}
	if a := Attempt(s, "n", "id", 1); !Valid(a) || State(a) != "b=2,a=1" || Parent(a) != Attempt(given, "n", "id", 1) {
		t.Errorf("%q", a)
	}
	if Join("", "a=1") != "" || Join(given, "a") != given || State(given) != "" || State("") != "" || Parent("") != "" || Sampled(given[:53]+"00;a=1") {
		t.Error("what has no state has one")
	}
	for _, wrong := range []string{given + ";", given + ",a=1", given + ";a=1, b=2", given + ";a", ";a=1", given + ";" + strings.Repeat("a=1,", 200)} {
		if Valid(wrong) {
			t.Errorf("%q is valid", wrong)
		}
	}
	if Parse(s) != "" {
		t.Error("a header has a state in it")
	}
}

func FuzzParseState(f *testing.F) {
	f.Add("rojo=00f067aa0ba902b7, congo=t61rcWkgMzE")
	f.Fuzz(func(t *testing.T, s string) {
		if p := ParseState(s); len(p) > 512 || ParseState(p) != p || !Valid(Join(given, s)) {
			t.Errorf("%q", p)
		}
	})
}
