package children_test

import (
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api/children"
)

// TestDecodeChild: the guest is told of every error that can be found without the state.
func TestDecodeChild(t *testing.T) {
	t.Parallel()
	r, err := children.Decode([]byte(`{"behavior":"words","id":"one","params":{"a":1},"labels":{"b":"c"},"priority":2,"delay":"3s","if_exists":"fail"}`))
	if err != nil || r.Behavior != "words" || r.ID != "one" || string(r.Params) != `{"a":1}` || r.Labels["b"] != "c" || *r.Priority != 2 || r.IfExists != "fail" {
		t.Errorf("%+v, %v", r, err)
	}
	for doc, want := range map[string]string{
		``:                                   "empty",
		`[]`:                                 "object",
		`{"behavior":"words"} {}`:            "invalid_json",
		`{"id":"one"}`:                       "behavior",
		`{"behavior":"words","what":1}`:      "what",
		`{"behavior":"words","id":"x"}`:      "id",
		`{"behavior":"words","priority":10}`: "priority",
		`{"behavior":"words","namespace":"default"}`:             "namespace",
		`{"behavior":"words","if_exists":"rerun"}`:               "if_exists",
		`{"behavior":"words","params":1,"params_base64":"YQ=="}`: "params",
		`{"behavior":"words","labels":{"":"x"}}`:                 "labels",
		`{"behavior":"words","behavior":"other"}`:                "behavior",
	} {
		if behavior, err := children.Check([]byte(doc)); err == nil || behavior != "" && behavior != "words" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s named", doc, err, want)
		}
	}
}
