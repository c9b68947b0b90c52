package examples_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/ctool"
	"github.com/taskrt/taskrt/plugins/plugintest"
)

// TestHTTPCheck runs the example against pages of all kinds.
func TestHTTPCheck(t *testing.T) {
	t.Parallel()
	m := plugintest.New(t, plugintest.Config{Wasm: ctool.Build(t, "http-check/main.c")})
	pages := http.NewServeMux()
	pages.HandleFunc("GET example.com/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello world")) })
	pages.HandleFunc("GET example.com/gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	pages.HandleFunc("GET example.com/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) })
	for params, want := range map[string]string{
		`{"url":"https://example.com/"}`:                       `{"ok":true,"status":200,"bytes":11}`,
		`{"url":"https://example.com/","text":"world"}`:        `{"ok":true,"status":200,"bytes":11}`,
		`{"url":"https://example.com/","text":"moon"}`:         `{"ok":false,"status":200,"bytes":11,"why":"the text is not in the body"}`,
		`{"url":"https://example.com/gone"}`:                   `{"ok":false,"status":410,"bytes":0,"why":"status 410, not 200"}`,
		`{"url":"https://example.com/gone","status":410}`:      `{"ok":true,"status":410,"bytes":0}`,
		`{"url":"https://example.com/moved","status":302}`:     `{"ok":true,"status":302,"bytes":24}`,
		`{"url":"https://example.com/none","text":"anything"}`: `{"ok":false,"status":200,"bytes":11,"why":"the text is not in the body"}`,
	} { // order-free: independent runs
		r := m.Run(t, "http-check", &plugintest.Host{Params: []byte(params), HTTP: pages})
		r.WantKind(t, plugintest.Succeeded)
		var got map[string]any
		if err := json.Unmarshal(r.Result, &got); err != nil {
			t.Fatal(err)
		}
		if _, ok := got["ms"].(float64); !ok {
			t.Errorf("%s: no ms in %s", params, r.Result)
		}
		delete(got, "ms")
		text, _ := json.Marshal(got)
		var same map[string]any
		if err := json.Unmarshal([]byte(want), &same); err != nil {
			t.Fatal(err)
		}
		if wanted, _ := json.Marshal(same); string(text) != string(wanted) {
			t.Errorf("%s: %s, want %s", params, text, wanted)
		}
	}
	for params, code := range map[string]string{
		`{"url":"https://example.com/"}`: "denied", `{}`: "bad_params", `{"url":7}`: "bad_params", `{"url":"https://x","status":99}`: "bad_params",
		`{"url":"https://x","text":1}`: "bad_params", `{"url":"https://` + strings.Repeat("x", 9000) + `"}`: "bad_params",
	} { // order-free: independent runs
		m.Run(t, "http-check", &plugintest.Host{Params: []byte(params)}).WantError(t, code, false)
	}
}
