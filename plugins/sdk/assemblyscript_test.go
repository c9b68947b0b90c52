package sdk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/astool"
	"github.com/taskrt/taskrt/plugins/plugintest"
	"github.com/taskrt/taskrt/runtime"
)

// TestAssemblyScriptGuest runs a guest in AssemblyScript whose behaviors show what only a host can judge.
func TestAssemblyScriptGuest(t *testing.T) {
	m := plugintest.New(t, plugintest.Config{Wasm: astool.Build(t, "assemblyscript/tests/guest")})
	t.Run("manifest", func(t *testing.T) { guestManifest(t, m) })
	t.Run("operation", func(t *testing.T) { guestOperation(t, m) })
	t.Run("JSON", func(t *testing.T) { guestJSON(t, m) })
	t.Run("spans", func(t *testing.T) { guestSpans(t, m) })
}

// TestAssemblyScriptFailures runs a guest in AssemblyScript with params that are not what it takes, and one that goes wrong.
func TestAssemblyScriptFailures(t *testing.T) {
	m := plugintest.New(t, plugintest.Config{Wasm: astool.Build(t, "assemblyscript/tests/failures")})
	t.Run("fields", func(t *testing.T) { assemblyScriptFields(t, m) })
	t.Run("traps", func(t *testing.T) { assemblyScriptTraps(t, m) })
	t.Run("out of memory", func(t *testing.T) {
		r := m.Run(t, "crash", &plugintest.Host{Params: []byte("memory")})
		if r.Code != runtime.CodeOutOfMemory {
			t.Error(r)
		}
	})
	t.Run("garbage is collected", func(t *testing.T) {
		m.Run(t, "crash", &plugintest.Host{Params: []byte("garbage"), Limits: plugintest.Limits{Memory: 16 << 20}}).WantResult(t, "500")
	})
	t.Run("globals", func(t *testing.T) {
		h := &plugintest.Host{}
		m.Run(t, "globals", h).WantResult(t, `{"now":true,"date":"2026-11-21T12:00:00.123Z","utc":1577923200000,"performance":true,"random":true,"crypto":true,"time":true,"hrtime":true}`)
		if got, want := fmt.Sprint(h.Logs), "[{2 log} {4 assertion failed: assert} {0 trace 0.5 2.0}]"; got != want {
			t.Errorf("the log is %s, want %s", got, want)
		}
	})
}

func assemblyScriptFields(t *testing.T, m *plugintest.Module) {
	const all = `"s":"x","i":5,"f":1e3,"b":true,"list":[1,2],"inner":{"x":false,"y":2}`
	for params, want := range map[string]string{
		`{` + all + `}`: `{"s":"x","t":"none","i":5,"j":7,"f":1000.0,"b":true,"n":2,"x":false,"y":2.0}`,
		`{` + all + `,"i":-5.0,"t":"y","j":9223372036854775807,"inner":{"x":null}}`: `{"s":"x","t":"y","i":-5,"j":9223372036854775807,"f":1000.0,"b":true,"n":2,"x":true,"y":0.5}`,
	} {
		m.Run(t, "fields", &plugintest.Host{Params: []byte(params)}).WantResult(t, want)
	}
	for params, want := range map[string]string{
		``:                              "JSON: unexpected end at byte 0",
		`{"s":}`:                        "JSON: unexpected character at byte 5",
		`{"s":"` + "\xff" + `"}`:        "JSON: text that is not UTF-8 at byte 6",
		`[1]`:                           "params must be an object",
		`{}`:                            "inner must be an object",
		`{` + all + `,"s":1}`:           "s must be a string",
		`{` + all + `,"t":1}`:           "t must be a string",
		`{` + all + `,"i":6}`:           "i must be an integer from -5 to 5",
		`{` + all + `,"i":4.5}`:         "i must be an integer from -5 to 5",
		`{` + all + `,"i":"5"}`:         "i must be an integer from -5 to 5",
		`{` + all + `,"j":1e300}`:       "j must be an integer",
		`{` + all + `,"f":null}`:        "f must be a number",
		`{` + all + `,"b":0}`:           "b must be true or false",
		`{` + all + `,"list":{}}`:       "list must be an array",
		`{` + all + `,"inner":{"x":1}}`: "inner.x must be true or false",
	} {
		r := m.Run(t, "fields", &plugintest.Host{Params: []byte(params)})
		r.WantError(t, "bad_params", false)
		if r.Message != want {
			t.Errorf("%s: %q, want %q", params, r.Message, want)
		}
	}
	deep := strings.Repeat(`{"a":`, maxDepth) + "1" + strings.Repeat("}", maxDepth)
	if r := m.Run(t, "fields", &plugintest.Host{Params: []byte(deep)}); string(r.Details) != deep {
		t.Errorf("%v with details %s", r, r.Details)
	}
}

// assemblyScriptTraps: what the compiler's code finds is told with the place, and the stack.
func assemblyScriptTraps(t *testing.T, m *plugintest.Module) {
	for how, want := range map[string]string{
		"assert": "panic: params must be empty at index.ts:",
		"bounds": "panic: Index out of range at ~lib/array.ts:",
		"null":   "panic: Unexpected 'null' (not assigned or failed cast) at index.ts:",
		"deep":   "stack overflow",
		"long":   "panic: " + strings.Repeat("é", 100),
	} {
		r := m.Run(t, "crash", &plugintest.Host{Params: []byte(how)})
		r.WantError(t, runtime.CodeTrap, true)
		if !strings.Contains(r.Message, want) {
			t.Errorf("%s: %q, want %q", how, r.Message, want)
		}
		if how != "deep" && !strings.Contains(string(r.Details), "crash") { // that one is too long
			t.Errorf("%s: no stack in %s", how, r.Details)
		}
	}
}

// TestAssemblyScriptBadModule: behaviors that are wrong cannot be uploaded, and the refusal says what is wrong.
func TestAssemblyScriptBadModule(t *testing.T) {
	config, err := os.ReadFile("assemblyscript/tests/guest/asconfig.json")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := runtime.New(runtime.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(t.Context())
	for names, want := range map[string]string{
		`["one", "two", "one"]`: "register: one is registered twice",
		`["One"]`:               "register: a behavior's name is 3 to 128 of a-z0-9._-, not One",
	} {
		dir := t.TempDir()
		source := `import { Behavior, Outcome, register } from "@taskrt/sdk";
export { taskrt_describe, taskrt_run } from "@taskrt/sdk";
const names = ` + names + `;
for (let i = 0; i < names.length; i++) register(new Behavior(names[i], () => Outcome.ok()));
`
		for name, text := range map[string]string{"asconfig.json": string(config), "index.ts": source} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err = engine.Inspect(t.Context(), astool.Build(t, dir), nil, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the upload of %s gives: %v", names, err)
		}
	}
}
