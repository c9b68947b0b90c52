package sdk_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/taskrt/taskrt/plugins/plugintest"
)

// maxDepth is MAX_DEPTH of the SDKs' JSON.
const maxDepth = 512

// guestJSON compares an SDK's JSON, in a guest, with encoding/json: which texts are JSON, what they hold, and where the
// others stop being JSON.
func guestJSON(t *testing.T, m *plugintest.Module) {
	t.Run("handmade", func(t *testing.T) { compareJSON(t, m, handmadeTexts()) })
	t.Run("changed", func(t *testing.T) { compareJSON(t, m, changedTexts()) })
	t.Run("random", func(t *testing.T) { compareJSON(t, m, randomTexts(rand.New(rand.NewPCG(1, 2)), 40_000)) })
	t.Run("written", func(t *testing.T) { compareJSON(t, m, writtenTexts(t, rand.New(rand.NewPCG(3, 4)), 2_000)) })
	t.Run("hostile", func(t *testing.T) {
		for name, text := range hostileTexts() {
			t.Run(name, func(t *testing.T) { compareJSON(t, m, []string{text}) })
		}
	})
}

// compareJSON has the guest read texts, and judges what it says of each.
func compareJSON(t *testing.T, m *plugintest.Module, texts []string) {
	t.Helper()
	var params []byte
	for _, text := range texts {
		params = binary.LittleEndian.AppendUint32(params, uint32(len(text)))
		params = append(params, text...)
	}
	r := m.Run(t, "json", &plugintest.Host{Params: params})
	r.WantKind(t, plugintest.Succeeded)
	var answers []json.RawMessage
	if err := json.Unmarshal(r.Result, &answers); err != nil || len(answers) != len(texts) {
		t.Fatalf("%d answers for %d texts: %v", len(answers), len(texts), err)
	}
	failed, valid := 0, 0
	for i, text := range texts {
		if answers[i][0] == '[' {
			valid++
		}
		if err := judgeJSON(text, answers[i]); err != nil {
			t.Errorf("%.300q: %v", text, err)
			if failed++; failed == 20 {
				t.Fatal("and so on")
			}
		}
	}
	t.Logf("%d texts, %d of them JSON", len(texts), valid)
}

// judgeJSON compares an answer of the guest with what encoding/json finds.
func judgeJSON(text string, answer json.RawMessage) error {
	want, at := expectJSON(text)
	if answer[0] != '[' {
		if got, err := strconv.Atoi(string(answer)); err != nil || got != at {
			return fmt.Errorf("refused at byte %s, want %d (-1: not at all)", answer, at)
		}
		return nil
	}
	if at >= 0 {
		return fmt.Errorf("read as %.300s, want an error at byte %d", answer, at)
	}
	got, err := decodeNumbers(answer)
	if err != nil {
		return fmt.Errorf("the guest wrote %.300s: %w", answer, err)
	}
	return sameValue(got.([]any)[0], want, sameNumber)
}

// expectJSON returns what a text holds, or where it stops being JSON that the SDK takes, -1 if it does not.
func expectJSON(text string) (value any, at int) {
	if !utf8.ValidString(text) {
		return nil, len(text) - len(firstInvalid(text))
	}
	if at := tooDeep(text); at >= 0 {
		return nil, at
	}
	var syntax *json.SyntaxError
	switch err := json.Unmarshal([]byte(text), new(json.RawMessage)); {
	case errors.As(err, &syntax) && atEnd(text, syntax):
		return nil, len(text)
	case errors.As(err, &syntax):
		return nil, int(syntax.Offset) - 1 // it counts the bytes read
	case err != nil:
		panic(err)
	}
	value, err := decodeNumbers([]byte(text))
	if err != nil {
		panic(err) // Unmarshal took it
	}
	return value, -1
}

// atEnd reports whether the scanner of encoding/json missed something at the end, where it looks what a space would be.
func atEnd(text string, err *json.SyntaxError) bool {
	return strings.Contains(err.Error(), "unexpected end") ||
		int(err.Offset) == len(text) && strings.Contains(err.Error(), "invalid character ' '") && !strings.HasSuffix(text, " ")
}

// firstInvalid is the rest of a text from its first byte on that is no UTF-8.
func firstInvalid(text string) string {
	for {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 {
			return text
		}
		text = text[n:]
	}
}

