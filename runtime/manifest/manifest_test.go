package manifest

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/runtime/upload"
)

const fullManifest = `{
 "schema": 1, "requires": ["checkpoint", "random"],
 "behaviors": [
  {"name": "wordcount", "description": "counts <words>",
   "id": {"strategy": "params", "from": ["/text", ""]},
   "retry": {"max_attempts": 5, "initial_interval": "1500ms", "multiplier_thousandths": 1500, "max_interval": "90s", "jitter_percent": 0},
   "run_timeout": "1m", "heartbeat_timeout": "10s", "cancel_grace": "0s", "repeat_every": "100ms", "repeat_on": "any",
   "max_concurrent": 7, "concurrency_key": "/user/id", "max_per_key": 2, "key_order": "strict",
   "limits": {"memory_bytes": 1048576, "fuel": 9007199254740992, "params_bytes": 100, "result_bytes": 200, "checkpoint_bytes": 300, "log_bytes": 400},
   "on_trap": "fail", "on_timeout": "retry", "on_exhausted": "retry", "max_lost": 3,
   "retention": {"success": "1h", "failure": "never", "count": 9}, "result": "required",
   "params_schema": {"type": "object", "properties": {"n": {"maximum": 9223372036854775807, "minimum": 1.0}}},
   "result_schema": true},
  {"name": "second"}]}`

func TestSettings(t *testing.T) {
	m, err := Parse([]byte(fullManifest))
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		Name: "wordcount", Description: "counts <words>", IDStrategy: "params", IDFrom: []string{"/text", ""},
		MaxAttempts: 5, InitialInterval: 1500 * time.Millisecond, MultiplierThousandths: 1500, MaxInterval: 90 * time.Second,
		RunTimeout: time.Minute, HeartbeatTimeout: 10 * time.Second, RepeatEvery: 100 * time.Millisecond, RepeatAny: true,
		MaxConcurrent: 7, ConcurrencyKey: "/user/id", MaxPerKey: 2, KeyStrict: true,
		MemoryBytes: 1 << 20, Fuel: 1 << 53, ParamsBytes: 100, ResultBytes: 200, CheckpointBytes: 300, LogBytes: 400,
		OnTrap: "fail", OnTimeout: "retry", OnExhausted: "retry", MaxLost: 3, KeepSuccess: time.Hour, KeepFailure: -time.Millisecond, KeepCount: 9, ResultRequired: true,
		ParamsSchema: []byte(`{"properties":{"n":{"maximum":9223372036854775807,"minimum":1.0}},"type":"object"}`),
		ResultSchema: []byte(`true`),
	}
	if got := m.Settings(0); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	want = Settings{
		Name: "second", Index: 1, IDStrategy: "random",
		MaxAttempts: 1, InitialInterval: time.Second, MultiplierThousandths: 2000, MaxInterval: time.Hour, JitterPercent: 10,
		RunTimeout: time.Hour, CancelGrace: 5 * time.Second,
		MemoryBytes: 64 << 20, ParamsBytes: 16 << 20, ResultBytes: 16 << 20, CheckpointBytes: 16 << 20, LogBytes: 64 << 10,
		MaxLost: 10,
	}
	if got := m.Settings(1); !reflect.DeepEqual(got, want) {
		t.Errorf("defaults: got  %+v\nwant %+v", got, want)
	}
}

// TestIntegers: a whole number is an integer however it is written, and its canonical form is written as an integer.
func TestIntegers(t *testing.T) {
	for text, want := range map[string]string{"1e3": "1000", "20.0": "20", "-0.0": "0"} {
		m, err := Parse([]byte(`{"behaviors":[{"name":"abc","retry":{"max_attempts":` + text + `}}]}`))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if canonical, err := m.Canonical(); err != nil || !strings.Contains(string(canonical), `"max_attempts":`+want+`}`) {
			t.Errorf("%s: %s, %v", text, canonical, err)
		}
	}
}

