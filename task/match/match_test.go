package match

import (
	"slices"
	"strings"
	"testing"
)

// TestMatches: each field of a filter selects by itself (SPEC Q1).
func TestMatches(t *testing.T) {
	t.Parallel()
	task := Task{ID: "order-7", Behavior: "mail.send", Parent: "up", Code: "E1", Worker: "w", Node: "n", State: Retrying, Created: 10, Started: 20, NotBefore: 40}
	labels := []Label{{"a", "1"}, {"b", "2"}}
	yes, no := true, false
	for _, c := range []struct {
		spec string
		want bool
	}{
		{`{}`, true},
		{`{"status":["FAILURE"]}`, true}, {`{"status":["RETRYING"]}`, true}, {`{"status":["DEAD","SUCCESS"]}`, false}, {`{"status":["CREATED","RUNNING"]}`, false},
		{`{"final":false}`, true}, {`{"final":true}`, false}, {`{"final":false,"status":["DEAD"]}`, false},
		{`{"behavior":["x","mail.*"]}`, true}, {`{"behavior":["*.send"]}`, true}, {`{"behavior":["mail"]}`, false}, {`{"behavior":["m*.s*d"]}`, true}, {`{"behavior":["*x*"]}`, false},
		{`{"error":["E2","E1"]}`, true}, {`{"error":["E2"]}`, false},
		{`{"worker":"w"}`, true}, {`{"worker":"v"}`, false}, {`{"node":"n"}`, true}, {`{"node":"m"}`, false},
		{`{"parent":"up"}`, true}, {`{"parent":"down"}`, false}, {`{"id_prefix":"order-"}`, true}, {`{"id_prefix":"rder"}`, false},
		{`{"label":[{"name":"a","value":"1"},{"name":"b","value":"2"}]}`, true}, {`{"label":[{"name":"a","value":"1"},{"name":"b","value":"3"}]}`, false},
		{`{"created":{"from":10,"to":11}}`, true}, {`{"created":{"to":10}}`, false}, {`{"started":{"from":21}}`, false}, {`{"finished":{"from":1}}`, false},
		{`{"due_before":40}`, true}, {`{"due_before":39}`, false},
	} {
		spec, wrong := Parse([]byte(c.spec))
		f := spec.Filter()
		if got := f.Matches(&task, func(l Label) bool { return slices.Contains(labels, l) }); wrong != "" || got != c.want {
			t.Errorf("%s: %v %s", c.spec, got, wrong)
		}
	}
	if s := StatesOf([]string{"SUCCESS"}, &yes); s != Of(Succeeded) {
		t.Errorf("final SUCCESS: %b", s)
	}
	if s := StatesOf(nil, &no); s.Has(Dead) || !s.Has(Created) {
		t.Errorf("not final: %b", s)
	}
}

// TestParseRefuses: a filter that is not understood whole is refused, and nothing of it is guessed.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `null x`, ` null`, `[]`, `{"unknown":1}`, `{} {}`, `{"status":["ODD"]}`, `{"status":["dead"]}`, `{"due_before":1.5}`,
		`{"behavior":[` + strings.Repeat(`"b",`, 1000) + `"b"]}`, `{"id_prefix":"` + strings.Repeat("x", MaxSpec) + `"}`,
	} {
		if s, wrong := Parse([]byte(text)); wrong == "" {
			t.Errorf("%.60s: %+v", text, s)
		}
	}
}
