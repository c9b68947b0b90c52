package policy

import (
	"reflect"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/task"
)

// TestDefaultsAgree: the defaults of SPEC B1, R2, R3, T9, L7, L8 and H3 stand twice: in runtime/manifest, which must
// not know tasks, and in task, which must not know manifests. They have to be the same.
func TestDefaultsAgree(t *testing.T) {
	m, err := manifest.Parse([]byte(`{"schema":1,"behaviors":[{"name":"all-defaults"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Of(m.Settings(0)), task.DefaultPolicy(); !reflect.DeepEqual(got, want) {
		t.Errorf("a manifest that says nothing gives\n%+v\nthe state machine's default is\n%+v", got, want)
	}
	if manifest.MaxFuel != task.MaxFuel {
		t.Errorf("a manifest allows %d units of fuel, an attempt may have used %d", manifest.MaxFuel, task.MaxFuel)
	}
}

// TestManifestOfIsTheWayBack: the API shows a policy with the same meaning as the uploaded or put text.
func TestManifestOfIsTheWayBack(t *testing.T) {
	const fields = `"name":"all","description":"d","id":{"strategy":"params","from":["/a"]},
		"retry":{"max_attempts":0,"initial_interval":"2s","multiplier_thousandths":1500,"max_interval":"1m","jitter_percent":0},
		"run_timeout":"1m","cancel_grace":"0s","repeat_every":"100ms","repeat_on":"any","on_timeout":"fail","max_lost":3,
		"max_concurrent":7,"concurrency_key":"/k","max_per_key":2,"key_order":"strict",
		"retention":{"success":"2h","failure":"never","count":3},"result":"required","params_schema":{"type":"object"},"result_schema":true`
	for _, text := range []string{
		`{"name":"all"}`,
		`{"name":"all","repeat_every":"1s"}`,
		`{` + fields + `,"heartbeat_timeout":"3s","on_trap":"fail","on_exhausted":"retry",
			"limits":{"memory_bytes":65536,"fuel":5,"params_bytes":1,"result_bytes":2,"checkpoint_bytes":3,"log_bytes":4}}`,
		`{"name":"all","operation":{}}`,
		`{"name":"all","operation":{"concurrency":"one_per_target","incompatible_with":["two","one"],"on_failure":"run_all",
			"resume":"restart","complete":"end","cleanup":"end"}}`,
		`{"name":"all","operation":{"concurrency":"one_per_object","on_failure":"fail_fast","resume":"checkpoint"}}`,
	} {
		const end = `,{"name":"end"}]}`
		m, err := manifest.Parse([]byte(`{"behaviors":[` + text + end))
		if err != nil {
			t.Fatal(err)
		}
		want := Of(m.Settings(0))
		shown, err := Manifest("all", &task.Version{Module: "digest", Policy: want})
		if err != nil {
			t.Fatal(err)
		}
		if m, err = manifest.Parse([]byte(`{"behaviors":[` + string(shown) + end)); err != nil {
			t.Fatalf("%s: %v", shown, err)
		}
		got := Of(m.Settings(0))
		// The shown text spells out the defaults of choices.
		if want.OnTrap == 0 {
			want.OnTrap, want.OnExhausted = task.OnErrorRetry, task.OnErrorFail
		}
		if want.OnTimeout == 0 {
			want.OnTimeout = task.OnErrorRetry
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot  %+v\nwant %+v", shown, got, want)
		}
		if (got.Operation == nil) == strings.Contains(text, "operation") {
			t.Errorf("%s: operation %+v", text, got.Operation)
		}
	}
	m, err := manifest.Parse([]byte(`{"behaviors":[{` + fields + `}]}`))
	if err != nil {
		t.Fatal(err)
	}
	p := Of(m.Settings(0))
	if p.RepeatEvery != 100 || !p.RepeatAny || p.MaxConcurrent != 7 || p.ConcurrencyKey != "/k" || p.MaxPerKey != 2 || !p.KeyStrict || p.Lease != 0 {
		t.Errorf("%+v", p)
	}
	x, err := manifest.ParseExternal("all", []byte(`{"kind":"external","lease":"7s",`+fields+`,"limits":{"params_bytes":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := Of(x.Settings())
	shown, err := Manifest("all", &task.Version{Policy: want})
	if err != nil {
		t.Fatal(err)
	}
	if x, err = manifest.ParseExternal("all", shown); err != nil {
		t.Fatalf("%s: %v", shown, err)
	}
	if got := Of(x.Settings()); !reflect.DeepEqual(got, want) || got.Lease != 7000 {
		t.Errorf("%s\ngot  %+v\nwant %+v", shown, got, want)
	}
}

// TestEveryFieldIsCarried: every field that a manifest can have arrives in the settings, and in the policy that the log carries. A
// new field of either has to stand in one of the texts.
func TestEveryFieldIsCarried(t *testing.T) {
	texts := []string{
		`{"name":"ordinary","description":"d","id":{"strategy":"params","from":["/a"]},
			"retry":{"max_attempts":5,"initial_interval":"2s","multiplier_thousandths":1500,"max_interval":"1m","jitter_percent":7},
			"run_timeout":"1m","heartbeat_timeout":"3s","cancel_grace":"1s","repeat_every":"100ms","repeat_on":"any",
			"limits":{"memory_bytes":65536,"fuel":5,"params_bytes":1,"result_bytes":2,"checkpoint_bytes":3,"log_bytes":4},
			"on_trap":"fail","on_timeout":"fail","on_exhausted":"retry","max_lost":3,
			"max_concurrent":7,"concurrency_key":"/k","max_per_key":2,"key_order":"strict",
			"retention":{"success":"2h","failure":"never","count":3},"result":"required","params_schema":{"type":"object"},"result_schema":true}`,
		`{"name":"fan","operation":{"concurrency":"one_per_target","incompatible_with":["two"],"on_failure":"run_all",
			"resume":"restart","complete":"end","cleanup":"end"}}`,
		`{"name":"end"}`,
	}
	m, err := manifest.Parse([]byte(`{"behaviors":[` + strings.Join(texts, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	x, err := manifest.ParseExternal("outside", []byte(`{"kind":"external","lease":"7s"}`))
	if err != nil {
		t.Fatal(err)
	}
	all := []manifest.Settings{m.Settings(0), m.Settings(1), x.Settings()}
	given := map[string]bool{}
	for _, s := range all {
		note(given, "Settings", reflect.ValueOf(s))
		note(given, "Policy", reflect.ValueOf(Of(s)))
	}
	if len(given) < 70 {
		t.Errorf("only %d fields found: the search is broken", len(given))
	}
	for name, ok := range given {
		if !ok {
			t.Errorf("no text gives %s, or it is lost on the way", name)
		}
	}
}

// note notes of every field below v whether it has been given, which is that it is not zero.
func note(given map[string]bool, name string, v reflect.Value) {
	if v.Kind() != reflect.Struct {
		given[name] = given[name] || !v.IsZero()
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		note(given, name+"."+v.Type().Field(i).Name, v.Field(i))
	}
}