func TestCanonical(t *testing.T) {
	m, err := Parse([]byte(fullManifest))
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := m.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	if s := string(canonical); strings.ContainsAny(s, "\n\t") || !strings.Contains(s, `"initial_interval":"1.5s"`) ||
		!strings.Contains(s, `counts <words>`) || !strings.HasSuffix(s, `{"name":"second"}],"requires":["checkpoint","random"]}`) {
		t.Errorf("canonical: %s", s)
	}
	var again Manifest
	if err := json.Unmarshal(canonical, &again); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*m, again) {
		t.Errorf("canonical JSON reads as another manifest: %+v", again)
	}
	// The order of fields, space and ways to write a duration make no difference.
	other := `{"behaviors":[{"run_timeout":"60s","name":"abc","params_schema":{"b":1,"a":2}}]}`
	same := `{"schema":1, "behaviors":[{"params_schema":{"a":2, "b":1}, "name":"abc","run_timeout":"1m0s"}]}`
	if a, b := mustCanonical(t, other), mustCanonical(t, same); a != b {
		t.Errorf("%s\n%s", a, b)
	}
}

func mustCanonical(t *testing.T, text string) string {
	t.Helper()
	m, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := m.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return string(canonical)
}

func TestParseRefuses(t *testing.T) {
	behavior := func(fields string) string { return `{"behaviors":[{"name":"abc",` + fields + `}]}` }
	for _, tt := range []struct {
		name, text, field string
		limit             int64
	}{
		{"nothing", ``, "", 0},
		{"no object", `[]`, "", 0},
		{"half", `{"behaviors":[{"name":"abc"}`, "behaviors", 0},
		{"two values", `{"behaviors":[{"name":"abc"}]} {}`, "", 0},
		{"no behaviors", `{}`, "behaviors", 0},
		{"behaviors is no list", `{"behaviors":{}}`, "behaviors", 0},
		{"a behavior is no object", `{"behaviors":["abc"]}`, "behaviors[0]", 0},
		{"too many behaviors", `{"behaviors":[` + strings.Repeat(`{},`, MaxBehaviors) + `{}]}`, "behaviors", 0},
		{"unknown field", `{"behaviours":[]}`, "behaviours", 0},
		{"unknown field in a behavior", behavior(`"retries":1`), "behaviors[0].retries", 0},
		{"unknown field in limits", behavior(`"limits":{"memory":1}`), "behaviors[0].limits.memory", 0},
		{"field twice", behavior(`"name":"abd"`), "behaviors[0].name", 0},
		{"field twice within a schema", behavior(`"params_schema":{"type":"object","type":"string"}`), "behaviors[0].params_schema.type", 0},
		{"other schema", `{"schema":2,"behaviors":[{"name":"abc"}]}`, "schema", 0},
		{"name too short", `{"behaviors":[{"name":"ab"}]}`, "behaviors[0].name", 0},
		{"name with capitals", `{"behaviors":[{"name":"Abc"}]}`, "behaviors[0].name", 0},
		{"name is a number", `{"behaviors":[{"name":5}]}`, "behaviors[0].name", 0},
		{"two without names", `{"behaviors":[{},{}]}`, "behaviors[0].name", 0},
		{"same name twice", `{"behaviors":[{"name":"abc"},{"name":"abd"},{"name":"abc"}]}`, "behaviors[2].name", 0},
		{"duration is a number", behavior(`"run_timeout":5`), "behaviors[0].run_timeout", 0},
		{"duration without unit", behavior(`"run_timeout":"5"`), "behaviors[0].run_timeout", 0},
		{"duration of parts of milliseconds", behavior(`"run_timeout":"1500us"`), "behaviors[0].run_timeout", 0},
		{"duration negative", behavior(`"cancel_grace":"-1s"`), "behaviors[0].cancel_grace", 0},
		{"duration too long", behavior(`"cancel_grace":"61m"`), "behaviors[0].cancel_grace", 3600_000},
		{"number is text", behavior(`"retry":{"max_attempts":"3"}`), "behaviors[0].retry.max_attempts", 0},
		{"number is a text", behavior(`"retry":{"max_attempts":"3"}`), "behaviors[0].retry.max_attempts", 0},
		{"half a character", behavior(`"description":"\ud800"`), "behaviors[0].description", 0},
		{"half a character in a schema", behavior(`"params_schema":{"pattern":"[\ud800-\udbff]"}`), "behaviors[0].params_schema.pattern", 0},
		{"half a character in a name", behavior(`"de\udc00":1`), "behaviors[0].de\ufffd", 0},
		{"number is not whole", behavior(`"retry":{"max_attempts":1.5}`), "behaviors[0].retry.max_attempts", 0},
		{"number too big", behavior(`"limits":{"memory_bytes":1073741825}`), "behaviors[0].limits.memory_bytes", 1 << 30},
		{"number too small", behavior(`"retry":{"multiplier_thousandths":999}`), "behaviors[0].retry.multiplier_thousandths", 0},
		{"result over the limit", behavior(`"limits":{"result_bytes":16777217}`), "behaviors[0].limits.result_bytes", 16 << 20},
		{"on_trap", behavior(`"on_trap":"ignore"`), "behaviors[0].on_trap", 0},
		{"id strategy", behavior(`"id":{"strategy":"hash"}`), "behaviors[0].id.strategy", 0},
		{"id from without strategy", behavior(`"id":{"from":["/a"]}`), "behaviors[0].id.from", 0},
		{"id from is no pointer", behavior(`"id":{"strategy":"params","from":["/a","b"]}`), "behaviors[0].id.from[1]", 0},
		{"id from with a bad escape", behavior(`"id":{"strategy":"params","from":["/a~2"]}`), "behaviors[0].id.from[0]", 0},
		{"null", behavior(`"retry":null`), "behaviors[0].retry", 0},
		{"schema that is none", behavior(`"params_schema":{"type":"objekt"}`), "behaviors[0].params_schema", 0},
		{"schema that reads a file", behavior(`"params_schema":{"$ref":"file:///etc/passwd"}`), "behaviors[0].params_schema", 0},
		{"schema too long", behavior(`"params_schema":{"title":"` + strings.Repeat("x", MaxSchemaBytes) + `"}`), "behaviors[0].params_schema", MaxSchemaBytes},
		{"description too long", behavior(`"description":"` + strings.Repeat("x", MaxDescription+1) + `"`), "behaviors[0].description", MaxDescription},
		{"not carried out yet", behavior(`"isolation":"process"`), "behaviors[0].isolation", 0},
		{"operation that repeats", behavior(`"operation":{},"repeat_every":"1s"`), "behaviors[0].repeat_every", 0},
		{"operation with IDs", behavior(`"operation":{},"id":{"strategy":"caller"}`), "behaviors[0].id", 0},
		{"operation with a key", behavior(`"concurrency_key":"/a","operation":{}`), "behaviors[0].concurrency_key", 0},
		{"operation is no object", behavior(`"operation":true`), "behaviors[0].operation", 0},
		{"operation unknown field", behavior(`"operation":{"on_success":"x"}`), "behaviors[0].operation.on_success", 0},
		{"operation concurrency", behavior(`"operation":{"concurrency":"one"}`), "behaviors[0].operation.concurrency", 0},
		{"operation on_failure", behavior(`"operation":{"on_failure":"retry"}`), "behaviors[0].operation.on_failure", 0},
		{"operation resume", behavior(`"operation":{"resume":"yes"}`), "behaviors[0].operation.resume", 0},
		{"operation incompatible with no name", behavior(`"operation":{"incompatible_with":["abd","X"]}`), "behaviors[0].operation.incompatible_with[1]", 0},
		{"operation incompatible twice", behavior(`"operation":{"incompatible_with":["abd","abd"]}`), "behaviors[0].operation.incompatible_with[1]", 0},
		{"operation completed elsewhere", behavior(`"operation":{"complete":"other"}`), "behaviors[0].operation.complete", 0},
		{"operation cleaned up elsewhere", behavior(`"operation":{"cleanup":"other"}`), "behaviors[0].operation.cleanup", 0},
		{"operation completed by one", behavior(`"operation":{"complete":"abc"}`), "behaviors[0].operation.complete", 0},
		{"operation completed for ever", `{"behaviors":[{"name":"abc","operation":{"complete":"end"}},{"name":"end","repeat_every":"1s"}]}`, "behaviors[0].operation.complete", 0},
		{"repeat too often", behavior(`"repeat_every":"99ms"`), "behaviors[0].repeat_every", 0},
		{"repeat_on alone", behavior(`"repeat_on":"any"`), "behaviors[0].repeat_on", 0},
		{"repeat_on failure", behavior(`"repeat_every":"1s","repeat_on":"failure"`), "behaviors[0].repeat_on", 0},
		{"max_concurrent of none", behavior(`"max_concurrent":0`), "behaviors[0].max_concurrent", 0},
		{"concurrency_key empty", behavior(`"concurrency_key":""`), "behaviors[0].concurrency_key", 0},
		{"concurrency_key is no pointer", behavior(`"concurrency_key":"user"`), "behaviors[0].concurrency_key", 0},
		{"concurrency_key too long", behavior(`"concurrency_key":"/` + strings.Repeat("x", MaxPointerBytes) + `"`), "behaviors[0].concurrency_key", MaxPointerBytes},
		{"max_per_key without a key", behavior(`"max_per_key":2`), "behaviors[0].max_per_key", 0},
		{"max_per_key of none", behavior(`"concurrency_key":"/a","max_per_key":0`), "behaviors[0].max_per_key", 0},
		{"key_order without a key", behavior(`"key_order":"strict"`), "behaviors[0].key_order", 0},
		{"key_order other", behavior(`"concurrency_key":"/a","key_order":"loose"`), "behaviors[0].key_order", 0},
		{"lease of a module's behavior", behavior(`"lease":"10s"`), "behaviors[0].lease", 0},
		{"retention of nothing", behavior(`"retention":{"success":"0s"}`), "behaviors[0].retention.success", 0},
		{"no fuel", behavior(`"limits":{"fuel":0}`), "behaviors[0].limits.fuel", 0},
		{"part of a unit", behavior(`"limits":{"fuel":1.5}`), "behaviors[0].limits.fuel", 0},
		{"too much fuel", behavior(`"limits":{"fuel":9007199254740993}`), "behaviors[0].limits.fuel", 1 << 53},
		{"nested too deep", behavior(`"params_schema":` + strings.Repeat(`{"not":`, 70) + `true` + strings.Repeat(`}`, 70)), "*", 0},
		{"too long", `{"behaviors":[{"name":"abc"}]` + strings.Repeat(" ", MaxBytes) + `}`, "", MaxBytes},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			bad := uploadError(t, err)
			if bad.Code != upload.BadManifest || (tt.field != "*" && bad.Field != tt.field) || bad.Limit != tt.limit {
				t.Errorf("got %+v, want field %q, limit %d", bad, tt.field, tt.limit)
			}
			if bad.Message == "" {
				t.Error("no message")
			}
		})
	}
}

