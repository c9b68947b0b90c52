package sdk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/rusttool"
	"github.com/taskrt/taskrt/plugins/plugintest"
	"github.com/taskrt/taskrt/runtime"
)

// TestRust runs the Rust SDK's own tests and the examples of its documentation, natively.
func TestRust(t *testing.T) {
	env := rusttool.Env(t)
	for _, args := range [][]string{{"test"}, {"doc", "--no-deps"}} {
		cmd := rusttool.Command(t, append(env, "RUSTFLAGS=-D warnings", "RUSTDOCFLAGS=-D warnings"), "cargo", args...)
		cmd.Dir = "rust"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("cargo %v: %v\n%s", args, err, out)
		}
	}
}

// TestRustGuest runs a guest in Rust whose behaviors show what only a host can judge.
func TestRustGuest(t *testing.T) {
	m := plugintest.New(t, plugintest.Config{Wasm: rusttool.Build(t, "rust/tests/guest")})
	t.Run("manifest", func(t *testing.T) { guestManifest(t, m) })
	t.Run("operation", func(t *testing.T) { guestOperation(t, m) })
	t.Run("JSON", func(t *testing.T) { guestJSON(t, m) })
	t.Run("spans", func(t *testing.T) { guestSpans(t, m) })
}

// guestSpans: spans nest, end once, and say only what a host takes (SPEC U2).
func guestSpans(t *testing.T, m *plugintest.Module) {
	h := &plugintest.Host{}
	m.Run(t, "spans", h).WantKind(t, plugintest.Succeeded)
	want := "[{work [file=a b rows=3] 0 true } {part [] 1 true row 7 is bad} {span [] 1 true failed} {" + strings.Repeat("x", 64) + " [] 1 true } {open [] 0 false }]"
	if got := fmt.Sprint(h.Spans); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// guestManifest: the host takes every field, and reads what was meant.
func guestManifest(t *testing.T, m *plugintest.Module) {
	var want bytes.Buffer
	if err := json.Compact(&want, []byte(`{"schema":1,"behaviors":[
		{"name":"json"},
		{"name":"part","operation":{"concurrency":"one_per_object","incompatible_with":["json"],"on_failure":"run_all","resume":"restart","complete":"done","cleanup":"tidy"}},
		{"name":"done"},
		{"name":"tidy"},
		{"name":"policy","description":"every \"field\" — of the manifest","id":{"strategy":"params","from":["/a","/b/0"]},
		 "retry":{"max_attempts":0,"initial_interval":"1.5s","multiplier_thousandths":1500,"max_interval":"1m30s","jitter_percent":0},
		 "run_timeout":"1m1s","heartbeat_timeout":"2s","cancel_grace":"3s","repeat_every":"100ms","repeat_on":"any",
		 "limits":{"memory_bytes":33554432,"fuel":9007199254740992,"params_bytes":1,"result_bytes":2,"checkpoint_bytes":3,"log_bytes":4},
		 "on_trap":"fail","on_timeout":"fail","on_exhausted":"retry","max_lost":7,
		 "max_concurrent":8,"concurrency_key":"/k","max_per_key":9,"key_order":"strict",
		 "retention":{"success":"never","failure":"1h0m0s","count":10},"result":"required",
		 "params_schema":{"type":"object"},"result_schema":true},
		{"name":"spans"}]}`)); err != nil {
		t.Fatal(err)
	}
	var got, meant any
	if err := json.Unmarshal(m.Manifest(), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(want.Bytes(), &meant); err != nil {
		t.Fatal(err)
	}
	if a, b := fmt.Sprint(got), fmt.Sprint(meant); a != b {
		t.Errorf("the manifest is\n%s\nwant\n%s", a, b)
	}
}

// guestOperation runs a partition, a completion and a cleanup.
func guestOperation(t *testing.T, m *plugintest.Module) {
	h := &plugintest.Host{}
	h.Params = fmt.Appendf(nil, `{"operation":"op-1","partition":"a-f","target":"t","object":"o","arg":{"$blob":%q}}`, h.AddBlob(make([]byte, 3<<20)))
	m.Run(t, "part", h).WantResult(t, "3145728")
	m.Run(t, "part", &plugintest.Host{Params: []byte(`{"operation":"op-1","partition":"a-f","arg":null}`)}).WantResult(t, "3")
	m.Run(t, "part", &plugintest.Host{Params: []byte(`{"arg":1}`)}).WantError(t, "bad_params", false)

	h = &plugintest.Host{Params: []byte(`{"operation":"op-1","success":false,"counts":{"success":6,"failure":1},"target":"t","object":"o","arg":null}`)}
	for i := range 5 {
		h.Partitions = append(h.Partitions, plugintest.Partition{Partition: fmt.Sprint("p", i), Status: "SUCCESS", Result: json.RawMessage(fmt.Sprint(1 << i))})
	}
	h.Partitions = append(h.Partitions,
		plugintest.Partition{Partition: "raw", Status: "SUCCESS", ResultBase64: []byte{0, 0xff, 'x', '>'}},
		plugintest.Partition{Partition: "bad", Status: "FAILURE", Error: &plugintest.PartitionError{Code: "bad_row", Message: "row 7", Retryable: true}})
	m.Run(t, "done", h).WantResult(t, `{"sum":31,"texts":["[0, 255, 120, 62]"],"failed":["6 bad bad_row true"],"counts":[6,1]}`)

	h = &plugintest.Host{Params: []byte(`{"operation":"op-1","partition":"a-f","target":"t","object":"o","arg":null,"token":18014398509481985}`)}
	m.Run(t, "tidy", h).WantResult(t, `"a-f 18014398509481985"`)
	if len(h.Logs) != 1 || h.Logs[0].Message != "tidying a-f" {
		t.Errorf("the log is %v", h.Logs)
	}
}

// TestRustBadModule: a list of behaviors that is wrong cannot be uploaded, and the refusal says what is wrong.
func TestRustBadModule(t *testing.T) {
	dir := t.TempDir()
	sdk, err := filepath.Abs("rust")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"Cargo.toml": fmt.Sprintf("[package]\nname = \"bad\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[lib]\ncrate-type = [\"cdylib\"]\npath = \"lib.rs\"\n[dependencies]\ntaskrt = { path = %q }\n", sdk),
		"lib.rs": `use taskrt::*;
export!(behaviors);
fn behaviors() -> Vec<Behavior> {
    ["one", "two", "one"].into_iter().map(|name| Behavior::raw(name, |_| panic!("no"))).collect()
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	engine, err := runtime.New(runtime.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(t.Context())
	_, err = engine.Inspect(t.Context(), rusttool.Build(t, dir), nil, "")
	if err == nil || !strings.Contains(err.Error(), "the behavior one is there twice") {
		t.Errorf("the upload gives: %v", err)
	}
}
