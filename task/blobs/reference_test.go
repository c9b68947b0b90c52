package blobs

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestReferences(t *testing.T) {
	a, b := strings.Repeat("a1", 32), strings.Repeat("0b", 32)
	ref := func(d string) string { return `{"$blob":"sha256:` + d + `"}` }
	for _, c := range []struct {
		name, text string
		named      []string
		whole      bool
	}{
		{"none", `{"a":[1,"$blob"]}`, nil, false},
		{"whole", ref(a), []string{a}, true},
		{"whole with white space", " {\n\t\"$blob\" : \"sha256:" + a + "\"\r} ", []string{a}, true},
		{"nested, sorted, once", `{"x":` + ref(a) + `,"y":[` + ref(b) + `,` + ref(a) + `]}`, []string{b, a}, false},
		{"in an array alone", `[` + ref(a) + `]`, []string{a}, false},
		{"another member before", `{"n":1,"$blob":"sha256:` + a + `"}`, nil, false},
		{"another member behind", `{"$blob":"sha256:` + a + `","n":1}`, nil, false},
		{"short", `{"$blob":"sha256:` + a[1:] + `"}`, nil, false},
		{"long", `{"$blob":"sha256:` + a + `0"}`, nil, false},
		{"upper case", `{"$blob":"sha256:` + strings.ToUpper(a) + `"}`, nil, false},
		{"another hash", `{"$blob":"sha512:` + a + `"}`, nil, false},
		{"no string", `{"$blob":1}`, nil, false},
		{"an object", `{"$blob":` + ref(a) + `}`, []string{a}, false},
		{"in a string", `{"x":"{\"$blob\":\"sha256:` + a + `\"}"}`, nil, false},
		{"behind a string that ends in a brace", `["{","$blob"]`, nil, false},
		{"as a key of another kind", `{"a\"$blob":"sha256:` + a + `"}`, nil, false},
		{"escaped", `{"\u0024blob":"sha256:` + a + `"}`, nil, false},
	} {
		if !json.Valid([]byte(c.text)) {
			t.Fatalf("%s: not JSON", c.name)
		}
		if got := Named([]byte(c.text)); !slices.Equal(got, c.named) {
			t.Errorf("%s: names %v, want %v", c.name, got, c.named)
		}
		digest, ok := Reference([]byte(c.text))
		if ok != c.whole || ok && digest != c.named[0] {
			t.Errorf("%s: whole %v %q", c.name, ok, digest)
		}
	}
}

// FuzzNamed holds the scan against what a JSON parser finds.
func FuzzNamed(f *testing.F) {
	d := strings.Repeat("0f", 32)
	f.Add([]byte(`{"a":[{"$blob":"sha256:` + d + `"}]}`))
	f.Add([]byte(`["{","$blob",{"$blob" : "sha256:` + d + `" }]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var v any
		if json.Unmarshal(text, &v) != nil {
			Named(text) // must not panic
			Reference(text)
			return
		}
		if strings.Contains(string(text), `\`) || len(text) > 1<<16 {
			return // names may be written in other ways, which are no references
		}
		var want []string
		var walk func(any)
		walk = func(v any) {
			switch v := v.(type) {
			case map[string]any:
				if s, ok := v["$blob"].(string); ok && len(v) == 1 && strings.HasPrefix(s, "sha256:") && ValidDigest(s[7:]) {
					want = append(want, s[7:])
				}
				for _, e := range v {
					walk(e)
				}
			case []any:
				for _, e := range v {
					walk(e)
				}
			}
		}
		walk(v)
		slices.Sort(want)
		want = slices.Compact(want)
		for _, d := range want { // duplicate keys: the scan may see more than the parser keeps
			if !slices.Contains(Named(text), d) {
				t.Fatalf("%s: %v not among %v", text, want, Named(text))
			}
		}
	})
}
