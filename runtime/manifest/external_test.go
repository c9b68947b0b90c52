package manifest

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/runtime/upload"
)

// TestExternal: an external behavior is a policy and a lease (SPEC B7, J1).
func TestExternal(t *testing.T) {
	x, err := ParseExternal("mail.send", []byte(`{"kind":"external","lease":"10s","name":"mail.send",
		"retry":{"max_attempts":3},"limits":{"params_bytes":100,"result_bytes":200,"checkpoint_bytes":300},
		"run_timeout":"1m","cancel_grace":"2s","on_timeout":"fail","max_concurrent":4,"concurrency_key":"/to"}`))
	if err != nil {
		t.Fatal(err)
	}
	s := x.Settings()
	if s.Lease != 10*time.Second || s.Name != "mail.send" || s.MaxAttempts != 3 || s.ParamsBytes != 100 ||
		s.OnTimeout != "fail" || s.MaxConcurrent != 4 || s.ConcurrencyKey != "/to" || s.MaxPerKey != 1 {
		t.Errorf("settings: %+v", s)
	}
	canonical, err := x.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseExternal("mail.send", canonical)
	if err != nil || !reflect.DeepEqual(again, x) {
		t.Errorf("canonical JSON %s reads as %+v, %v", canonical, again, err)
	}
	if x, err = ParseExternal("abc", []byte(`{"kind":"external"}`)); err != nil {
		t.Fatal(err)
	}
	if s := x.Settings(); s.Lease != DefaultLease || s.RunTimeout != DefaultRunTimeout {
		t.Errorf("defaults: %+v", s)
	}
}

func TestParseExternalRefuses(t *testing.T) {
	with := func(fields string) string { return `{"kind":"external",` + fields + `}` }
	for _, tt := range []struct {
		name, text, field string
		limit             int64
	}{
		{"no kind", `{}`, "kind", 0},
		{"other kind", `{"kind":"wasm"}`, "kind", 0},
		{"no object", `[]`, "", 0},
		{"lease too short", with(`"lease":"999ms"`), "lease", 0},
		{"lease too long", with(`"lease":"1h1ms"`), "lease", 3600_000},
		{"heartbeat_timeout", with(`"heartbeat_timeout":"1s"`), "heartbeat_timeout", 0},
		{"on_trap", with(`"on_trap":"fail"`), "on_trap", 0},
		{"on_exhausted", with(`"on_exhausted":"fail"`), "on_exhausted", 0},
		{"memory", with(`"limits":{"memory_bytes":65536}`), "limits.memory_bytes", 0},
		{"fuel", with(`"limits":{"fuel":1}`), "limits.fuel", 0},
		{"log", with(`"limits":{"log_bytes":1}`), "limits.log_bytes", 0},
		{"other name", with(`"name":"other"`), "name", 0},
		{"unknown field", with(`"leese":"1s"`), "leese", 0},
		{"result over the limit", with(`"limits":{"result_bytes":16777217}`), "limits.result_bytes", 16 << 20},
		{"schema that is none", with(`"params_schema":{"type":"objekt"}`), "params_schema", 0},
		{"too long", `{"kind":"external"` + strings.Repeat(" ", MaxBytes) + `}`, "", MaxBytes},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseExternal("abc", []byte(tt.text))
			if bad := uploadError(t, err); bad.Code != upload.BadManifest || bad.Field != tt.field || bad.Limit != tt.limit {
				t.Errorf("got %+v, want field %q, limit %d", bad, tt.field, tt.limit)
			}
		})
	}
	if _, err := ParseExternal("No", []byte(`{"kind":"external"}`)); err == nil {
		t.Error("a bad name passed")
	}
}
