package words

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
)

// count counts a text the plain way.
func count(text string) map[string]int64 {
	counts := map[string]int64{}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		counts[w]++
	}
	return counts
}

func sum(counts map[string]int64) (total int64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// parts counts a text in parts, each in pieces of random lengths, as the partitions of an operation do.
func parts(text string, parts int64, random *rand.Rand) *Counter {
	var c Counter
	size := int64(len(text))
	for i := range parts {
		to := (i + 1) * size / parts
		at := c.Begin(i*size/parts, to)
		if to == 0 {
			continue
		}
		for at < size && !c.Done() {
			n := min(1+random.Int64N(9), size-at)
			c.Write([]byte(text[at : at+n]))
			at += n
		}
	}
	c.End()
	return &c
}

func TestCounter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, text := range []string{
		"", " ", "a", "a b a", "b ,a;b\n", "été 北京—北京 𐐷𐐷x y𐐷", "x\xe4\xbdA \xff\xffb\xf0\x90c\xf0", "\xbd\xbd\xbda", "αβγ δεζ",
		strings.Repeat("word ", 40), strings.Repeat("long", 40),
	} {
		want := count(text)
		for n := range int64(2*len(text) + 3) {
			if c := parts(text, n+1, random); !maps.Equal(c.Counts, want) || c.Total != sum(want) {
				t.Errorf("%q in %d parts: %v, total %d", text, n+1, c.Counts, c.Total)
			}
		}
	}
}

func TestRandomTexts(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	alphabet := []string{"a", "b", "é", "北", "𐐷", " ", "-", "—", "\xe4", "\xbd", "\xf0\x90", "\xff"}
	for range 2000 {
		var text strings.Builder
		for range random.IntN(60) {
			text.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		want := count(text.String())
		n := 1 + random.Int64N(10)
		if c := parts(text.String(), n, random); !maps.Equal(c.Counts, want) || c.Total != sum(want) {
			t.Fatalf("%q in %d parts: %v, total %d; want %v", text.String(), n, c.Counts, c.Total, want)
		}
	}
}

func TestEncode(t *testing.T) {
	if got := Encode(map[string]int64{"b": 2, "a\"": 1}, 3); string(got) != `{"words":{"a\"":1,"b":2},"total":3}` {
		t.Errorf("%s", got)
	}
	if got := Encode(nil, 0); string(got) != `{"words":{},"total":0}` {
		t.Errorf("%s", got)
	}
}
