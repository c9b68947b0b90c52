package manifest

import (
	"strings"
	"testing"
)

func TestSchemas(t *testing.T) {
	t.Parallel()
	var s Schemas
	schema := []byte(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer","maximum":9}}}`)
	for value, want := range map[string]string{
		`{"n":9}`:   "",
		`{"n":"x"}`: "/n",
		`{"n":10}`:  "/n",
		`{}`:        "n",
		`7`:         "object",
		`{`:         "not JSON",
	} {
		err := s.Check(schema, []byte(value))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than a line: %q", value, err)
		}
	}
	if err := s.Check(nil, []byte(`{`)); err != nil {
		t.Errorf("no schema: %v", err)
	}
	if err := s.Check([]byte(`{"type":1}`), []byte(`1`)); err == nil {
		t.Error("a schema that is none")
	}
}
