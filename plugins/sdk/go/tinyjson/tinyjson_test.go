package tinyjson_test

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

// plain converts to what encoding/json decodes into an any, with UseNumber.
func plain(v tinyjson.Value) any {
	switch v.Kind() {
	case tinyjson.Bool:
		b, _ := v.Truth()
		return b
	case tinyjson.Number:
		n, ok := v.Float64()
		if !ok {
			return "too large"
		}
		return n
	case tinyjson.String:
		s, _ := v.Str()
		return s
	case tinyjson.Array:
		list := []any{}
		for _, e := range v.Elems() {
			list = append(list, plain(e))
		}
		return list
	case tinyjson.Object:
		m := map[string]any{}
		for i, k := range v.Keys() {
			m[k] = plain(v.Elems()[i])
		}
		return m
	}
	return nil
}

func compare(t *testing.T, text string) {
	t.Helper()
	v, err := tinyjson.Parse([]byte(text))
	if valid := json.Valid([]byte(text)); valid != (err == nil) {
		t.Fatalf("Parse(%q): %v, encoding/json: valid = %v", text, err, valid)
	}
	if err != nil {
		return
	}
	var want any
	if json.Unmarshal([]byte(text), &want) != nil {
		return // a number that no float64 holds
	}
	if got := plain(v); !reflect.DeepEqual(got, want) {
		t.Fatalf("Parse(%q) = %#v, want %#v", text, got, want)
	}
}

var texts = []string{
	`null`, ` true `, `false`, `0`, `-0`, `12.5e-3`, `1E+2`, `""`, `[]`, `{}`, "[1,\t2 , 3]\n", `{"a":{"b":[null,{}]},"c":"d"}`,
	`"\"\\\/\b\f\n\r\t"`, `"é\u00e9\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ud83d\ud83d\ude00"`, `"\ude00"`,
	"\"\xff\"", `{"a":1,"a":2}`, "\"caf\u00e9 \xc3\"", `1e400`,
	``, ` `, `nul`, `nulll`, `01`, `1.`, `.5`, `-`, `+1`, `1e`, `1e+`, `"`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"\n\"", `[`, `[1`, `[1,]`, `[,1]`,
	`{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `{a:1}`, `{"a" 1}`, `1 2`, `{}}`, "\x00", "1\x00",
}

func TestParseAgreesWithEncodingJSON(t *testing.T) {
	for _, text := range texts {
		compare(t, text)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(text, "[")+strings.Count(text, "{") < tinyjson.MaxDepth {
			compare(t, text)
		}
	})
}

func TestParseRefusesDeepNesting(t *testing.T) {
	ok := strings.Repeat("[", tinyjson.MaxDepth) + strings.Repeat("]", tinyjson.MaxDepth)
	if _, err := tinyjson.Parse([]byte(ok)); err != nil {
		t.Fatal(err)
	}
	if _, err := tinyjson.Parse([]byte(strings.Repeat("[", 1_000_000))); err == nil {
		t.Fatal("a million brackets were accepted")
	}
}

func TestInt64(t *testing.T) {
	for text, want := range map[string]string{
		"3000000000": "3000000000", "3e9": "3000000000", "5.0": "5", "-7": "-7", "-0": "0", "0.0": "0", "-0e9": "0",
		"-1.50e1": "-15", "1200e-2": "12", "0.05e2": "5", "9.223372036854775807e18": "9223372036854775807", "-9223372036854775808": "-9223372036854775808",
		"10e-2": "no", "0.5": "no", "1e19": "no", "1e99999999999": "no", "1e-99999999999": "no", "0e5": "0",
		"9223372036854775807": "9223372036854775807",
		"1.5":                 "no", "9223372036854775808": "no", "1e300": "no", `"1"`: "no", "null": "no", "1e400": "no",
	} {
		v, err := tinyjson.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := "no"
		if n, ok := v.Int64(); ok {
			got = strconv.FormatInt(n, 10)
		}
		if got != want {
			t.Errorf("Int64(%s) = %s, want %s", text, got, want)
		}
	}
}

func TestAppendString(t *testing.T) {
	for _, s := range []string{"", "a b", "\"\\\n\t\r\x00\x1f", "é😀\u2028", "bad \xff utf-8"} {
		text := tinyjson.AppendString(nil, s)
		var got string
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%q → %s: %v", s, text, err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); got != want {
			t.Errorf("%q → %s → %q", s, text, got)
		}
	}
}

func TestAppendMember(t *testing.T) {
	b := tinyjson.AppendMember([]byte{'{'}, "a")
	b = tinyjson.AppendInt(b, 1)
	b = tinyjson.AppendMember(b, "b")
	b = append(b, "{}}"...)
	if string(b) != `{"a":1,"b":{}}` {
		t.Fatal(string(b))
	}
}

func TestGet(t *testing.T) {
	v, err := tinyjson.Parse([]byte(`{"a":1,"b":2,"a":3}`))
	if err != nil {
		t.Fatal(err)
	}
	a, ok := v.Get("a")
	if n, _ := a.Int64(); !ok || n != 3 {
		t.Fatalf("the last of duplicate keys should win, got %d", n)
	}
	if _, ok := v.Get("c"); ok {
		t.Fatal("found a missing member")
	}
	if _, ok := a.Get("a"); ok {
		t.Fatal("found a member of a number")
	}
}
