package tinyjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

func TestMembers(t *testing.T) {
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for text, want := range map[string][]tinyjson.Member{
		`{}`:                  nil,
		` [ ] `:               nil,
		`[1, "a,]" ,{"b":2}]`: {{Raw: []byte("1")}, {Raw: []byte(`"a,]"`)}, {Raw: []byte(`{"b":2}`)}},
		` { "a" : [1,2] , "\u0062":"\"}\\" , "a":null } `: {
			{Name: "a", Raw: []byte("[1,2]")}, {Name: "b", Raw: []byte(`"\"}\\"`)}, {Name: "a", Raw: []byte("null")},
		},
		`{"deep":` + deep + `}`: {{Name: "deep", Raw: []byte(deep)}},
	} {
		got, err := tinyjson.Members([]byte(text))
		if err != nil || len(got) != len(want) {
			t.Errorf("Members(%.100q) = %.200q, %v", text, got, err)
			continue
		}
		for i := range want {
			if got[i].Name != want[i].Name || string(got[i].Raw) != string(want[i].Raw) {
				t.Errorf("Members(%.100q), number %d: %.200q", text, i, got[i])
			}
		}
	}
	for _, text := range []string{
		``, `1`, `"a"`, `{`, `[`, `[1`, `[1,`, `[1,]`, `[,1]`, `{"a"}`, `{"a":}`, `{"a":1`, `{a:1}`, `{"a":1,}`, `[1]2`, `["a`, `["a\`, `[{]`, `{"a" 1}`, `{"a":1 2}`,
	} {
		if got, err := tinyjson.Members([]byte(text)); err == nil {
			t.Errorf("Members(%q) = %q", text, got)
		}
	}
}

// FuzzMembers: what Members gives of valid JSON are valid texts, as many as encoding/json finds.
func FuzzMembers(f *testing.F) {
	for _, text := range []string{`{}`, `[1,{"a":[2,"]"]}]`, `{"a\u0062":"\\","c":[[]]}`, `[-1.5e3 , true,null]`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := tinyjson.Members([]byte(text))
		var list []json.RawMessage
		if json.Unmarshal([]byte(text), &list) != nil || list == nil {
			return
		}
		if err != nil || len(got) != len(list) {
			t.Fatalf("Members(%q) = %q, %v", text, got, err)
		}
		for i := range list {
			if string(got[i].Raw) != string(list[i]) {
				t.Fatalf("Members(%q), number %d: %q, want %q", text, i, got[i].Raw, list[i])
			}
		}
	})
}
