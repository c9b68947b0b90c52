package api

import (
	"encoding/json"
	"testing"
)

func TestTimeAndDuration(t *testing.T) {
	var v struct {
		T Time
		D Duration
	}
	if err := json.Unmarshal([]byte(`{"T":"2026-11-22T12:00:00.1239+02:00","D":"90s"}`), &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"T":"2026-11-22T10:00:00.123Z","D":"1m30s"}`; string(b) != want {
		t.Errorf("%s, want %s", b, want)
	}
	if got := TimeOf(1_000).String(); got != "1970-01-01T00:00:01.000Z" {
		t.Error(got)
	}
}
