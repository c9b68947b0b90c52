package main

import "testing"

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
		if got := progress([]byte(in)); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
