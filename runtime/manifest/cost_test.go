package manifest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/runtime/upload"
)

// doubling is a schema that refers twice to a schema that refers twice to a schema …
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%[2]d"}]},`, i, i+1)
	}
	fmt.Fprintf(&b, `"a%d":{"type":"object"}},"$ref":"#/$defs/a0"}`, n)
	return b.String()
}

// deep applies itself twice to each part of the value.
const deep = `{"allOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}`

func TestSchemasAreJudged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ schema, want string }{
		"doubling, 20":        {doubling(20), "# applies more than"},
		"doubling, 40":        {doubling(40), "more than 10000 subschemas to one value"},
		"itself":              {`{"$ref":"#"}`, "# refers to itself without going into the value"},
		"itself, in a circle": {`{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, "#/$defs/"},
		"a large pattern":     {`{"pattern":"(abcdefghijklmnopqrstuvwxyz){900}"}`, "a regular expression of"},
		"many patterns":       {`{"allOf":[` + strings.Repeat(`{"pattern":"a{900}b{900}c{900}d{900}e{900}f{900}g{900}h{900}"},`, 20) + `true]}`, "regular expressions of"},
	} {
		manifest := fmt.Sprintf(`{"schema":1,"behaviors":[{"name":"schema.test","result_schema":%s}]}`, tt.schema)
		_, err := Parse([]byte(manifest))
		var bad *upload.Error
		if !errors.As(err, &bad) || bad.Code != upload.BadManifest || bad.Field != "behaviors[0].result_schema" || !strings.Contains(bad.Message, tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	for name, schema := range map[string]string{
		"a tree":     `{"type":"object","properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}}}`,
		"a few ways": doubling(10),
		"its own":    `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`,
		"deep":       deep,
	} {
		manifest := fmt.Sprintf(`{"schema":1,"behaviors":[{"name":"schema.test","params_schema":%s}]}`, schema)
		if _, err := Parse([]byte(manifest)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestChecksAreBounded: checks are bounded for schemas that were taken before schemas were judged, and for values
// that make a harmless schema dear.
func TestChecksAreBounded(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat("[", 60) + strings.Repeat("]", 60)
	var s Schemas
	for name, tt := range map[string]struct {
		schema, value string
		dear          bool
	}{
		"doubling, 40":        {doubling(40), `{}`, true},
		"twice at each depth": {deep, nested, true},
		"twice, but flat":     {deep, `[[],[],[]]`, false},
		"large exponents":     {`{"items":{"type":"integer"}}`, "[" + strings.Repeat("1e999999,", 1000) + "1]", true},
		"many digits":         {`{"type":"integer"}`, strings.Repeat("7", 1<<20), true},
		"a large enumeration": {`{"items":{"enum":[` + strings.Repeat("[1],", 5000) + `[2]]}}`, "[" + strings.Repeat("[1,2,3],", 2000) + "1]", true},
		"a pattern":           {`{"pattern":"^(a|b|c){500}$"}`, `"` + strings.Repeat("a", 1<<20) + `"`, true},
		"a short text":        {`{"pattern":"^(a|b|c){5}$"}`, `"abcab"`, false},
		"a long list":         {`{"items":{"type":"integer","minimum":0}}`, "[" + strings.Repeat("12345,", 1<<20) + "1]", false},
		"a list of records":   {`{"items":{"type":"object","required":["a"],"properties":{"a":{"type":"string","maxLength":9},"b":{"type":"number"}}}}`, "[" + strings.Repeat(`{"a":"x","b":1.5},`, 100_000) + `{"a":""}]`, false},
		"a tree":              {`{"properties":{"l":{"$ref":"#"},"r":{"$ref":"#"}}}`, strings.Repeat(`{"l":{"r":{}},"r":`, 1000) + "{}" + strings.Repeat("}", 1000), false},
	} {
		err := s.Check([]byte(tt.schema), []byte(tt.value))
		if dear := errors.Is(err, ErrTooMuchToCheck); dear != tt.dear || !dear && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