func TestOperationSettings(t *testing.T) {
	m, err := Parse([]byte(`{"behaviors":[
		{"name":"all-given","operation":{"concurrency":"one_per_object","incompatible_with":["zzz","aaa"],"on_failure":"run_all",
			"resume":"restart","complete":"end","cleanup":"tidy"}},
		{"name":"defaults","operation":{}}, {"name":"end"}, {"name":"tidy"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []*OperationSettings{
		{Concurrency: "one_per_object", IncompatibleWith: []string{"aaa", "zzz"}, RunAll: true, Restart: true, Complete: "end", Cleanup: "tidy"},
		{Concurrency: "many"}, nil, nil,
	} {
		if got := m.Settings(i).Operation; !reflect.DeepEqual(got, want) {
			t.Errorf("behavior %d: got %+v, want %+v", i, got, want)
		}
	}
}

func TestCheckParams(t *testing.T) {
	t.Parallel()
	s := &Settings{Name: "greet", ParamsBytes: 10, ParamsSchema: []byte(`{"type":["object","null"]}`)}
	for params, ok := range map[string]bool{"": true, "null": true, "{}": true, "1": false, "{": false, `{"abc":1234}`: false} {
		if err := s.CheckParams([]byte(params)); (err == nil) != ok {
			t.Errorf("%q: %v", params, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(fullManifest))
	f.Add([]byte(`{"behaviors":[{"name":"abc","id":{"strategy":"params","from":["/a~1b"]}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Parse(text)
		if err != nil {
			uploadError(t, err)
			return
		}
		canonical, err := m.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(canonical)
		if err != nil {
			t.Fatalf("canonical form %s: %v", canonical, err)
		}
		if second, err := again.Canonical(); err != nil || string(second) != string(canonical) {
			t.Fatalf("%s\n%s\n%v", canonical, second, err)
		}
	})
}

// uploadError returns the upload.Error in err, or fails.
func uploadError(t testing.TB, err error) *upload.Error {
	t.Helper()
	var bad *upload.Error
	if !errors.As(err, &bad) {
		t.Fatalf("error is %v (%T), want *upload.Error", err, err)
	}
	return bad
}
