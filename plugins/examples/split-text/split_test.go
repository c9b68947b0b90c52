package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/plugins/plugintest"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
)

func ask(t testing.TB, text, more string) *sdktest.Host {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return &sdktest.Host{Params: fmt.Appendf(nil, `{"text":%s%s}`, quoted, more), Tasks: []string{"wordcount"}}
}

func TestChildren(t *testing.T) {
	h := ask(t, "one two three", `,"bytes":8`)
	r := sdktest.Run(t, "split-text", h)
	if string(r.Result) != `{"parts":2}` || len(h.Children) != 2 {
		t.Fatalf("%v, %+v", r, h.Children)
	}
	for i, want := range []string{"one two ", "three"} {
		c := h.Children[i]
		if c.Behavior != "wordcount" || c.ID != fmt.Sprint("test-task.", i) || string(c.Params) != fmt.Sprintf(`{"text":%q}`, want) || c.Labels["part"] != fmt.Sprint(i) {
			t.Errorf("%d: %+v", i, c)
		}
	}
	none := ask(t, "", "")
	if r := sdktest.Run(t, "split-text", none); string(r.Result) != `{"parts":0}` || none.Children != nil {
		t.Errorf("of nothing: %v, %+v", r, none.Children)
	}
}

func TestRefuses(t *testing.T) {
	for more, want := range map[string]string{`,"bytes":3`: "bytes: 3", `,"bytes":8193`: "bytes: 8193", `,"bytes":4`: "101 parts"} {
		h := ask(t, strings.Repeat("x", 401), more)
		if r := sdktest.Run(t, "split-text", h); r.Outcome != abi.OutcomePermanent || !strings.Contains(fmt.Sprint(r), want) || h.Children != nil {
			t.Errorf("%s: %v, %+v", more, r, h.Children)
		}
	}
}

// TestSplit: parts put together are the text, none is too long, and no character is cut.
func TestSplit(t *testing.T) {
	for _, text := range []string{"", "a", "one two three", strings.Repeat("é", 50), "a\xff\xfe\xfd\xfc\xfb\xfa\xf9", strings.Repeat("long ", 99) + strings.Repeat("ü", 20)} {
		for most := utf8.UTFMax; most < 40; most++ {
			parts := split(text, most)
			if strings.Join(parts, "") != text {
				t.Fatalf("%q in %d: %q", text, most, parts)
			}
			for _, p := range parts {
				if p == "" || len(p) > most || utf8.ValidString(text) && !utf8.ValidString(p) {
					t.Errorf("%q in %d: %q", text, most, p)
				}
			}
		}
	}
}

func TestModule(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a guest with the Go toolchain")
	}
	m := plugintest.Load(t, plugintest.BuildGo(t, "."))
	text := strings.Repeat("word \"quoted\"\n", 256<<10/14)
	params, err := json.Marshal(map[string]any{"text": text, "behavior": "words", "bytes": maxPart})
	if err != nil {
		t.Fatal(err)
	}
	h := &plugintest.Host{Params: params, Tasks: []string{"words"}}
	m.Run(t, "split-text", h).WantResult(t, fmt.Sprintf(`{"parts":%d}`, len(h.Children)))
	var all strings.Builder
	for _, c := range h.Children {
		var p struct{ Text string }
		if err := json.Unmarshal(c.Params, &p); err != nil {
			t.Fatal(err)
		}
		all.WriteString(p.Text)
	}
	if all.String() != text || len(h.Children) < 32 {
		t.Errorf("%d children, %d bytes of %d", len(h.Children), all.Len(), len(text))
	}
	denied := &plugintest.Host{Params: params}
	if r := m.Run(t, "split-text", denied); r.Code != "not_submitted" || denied.Children != nil {
		t.Errorf("not granted: %v", r)
	}
}