// tooDeep returns where a text of nothing but nesting is nested too deep, -1 if it is not.
func tooDeep(text string) int {
	depth := 0
	for at, c := range []byte(text) {
		switch c {
		case '[':
			if depth++; depth > maxDepth {
				return at
			}
		case ']':
			depth--
		case '"':
			return -1
		}
	}
	return -1
}

func decodeNumbers(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// sameValue compares what a guest wrote of a value with the value, numbers as its SDK has them.
func sameValue(got, want any, number func(got any, want string) error) error {
	switch want := want.(type) {
	case json.Number:
		return number(got, want.String())
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Errorf("got %.300v, want %.300v", got, want)
		}
		for i := range want {
			if err := sameValue(list[i], want[i], number); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok || len(object) != len(want) {
			return fmt.Errorf("got %.300v, want %.300v", got, want)
		}
		for name := range want {
			if err := sameValue(object[name], want[name], number); err != nil {
				return err
			}
		}
		return nil
	}
	if got != want {
		return fmt.Errorf("got %.300v, want %.300v", got, want)
	}
	return nil
}

// sameNumber: what is written as an integer that fits is one; everything else is the nearest float64, and said to be one.
func sameNumber(got any, want string) error {
	number, ok := got.(json.Number)
	if !ok {
		return fmt.Errorf("got %v, want the number %s", got, want)
	}
	text := number.String()
	if n, err := strconv.ParseInt(want, 10, 64); err == nil && want != "-0" {
		if text != strconv.FormatInt(n, 10) {
			return fmt.Errorf("got %s, want %s", text, want)
		}
		return nil
	}
	a, errA := strconv.ParseFloat(text, 64)
	b, errB := strconv.ParseFloat(want, 64)
	if errA != nil || errB != nil || math.Float64bits(a) != math.Float64bits(b) || !strings.ContainsAny(text, ".e") {
		return fmt.Errorf("got %s, want %s", text, want)
	}
	return nil
}

func handmadeTexts() []string {
	texts := []string{
		"", " ", "\n", "null", "true", "false", "nul", "nulll", "True", "NULL", "undefined", "NaN", "Infinity", "-Infinity", "'a'", "0x10", "1_000",
		"0", "-0", "-0.0", "0.0", "00", "-00", "01", "-01", "1.", ".1", "-.1", "1.e1", "1e", "1e+", "1E-", "1e+-1", "+1", "--1", "1e5", "1E+05", "1e-05", "0e0", "0e", "-", "-a",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551616", "123456789012345678901234567890",
		"1.7976931348623157e308", "4.9e-324", "2.2250738585072014e-308", "2.2250738585072011e-308", "1e-400", "0.1", "0.30000000000000004", "9007199254740993", "9007199254740993.0", "1e22", "1e23", "123456789.123456789e-5",
		`""`, `"a`, `"`, `"\`, `"\"`, `"\x41"`, `"\'"`, `"\U0041"`, `"\u"`, `"\u1"`, `"\u12"`, `"\u123"`, `"\u123"`, `"\u123g"`, `"\u00e9\u00E9"`, `"\u0000"`, `"\/\\\b\f\n\r\t\""`, "\"\t\"", "\"\x00\"", "\"\x1f\"", "\"\x7f\"", "\"\u2028\u2029\u0085\"",
		`"\ud800"`, `"\udc00"`, `"\ud83d\ude00"`, `"\ud83d\ud83d"`, `"\ud83d\ude00\ude00"`, `"\ud83dx"`, `"\ud83d\n"`, `"\ud83d\u0041"`, `"\ud83d\ud83d\ude00"`, `"\uDBFF\uDFFF"`, `"\ud83d\`, `"\ud83d\u`, `"\ud83d\u00`,
		"[]", "[ ]", "[,]", "[1,]", "[,1]", "[1,,2]", "[1 2]", "[", "]", "[1", "[1,", "[[]", "[]]", "[1:2]", "(1)",
		"{}", "{ }", "{,}", `{"a":1}`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{"a" 1}`, `{"a":1 "b":2}`, `{a:1}`, `{'a':1}`, `{1:1}`, `{null:1}`, `{"a":1,"a":2}`, `{"a":{"b":1},"a":{"c":2}}`, `{"":0}`, `{"\u0061":1,"a":2}`, "{", `{"a`, `{"a":1`, `{"a":1,`, "{]", "[}",
		" \t\r\n[ \t\r\n1 \t\r\n, \t\r\n2 \t\r\n] \t\r\n", "\v1", "1\f", "\u00a01", "1\u00a0", "\ufeff1", "1 2", "1,2", "1 // c", "/* c */ 1", "[1] x", "{} {}", "nullnull", "true,", "\"a\" \"b\"",
		"\xff", "\"\xff\"", "\"\xc3\"", "\"\xc3\xa9\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"", "[\"a\"\xff]", "1\x00", "\x001",
	}
	return append(texts, nested(maxDepth), nested(maxDepth+1))
}

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// changedTexts are a text without its end, without each of its bytes, and with each of them replaced.
func changedTexts() (texts []string) {
	const text = `{"a" : [1, -20.5e+3, "x\u00e9\ud83d\ude00\n", {"b":null,"c":[true,false]}], "é":{}, "a":0}`
	const others = "\x00 \n\"\\{}[]:,+-.019eEaftnu/\x80\xff"
	for i := range len(text) {
		texts = append(texts, text[:i], text[:i]+text[i+1:])
		for _, c := range []byte(others) {
			texts = append(texts, text[:i]+string([]byte{c})+text[i+1:], text[:i]+string([]byte{c})+text[i:])
		}
	}
	return texts
}

// randomTexts are short ones, of what JSON is made of.
func randomTexts(r *rand.Rand, n int) (texts []string) {
	pieces := []string{
		"[", "]", "{", "}", ":", ",", " ", "\n", `"`, `\`, "u", "0", "1", "9", "-", "+", ".", "e", "E", "null", "true", "false", `"a"`, `"a":`, `\u00e9`, `\ud83d`, `\ude00`, "é", "\xe9", "1.5", "12",
	}
	for range n {
		var b strings.Builder
		for range 1 + r.IntN(12) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		if !tooLarge.MatchString(b.String()) {
			texts = append(texts, b.String())
		}
	}
	return texts
}

// tooLarge are numbers that may be larger than a float64, which the SDK refuses where they begin.
var tooLarge = regexp.MustCompile(`[eE]\+?\d{3}`)

// writtenTexts are values as encoding/json writes them.
func writtenTexts(t *testing.T, r *rand.Rand, n int) (texts []string) {
	for i := range n {
		v := randomValue(r, 4)
		text, err := json.Marshal(v)
		if i%2 == 0 {
			text, err = json.MarshalIndent(v, "\r", "\t ")
		}
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

func randomValue(r *rand.Rand, depth int) any {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch r.IntN(kinds) {
	case 0:
		return []any{nil, true, false}[r.IntN(3)]
	case 1:
		return int64(r.Uint64()) >> r.IntN(64)
	case 2:
		if f := math.Float64frombits(r.Uint64()); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f
		}
		return r.NormFloat64()
	case 3:
		return randomString(r)
	case 4:
		list := []any{}
		for range r.IntN(5) {
			list = append(list, randomValue(r, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range r.IntN(5) {
		object[randomString(r)] = randomValue(r, depth-1)
	}
	return object
}

func randomString(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(8) {
		b.WriteRune(rune(r.IntN([]int{0x20, 0x80, 0x3000, 0x110000}[r.IntN(4)]))) // of half a pair: U+FFFD
	}
	return b.String()
}

// hostileTexts are made to take time, memory or stack.
func hostileTexts() map[string]string {
	const n = 1 << 20
	return map[string]string{
		"deep arrays":       strings.Repeat("[", n),
		"long integer":      strings.Repeat("9", 300),
		"long fraction":     "0." + strings.Repeat("1", n),
		"many zeros":        "0." + strings.Repeat("0", n) + "1",
		"same member":       "{" + strings.Repeat(`"a":1,`, n/8) + `"a":2}`,
		"half pairs":        `"` + strings.Repeat(`\ud800`, n/8) + `"`,
		"backslashes":       `"` + strings.Repeat(`\\`, n) + `"`,
		"no end":            `"` + strings.Repeat("a", n),
		"empty arrays":      "[" + strings.Repeat("[],", n/8) + "[]]",
		"lines":             strings.Repeat("\n", n) + "x",
		"a small exponent":  "1e-" + strings.Repeat("9", 1000),
		"zero and its size": "0e" + strings.Repeat("9", 1000),
	}
}
