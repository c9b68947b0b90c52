package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/plugins/plugintest"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
)

// ask is params for a text as a blob, with more members.
func ask(t testing.TB, text, more string, patterns ...string) *sdktest.Host {
	t.Helper()
	list, err := json.Marshal(patterns)
	if err != nil {
		t.Fatal(err)
	}
	name := sdktest.BlobName([]byte(text))
	return &sdktest.Host{
		Params: fmt.Appendf(nil, `{"patterns":%s,"text":{"$blob":%q}%s}`, list, name, more),
		Blobs:  map[string][]byte{name: []byte(text)},
	}
}

func result(t testing.TB, h *sdktest.Host) found {
	t.Helper()
	r := sdktest.Run(t, "regex-scan", h)
	var f found
	if err := json.Unmarshal(r.Result, &f); r.Outcome != abi.OutcomeOK || err != nil {
		t.Fatalf("%.300v", r)
	}
	return f
}

func TestFinds(t *testing.T) {
	got := result(t, ask(t, "eins\nzwei drei\r\n\nfünf ö zwei", "", `zw\w+`, `ö`, `i$`, `q*`))
	want := found{Count: 5, Lines: 4, Matches: []match{
		{0, 2, 1, 5, "zwei"}, {2, 2, 9, 13, "i"}, {1, 4, 6, 23, "ö"}, {0, 4, 8, 26, "zwei"}, {2, 4, 11, 29, "i"},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := result(t, &sdktest.Host{Params: []byte(`{"patterns":["b"],"text":"abc"}`)}); got.Count != 1 || got.Matches[0].Column != 2 {
		t.Errorf("%+v", got)
	}
	if got := result(t, &sdktest.Host{Params: []byte(`{"patterns":["b"],"text":""}`)}); got.Lines != 0 || got.Matches == nil {
		t.Errorf("%+v", got)
	}
}

// TestAgainstWhole compares with package regexp over each line of the whole text.
func TestAgainstWhole(t *testing.T) {
	var text strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&text, "%d: %s\n", i*i, strings.Repeat("ab é", i%17))
	}
	patterns := []string{`\d*7\d*`, `b é(ab)+`, `^1`}
	for _, most := range []int{0, 1, 77, 1000} {
		got := result(t, ask(t, text.String(), fmt.Sprintf(`,"max_matches":%d`, most), patterns...))
		want := found{Lines: 40_000}
		for _, p := range patterns {
			r := regexp.MustCompile(p)
			for line := range strings.Lines(text.String()) {
				want.Count += int64(len(r.FindAllString(strings.TrimSuffix(line, "\n"), -1)))
			}
		}
		if got.Count != want.Count || got.Lines != want.Lines || !got.Truncated || len(got.Matches) != most {
			t.Errorf("%d shown: %d in %d lines, want %d in %d", len(got.Matches), got.Count, got.Lines, want.Count, want.Lines)
		}
		at := int64(-1)
		for _, m := range got.Matches {
			if !strings.HasPrefix(text.String()[m.Offset:], m.Text) || m.Offset < at {
				t.Fatalf("not there: %+v", m)
			}
			at = m.Offset
		}
	}
}

func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", maxLine-1) + "NEEDLE" + strings.Repeat("y", maxLine) // over the cut: not found
	text := long + "\nshort NEEDLE\n" + strings.Repeat("z", maxLine) + "NEEDLE\n" + strings.Repeat("ä", 150) + strings.Repeat("w", 300)
	got := result(t, ask(t, text, "", "NEEDLE", "ä+w+"))
	if got.Count != 3 || got.CutLines != 2 || got.Lines != 4 || got.Matches[0].Line != 2 || got.Matches[1].Column != maxLine+1 {
		t.Errorf("%+v", got)
	}
	if shown := got.Matches[2].Text; shown != strings.Repeat("ä", maxShown/2) {
		t.Errorf("shown: %q", shown)
	}
	if shown := shown([]byte("x" + strings.Repeat("ä", 150))); shown != "x"+strings.Repeat("ä", 99) {
		t.Errorf("shown: %q", shown)
	}
	if shown := shown([]byte("\xff\xfe")); shown != "\ufffd" {
		t.Errorf("shown: %q", shown)
	}
}

func TestRefuses(t *testing.T) {
	long := strings.Repeat("x", maxPattern+1)
	for params, naming := range map[string]string{
		`{}`: "text: missing", `{"text":"x"}`: "patterns: 0", `{"text":"x","patterns":["("]}`: "patterns[0]", `{"text":7,"patterns":["a"]}`: "text: must be",
		`{"text":"x","patterns":["a","` + long + `"]}`: "patterns[1]: 1025 bytes, at most 1024", `{"text":"x","patterns":["a{1001}"]}`: "patterns[0]",
		`{"text":"x","patterns":["a"],"max_matches":1001}`: "max_matches: 1001", `{"text":"x","patterns":["a"],"max_matches":-1}`: "max_matches: -1",
		`{"text":{"$blob":"sha256:00"},"patterns":["a"]}`: "sha256:00", `{"text":"x","patterns":["a"],"flags":"i"}`: "flags",
		`{"text":"x","patterns":[` + strings.Repeat(`"a",`, maxPatterns) + `"a"]}`: "patterns: 33",
	} { // order-free: independent runs
		r := sdktest.Run(t, "regex-scan", &sdktest.Host{Params: []byte(params)})
		if r.Outcome != abi.OutcomePermanent || !strings.Contains(fmt.Sprint(r), naming) {
			t.Errorf("%.80s: %.300v, want %q", params, r, naming)
		}
	}
}

// TestModule runs the module over 16 MiB in the memory that its manifest asks for; killed anywhere, it finds the same.
func TestModule(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a guest with the Go toolchain")
	}
	m := plugintest.Load(t, plugintest.BuildGo(t, "."))
	line := []byte("2026-11-24T00:00:00Z INFO request served status=200 in 12ms\n")
	text := append(bytes.Repeat(line, 16<<20/len(line)-1), "ERROR at the end\n"...)
	h := &plugintest.Host{}
	h.Params = fmt.Appendf(nil, `{"patterns":["ERROR.*"],"text":{"$blob":%q}}`, h.AddBlob(text))
	r := m.Run(t, "regex-scan", h)
	want := fmt.Sprintf(`{"count":1,"lines":%d,"cut_lines":0,"truncated":false,"matches":[{"pattern":0,"line":%[1]d,"column":1,"offset":%d,"text":"ERROR at the end"}]}`,
		bytes.Count(text, []byte("\n")), len(text)-len("ERROR at the end\n"))
	r.WantResult(t, want)
	if len(h.Beats) < 15 {
		t.Errorf("%d heartbeats", len(h.Beats))
	}
	drained := &plugintest.Host{Params: h.Params, Blobs: h.Blobs, OnBeat: plugintest.AtBeat(5, plugintest.Draining)}
	m.Run(t, "regex-scan", drained).WantKind(t, plugintest.Yielded)
	m.Run(t, "regex-scan", drained).WantResult(t, want)
	if len(drained.Beats) > len(h.Beats)+1 {
		t.Errorf("%d heartbeats, %d without a break: it did not go on where it was", len(drained.Beats), len(h.Beats))
	}
	m.CheckResume(t, "regex-scan", &plugintest.Host{Params: h.Params, Blobs: h.Blobs}, 3)
}
