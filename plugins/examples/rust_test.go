package examples_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/taskrt/taskrt/abi/abitest"
	"github.com/taskrt/taskrt/internal/rusttool"
	"github.com/taskrt/taskrt/plugins/plugintest"
)

var rewrite = flag.Bool("rewrite", false, "write the tables of letters of the examples in other languages anew")

// TestRustConformance builds the conformance guest in Rust from source and lets the suite of the ABI judge it: the proof of the
// Rust SDK.
func TestRustConformance(t *testing.T) {
	slow(t)
	t.Parallel()
	abitest.Run(t, rusttool.Build(t, "conformance-rust"))
}

// TestRustWordcount compares the example in Rust with the one in Go.
func TestRustWordcount(t *testing.T) {
	slow(t)
	t.Parallel()
	sameWordcount(t, plugintest.New(t, plugintest.Config{Wasm: rusttool.Build(t, "wordcount-rust")}))
}

// golangSaid is what the example in Go makes of each text: it takes seconds, and is the same for every other language.
var golangSaid sync.Map // []byte by name

// sameWordcount compares the example in another language with the one in Go.
func sameWordcount(t *testing.T, other *plugintest.Module) {
	t.Helper()
	golang := load(t, "wordcount")
	if got, want := string(other.Manifest()), string(golang.Manifest()); got != want {
		t.Errorf("the manifest is %s\nwant %s", got, want)
	}
	for name, text := range map[string]string{
		"words":          "to be or not to be, that is the question",
		"empty":          "",
		"no word":        " \t\n.,;-–—!?\u00a0\u2028",
		"digits":         "x2 2x 42 ٤٢ ⅷ ½ ² don't",
		"scripts":        "été ETE naïve 北京—北京 Привет мир שלום हिन्दी 한국어 ไทย",
		"combining":      "e\u0301 é a\u0345b ᾳ",
		"astral":         "𝒳𝟘 𐍈 😀 🇨🇭",
		"escapes":        "a\u0000b\"c\\d/e\x7ff",
		"long":           strings.Repeat("word Wort mot ", 20_000),
		"one word":       strings.Repeat("ä", 100_000),
		"all of Unicode": everyCharacter(),
	} {
		t.Run(name, func(t *testing.T) {
			params, err := json.Marshal(map[string]string{"text": text})
			if err != nil {
				t.Fatal(err)
			}
			want, known := golangSaid.Load(name)
			if !known {
				r := golang.Run(t, "wordcount", &plugintest.Host{Params: params})
				r.WantKind(t, plugintest.Succeeded)
				want = r.Result
				golangSaid.Store(name, want)
			}
			got := other.Run(t, "wordcount", &plugintest.Host{Params: params})
			got.WantKind(t, plugintest.Succeeded)
			if want := want.([]byte); string(got.Result) != string(want) {
				t.Errorf("the results differ from byte %d on: %.200s, want %.200s", differ(got.Result, want), got.Result, want)
			}
		})
	}
	for _, params := range []string{"", "null", "{}", `{"text":1}`, `"a b a"`, `{"text":"a","text":null}`} {
		for _, m := range []*plugintest.Module{other, golang} {
			m.Run(t, "wordcount", &plugintest.Host{Params: []byte(params)}).WantError(t, "bad_params", false)
		}
	}
	for _, params := range []string{`{"text":"a\ud800b\udc00\ud83d\ude00"}`, `{"text":"a","more":[1]}`, `{"text":1,"text":"a"}`} {
		want := golang.Run(t, "wordcount", &plugintest.Host{Params: []byte(params)})
		other.Run(t, "wordcount", &plugintest.Host{Params: []byte(params)}).WantResult(t, string(want.Result))
	}
}

// everyCharacter is a text with a word for each letter and digit.
func everyCharacter() string {
	var b strings.Builder
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if r < 0xd800 || r > 0xdfff {
			b.WriteRune(r)
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func differ(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// TestRustLetters: the table of the example in Rust is Go's.
func TestRustLetters(t *testing.T) {
	wantLetters(t, "wordcount-rust/src/letters.rs", rustLetters())
}

// wantLetters checks a table that this package writes, or writes it with -rewrite.
func wantLetters(t *testing.T, file, want string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what Unicode %s has: go test ./plugins/examples -run %s -rewrite", file, unicode.Version, t.Name())
	}
}

func rustLetters() string {
	var b strings.Builder
	fmt.Fprintf(&b, "//! The letters and digits of Unicode %s. Written by `go test ./plugins/examples -run TestRustLetters -rewrite`.\n\n", unicode.Version)
	b.WriteString(`/// Whether a character is of the category L (letter) or Nd (decimal digit).
pub fn is_letter_or_digit(c: char) -> bool {
    let c = c as u32;
    let behind = RANGES.partition_point(|range| range.0 <= c);
    behind > 0 && c <= RANGES[behind - 1].1
}

/// First and last of each range.
#[rustfmt::skip]
static RANGES: &[(u32, u32)] = &[`)
	for i, r := range letterRanges() {
		if i%8 == 0 {
			b.WriteString("\n   ")
		}
		fmt.Fprintf(&b, " (0x%x, 0x%x),", r[0], r[1])
	}
	b.WriteString("\n];\n")
	return b.String()
}

// letterRanges are the first and last characters of what words are made of.
func letterRanges() (ranges [][2]rune) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
		case len(ranges) > 0 && ranges[len(ranges)-1][1] == r-1:
			ranges[len(ranges)-1][1] = r
		default:
			ranges = append(ranges, [2]rune{r, r})
		}
	}
	return ranges
}
