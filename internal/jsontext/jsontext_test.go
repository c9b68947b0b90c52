package jsontext

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLoneSurrogate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`""`: false, `"\ud83d\ude00"`: false, `"\uD83D\uDE00 and \n\u00e9"`: false, `"\\ud800"`: false, `"\\\\ud800"`: false,
		`"\ud800"`: true, `"\udc00"`: true, `"\udc00\ud800"`: true, `"\ud800\ud800\udc00"`: true, `"\ud83d\ude00\ud800"`: true,
		`"\\\ud800"`: true, `"\ud800\n"`: true, `"\ud800 \udc00"`: true, `["a",{"\ud800":1}]`: true, `{"a":"\ud83d\ude00"}`: false, `"\uFFFD"`: false,
	} {
		if got := LoneSurrogate([]byte(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// FuzzLoneSurrogate compares with what the library does: it writes U+FFFD for a half, and for nothing else but itself.
func FuzzLoneSurrogate(f *testing.F) {
	for _, s := range []string{`"\ud800"`, `"\ud83d\ude00"`, `"\\ud800\udc00"`, `["\ud800x"]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var s string
		if !utf8.Valid(text) || json.Unmarshal(text, &s) != nil || strings.Contains(string(text), "\uFFFD") || strings.Contains(strings.ToLower(string(text)), `\ufffd`) {
			t.Skip()
		}
		if got, want := LoneSurrogate(text), strings.Contains(s, "\uFFFD"); got != want {
			t.Errorf("%s: %v", text, got)
		}
	})
}

func TestInteger(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]string{
		"0": "0", "-0": "0", "0.0": "0", "-0.0e5": "0", "0e-999": "0", "1000.0": "1000", "1e3": "1000", "1E+3": "1000", "10e-1": "1", "1500e-2": "15", "1.5e1": "15", "-2.50e2": "-250",
		"12": "12", "9223372036854775807": "9223372036854775807", "9223372036854775807.000": "9223372036854775807", "1.8446744073709551615e19": "18446744073709551615",
		"1.5": "", "1e-1": "", "15e-1": "", "1e400": "", "1e99999999999": "", "1e-99999999999": "", "0.001e2": "", "": "", "100000000000000000000000": "",
	} {
		if got, ok := Integer(number); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", number, got, ok, want)
		}
	}
}

// FuzzInteger compares with rational numbers.
func FuzzInteger(f *testing.F) {
	for _, s := range []string{"1e3", "-10.50", "0.1e1", "3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, number string) {
		if !json.Valid([]byte(number)) || strings.ContainsAny(number, "\"[{ntf \r\n\t") || len(number) > 60 {
			t.Skip()
		}
		if i := strings.IndexAny(number, "eE"); i >= 0 && len(number)-i > 5 { // of a number that fills the memory
			t.Skip()
		}
		r, ok := new(big.Rat).SetString(number)
		if !ok {
			t.Skip()
		}
		got, whole := Integer(number)
		n, _ := new(big.Int).SetString("1"+strings.Repeat("0", maxDigits), 10)
		want := r.IsInt() && r.Num().CmpAbs(n) < 0
		if whole != want || whole && got != r.Num().String() {
			t.Errorf("%s: %q, %v, want %v", number, got, whole, r)
		}
	})
}
