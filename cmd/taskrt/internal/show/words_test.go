package show

import (
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
)

func TestProgress(t *testing.T) {
	for in, want := range map[string]string{
		`{"done":0,"total":4}`:            "[....................] 0 %",
		`{"done":1,"total":4,"note":"x"}`: "[#####...............] 25 %",
		`{"done":4,"total":4}`:            "[####################] 100 %",
		`{"done":5,"total":4}`:            `{"done":5,"total":4}`,
		`{"done":5,"total":0}`:            `{"done":5,"total":0}`,
		`"half of it"`:                    `"half of it"`,
		``:                                ``,
	} {
		if got := Progress([]byte(in)); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[string]string{"0s": "now", "59s": "59s", "61s": "1m", "59m59s": "59m", "60m": "1h", "47h59m": "47h", "72h": "3d"} {
		parsed, err := api.ParseDuration(d)
		if err != nil {
			t.Fatal(err)
		}
		if got := since(parsed); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
	now := api.Time{Time: time.Now()}
	if a, b := Ago(now), Ago(api.Time{Time: now.Add(-time.Hour)}); a != "just now" || b != "1h ago" {
		t.Errorf("%q and %q", a, b)
	}
}
