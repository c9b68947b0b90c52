package main

import (
	"bytes"
	"os"
	"testing"
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
		if got := progress([]byte(in)); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// Without a terminal nothing is drawn: a log file is no place for a bar.
func TestIsTerminal(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if isTerminal(f) || isTerminal(&bytes.Buffer{}) {
		t.Error("a file or a buffer is taken for a terminal")
	}
}
