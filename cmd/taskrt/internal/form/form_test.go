package form

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/taskrt/taskrt/internal/terminal"
)

// TestForms: each kind of answer in each form (SPEC U3).
func TestForms(t *testing.T) {
	for name, tc := range map[string]struct{ answer, lines, names, yaml string }{
		"a list":        {`{"tasks":[{"id":"a","at":1},{"id":"b","at":2}],"cursor":"c"}`, `{"id":"a","at":1}|{"id":"b","at":2}|`, "a|b|", "tasks:|  - id: a|    at: 1|  - id: b|    at: 2|cursor: c|"},
		"an empty list": {`{"tasks":[]}`, "", "", "tasks: []|"},
		"a removed one": {`{"tasks":[{"id":"a"},null],"timed_out":false}`, `{"id":"a"}|null|`, "a|", "tasks:|  - id: a|  - null|timed_out: false|"},
		"an object":     {`{"task":{"behavior":"x","id":"a"}}`, `{"behavior":"x","id":"a"}|`, "a|", "task:|  behavior: x|  id: a|"},
		"bare":          {`{"name":"ci","roles":["read"],"rate":1e3}`, `{"name":"ci","roles":["read"],"rate":1e3}|`, "ci|", "name: ci|roles:|  - read|rate: 1e3|"},
		"a submit":      {`{"task":{"id":"a"},"outcome":"created"}`, `{"task":{"id":"a"},"outcome":"created"}|`, "a|", "task:|  id: a|outcome: created|"},
		"a cluster":     {`{"leader":"n1","nodes":[{"id":"n1"},{"id":"n2"}],"workers":[{"id":"w"}]}`, `{"leader":"n1","nodes":[{"id":"n1"},{"id":"n2"}],"workers":[{"id":"w"}]}|`, "n1|n2|", "leader: n1|nodes:|  - id: n1|  - id: n2|workers:|  - id: w|"},
		"numbered":      {`{"runs":[{"run":7,"dry_run":true}]}`, `{"run":7,"dry_run":true}|`, "7|", "runs:|  - run: 7|    dry_run: true|"},
		"a bare list":   {`[{"name":"x"}]`, `{"name":"x"}|`, "x|", "- name: x|"},
		"hostile":       {`{"tasks":[{"id":"a\nb\u001b"}]}`, `{"id":"a\nb\u001b"}|`, `a\nb\x1b|`, `tasks:|  - id: "a\nb\e"|`},
		"nothing":       {``, "", "", ""},
		"nameless":      {`{"due":1}`, `{"due":1}|`, "error", "due: 1|"},
		"no name":       {`{"behaviors":[{"kind":"wasm"}]}`, `{"kind":"wasm"}|`, "error", "behaviors:|  - kind: wasm|"},
	} {
		for f, want := range map[Form]string{Lines: tc.lines, Names: tc.names, YAML: tc.yaml, JSON: strings.ReplaceAll(tc.answer, "|", "\n")} {
			var out bytes.Buffer
			err := New(f, terminal.New(&out)).Write([]byte(tc.answer))
			if got := strings.ReplaceAll(out.String(), "\n", "|"); (err != nil) != (want == "error") || err == nil && got != want {
				t.Errorf("%s as %s: %q, %v; want %q", name, f, got, err, want)
			}
		}
	}
}

// TestPagesOfYAML: several answers are several documents, and values that a program encodes are answers, too.
func TestPagesOfYAML(t *testing.T) {
	var out bytes.Buffer
	w := New(YAML, terminal.New(&out))
	if err := w.Write([]byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	if err := w.Encode(map[string]string{"b": "<&>"}); err != nil {
		t.Fatal(err)
	}
	if out.String() != "a: 1\n---\nb: \"<&>\"\n" {
		t.Errorf("%q", out.String())
	}
}

// TestYAMLIsWhatJSONSays: whatever texts an answer has, a reader of YAML finds the same ones, and no control for a terminal.
func TestYAMLIsWhatJSONSays(t *testing.T) {
	texts := []string{
		"", " ", "plain", "yes", "No", "Off", "y", "null", "~", "true", "1", "1e3", "0x10", "12:30", "2026-11-28", "2026-11-28T10:00:00Z", "a: b", "- a", "#x", "&a", "*a", "!t", "%", "@", "`",
		"two\nlines\n", "\n", "trailing \n", "tab\tx", "\x1b[2J", "\u009b2J\u0085", "\u202e\u2028\u2029", "\ufeff", "😀", "'", `"`, `\`, "a\r\nb", "---", "...", "key: |\n  x", "\x7f", "=", "<<",
	}
	list := map[string]any{}
	for _, s := range texts {
		list[s] = []any{s, map[string]any{s: s}}
	}
	answer, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	got, err := document(answer, false)
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := yaml.Unmarshal(got, &back); err != nil || !reflect.DeepEqual(back, list) {
		t.Errorf("%v\n%s", err, got)
	}
	if strings.ContainsAny(string(got), "\x1b\u009b\u0085\x7f\r") {
		t.Errorf("a terminal obeys %q", got)
	}
}

// TestParse: the words of -o, in any case.
func TestParse(t *testing.T) {
	for _, f := range All {
		if got, err := Parse(strings.ToUpper(string(f))); err != nil || got != f {
			t.Errorf("%s: %s, %v", f, got, err)
		}
	}
	if _, err := Parse("csv"); err == nil || !strings.Contains(err.Error(), "yaml or name") {
		t.Error(err)
	}
}
