package lean_test

import (
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/server/lean"
)

func TestSelection(t *testing.T) {
	s, err := lean.Fields([]string{"status", "id", "error"}, api.Task{})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(s.Of([]byte(`{"id":"a","behavior":"b","status":"CREATED","params":{"id":1}}`))); got != `{"status":"CREATED","id":"a"}` {
		t.Error(got)
	}
	for _, wrong := range []string{"ID", "", "-", "nothing"} {
		if _, err := lean.Fields([]string{wrong}, api.Task{}); api.CodeOf(err) != api.CodeInvalidField {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}
