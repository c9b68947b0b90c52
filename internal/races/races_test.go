package main

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

const (
	died = "FATAL: ThreadSanitizer: CHECK failed: tsan_rtl.cpp:1\n"
	race = "WARNING: DATA RACE\n"
	fail = "    --- FAIL: TestX/case (0.00s)\n"
)

// canned is the text of go test -json for package p, which ends with action. Each of outputs is printed by a test.
func canned(p, action string, outputs ...string) string {
	var b strings.Builder
	write := json.NewEncoder(&b)
	_ = write.Encode(event{Action: "start", Package: p}) // a Builder takes everything
	for _, o := range outputs {
		_ = write.Encode(event{Action: "output", Package: p, Test: "TestX", Output: o})
	}
	if action == "pass" {
		_ = write.Encode(event{Action: "output", Package: p, Output: "ok  \t" + p + "\t1s\n"})
	}
	if action != "" {
		_ = write.Encode(event{Action: action, Package: p})
	}
	return b.String()
}

// TestRun: which packages are run again, and what is said at the end.
func TestRun(t *testing.T) {
	errExit := errors.New("exit status 1")
	for _, c := range []struct {
		name          string
		first, second string
		again         []string
		firstErr      error
		passed        bool
		shown         string
	}{
		{name: "all pass", first: canned("a", "pass", "noise\n") + canned("b", "pass"), passed: true, shown: "ok  \ta\t1s\nok  \tb\t1s\n"},
		{name: "no tests", first: canned("a", "skip") + canned("b", "pass"), passed: true},
		{name: "a test fails", first: canned("a", "fail", fail) + canned("b", "pass"), firstErr: errExit, shown: fail},
		{name: "a race", first: canned("a", "fail", race) + canned("b", "pass"), firstErr: errExit, shown: race},
		{name: "a panic", first: canned("a", "fail", "panic: x\n") + canned("b", "pass"), firstErr: errExit, shown: "panic: x"},
		{name: "the detector dies", first: canned("a", "pass") + canned("b", "fail", died), firstErr: errExit,
			again: []string{"b"}, second: canned("b", "pass"), passed: true, shown: "THE RACE DETECTOR ITSELF DIED in b"},
		{name: "it dies twice", first: canned("a", "pass") + canned("b", "fail", died), firstErr: errExit,
			again: []string{"b"}, second: canned("b", "fail", died), shown: "b failed again"},
		{name: "it dies after a race", first: canned("a", "pass") + canned("b", "fail", race, died), firstErr: errExit, shown: race},
		{name: "it dies after a failed test", first: canned("a", "pass") + canned("b", "fail", fail, died), firstErr: errExit, shown: died},
		{name: "it dies, and another package fails", first: canned("a", "fail", died) + canned("b", "fail", fail), firstErr: errExit},
		{name: "a line in two pieces", first: canned("a", "pass") + canned("b", "fail", died[:30], died[30:]), firstErr: errExit,
			again: []string{"b"}, second: canned("b", "pass"), passed: true},
		{name: "a package is missing", first: canned("a", "pass"), shown: "b has not ended"},
		{name: "a package does not end", first: canned("a", "pass") + canned("b", "", died), firstErr: errExit, shown: "b has not ended"},
		{name: "go fails by itself", first: canned("a", "pass") + canned("b", "pass"), firstErr: errExit},
		{name: "a build fails", first: `{"ImportPath":"b","Action":"build-output","Output":"b.go:1: no\n"}` + "\n" + canned("a", "pass") + canned("b", "fail"),
			firstErr: errExit, shown: "b.go:1: no\n"},
		{name: "no event", first: "go: warning\n" + canned("a", "pass") + canned("b", "pass"), passed: true, shown: "go: warning\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			var calls [][]string
			passed := run(&out, []string{"a", "b"}, func(packages []string, read func(io.Reader) error) error {
				calls = append(calls, packages)
				text, result := c.first, c.firstErr
				if len(calls) == 2 {
					text, result = c.second, nil
					if strings.Contains(text, `"fail"`) {
						result = errExit
					}
				}
				return errors.Join(read(strings.NewReader(text)), result)
			})
			want := [][]string{{"a", "b"}}
			if c.again != nil {
				want = append(want, c.again)
			}
			if passed != c.passed || !slices.EqualFunc(calls, want, slices.Equal) {
				t.Errorf("passed %t, want %t; runs %v, want %v", passed, c.passed, calls, want)
			}
			if !strings.Contains(out.String(), c.shown) || strings.Contains(out.String(), "noise") {
				t.Errorf("shown: %q, want %q in it", out.String(), c.shown)
			}
		})
	}
}
