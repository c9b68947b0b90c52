package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
)

// slowPick does what Pick does: it unmarshals once for each token.
func slowPick(doc []byte, tokens []string) ([]byte, bool) {
	for _, token := range tokens {
		var members map[string]json.RawMessage
		var elements []json.RawMessage
		if json.Unmarshal(doc, &members) == nil && members[token] != nil {
			doc = members[token]
			continue
		}
		i, err := strconv.Atoi(token)
		if json.Unmarshal(doc, &elements) != nil || err != nil || i < 0 || i >= len(elements) || token != strconv.Itoa(i) {
			return nil, false
		}
		doc = elements[i]
	}
	return doc, true
}

func FuzzPick(f *testing.F) {
	for _, pointer := range []string{"/a", "/a/0", "/a/1/b", "/b", "/0", "/~1", "/a/00", "/", "/a/", "/\u0041"} {
		for _, doc := range []string{
			`{"a":[1,{"b":"x"}],"b":{"a":2}}`, ` [ 1 , [ ] , "]" ] `, `{"a":1,"a":{"b":2},"a":[7]}`, `{"a":[5],"a":1}`,
			`{"\u0061":"\"}"}`, `{"/":null}`, `{"":{"":true}}`, `"a"`, `3`, `{}`, `[[],[[1]]]`,
		} {
			f.Add(doc, pointer)
		}
	}
	f.Fuzz(func(t *testing.T, doc, pointer string) {
		if !json.Valid([]byte(doc)) || !strings.HasPrefix(pointer, "/") || strings.Contains(pointer, "~") {
			return
		}
		want, ok := slowPick([]byte(doc), strings.Split(pointer[1:], "/"))
		got, err := pick([]byte(doc), pointer)
		if !ok && !errors.Is(err, errNothingThere) || ok && (err != nil || !bytes.Equal(got, bytes.TrimSpace(want))) {
			t.Errorf("%q at %q: %q, %v; want %q, %t", pointer, doc, got, err, want, ok)
		}
	})
}

// TestPickGoesThroughOnce picks a value of a megabyte with a pointer of the greatest number of tokens. Pick allocates
// memory for the pointer and none for the value.
func TestPickGoesThroughOnce(t *testing.T) {
	const depth = 250
	value := `"` + strings.Repeat("x", 1<<20) + `"`
	doc := []byte(strings.Repeat(`{"a":`, depth) + value + strings.Repeat("}", depth))
	pointer := strings.Repeat("/a", depth)
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if got, err := pick(doc, pointer); err != nil || string(got) != value {
				b.Fatal(err)
			}
		}
	})
	if n := result.AllocedBytesPerOp(); n > 1<<20 {
		t.Errorf("%d bytes are allocated", n)
	}
}
