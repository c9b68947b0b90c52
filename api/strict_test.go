package api

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDecodeStrict(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	for _, c := range []struct {
		name, body  string
		code, field string // "": accepted
	}{
		{"plain", `{"behavior":"wordcount"}`, "", ""},
		{"white space", " \t\r\n{ \"behavior\" : \"wordcount\" , \"id\":\"abc\" } \n", "", ""},
		{"all kinds", `{"behavior":"b","params":{"a":[1,-2.5e3,true,false,null,"\"}]{["]},"labels":{"a":"b"},"priority":3,"delay":"1s"}`, "", ""},
		{"escaped name", `{"beh\u0061vior":"b"}`, "", ""},
		{"null is absent", `{"behavior":"b","labels":null,"delay":null,"id":null}`, "", ""},
		{"duplicates inside params", `{"behavior":"b","params":{"a":1,"a":2}}`, "", ""},
		{"lone surrogate inside params", `{"behavior":"b","params":"\ud800"}`, "", ""},
		{"empty", ``, "invalid_json", ""},
		{"blank", " \n", "invalid_json", ""},
		{"no object", `[]`, "invalid_json", ""},
		{"a word", `nonsense`, "invalid_json", ""},
		{"null", `null`, "invalid_json", ""},
		{"cut off", `{"behavior":"b"`, "invalid_json", ""},
		{"two values", `{"behavior":"b"}{}`, "invalid_json", ""},
		{"garbage behind", `{"behavior":"b"} x`, "invalid_json", ""},
		{"trailing comma", `{"behavior":"b",}`, "invalid_json", ""},
		{"comment", `{"behavior":"b"/*c*/}`, "invalid_json", ""},
		{"NaN", `{"behavior":"b","params":NaN}`, "invalid_json", ""},
		{"invalid UTF-8", "{\"behavior\":\"\xff\"}", "invalid_json", ""},
		{"invalid UTF-8 in params", "{\"behavior\":\"b\",\"params\":\"\xc3\"}", "invalid_json", ""},
		{"NUL", "{\"behavior\":\"\x00\"}", "invalid_json", ""},
		{"unknown", `{"behavior":"b","colour":"red"}`, "unknown_field", "colour"},
		{"other case", `{"Behavior":"b"}`, "unknown_field", "Behavior"},
		{"empty name", `{"":1}`, "unknown_field", ""},
		{"twice", `{"behavior":"b","behavior":"c"}`, "invalid_json", "behavior"},
		{"twice, escaped", `{"behavior":"b","beh\u0061vior":"c"}`, "invalid_json", "behavior"},
		{"label twice", `{"labels":{"a":"1","a":"2"}}`, "invalid_json", "labels.a"},
		{"number for string", `{"behavior":7}`, "invalid_field", "behavior"},
		{"string for number", `{"priority":"7"}`, "invalid_field", "priority"},
		{"fraction for integer", `{"priority":1.5}`, "invalid_field", "priority"},
		{"list for object", `{"labels":[]}`, "invalid_field", "labels"},
		{"label is a number", `{"labels":{"a":1}}`, "invalid_field", "labels"},
		{"bad base64", `{"params_base64":"?"}`, "invalid_field", "params_base64"},
		{"duration is a number", `{"delay":5}`, "invalid_field", "delay"},
		{"duration without unit", `{"delay":"5"}`, "invalid_field", "delay"},
		{"negative duration", `{"delay":"-5s"}`, "invalid_field", "delay"},
		{"time without zone", `{"not_before":"2026-01-01T00:00:00"}`, "invalid_field", "not_before"},
		{"time before 1970", `{"not_before":"1969-12-31T23:59:59Z"}`, "invalid_field", "not_before"},
		{"deep enough", `{"params":` + deep[1:len(deep)-1] + `}`, "", ""},
		{"too deep", `{"params":` + deep + `}`, "invalid_json", ""},
		{"brackets in strings", `{"params":"` + strings.Repeat("[", 2*MaxDepth) + `"}`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r SubmitRequest
			err := decodeStrict([]byte(c.body), &r)
			switch {
			case c.code == "" && err != nil:
				t.Errorf("refused: %+v", err)
			case c.code != "" && err == nil:
				t.Errorf("accepted as %+v", r)
			case err != nil && (err.Code != c.code || err.Field != c.field || err.Detail == "" || err.Status == 0):
				t.Errorf("error %+v, want %s for field %q", err, c.code, c.field)
			}
		})
	}
}

func TestSyntaxErrorSaysWhere(t *testing.T) {
	err := decodeStrict([]byte("{\n  \"behavior\": oops\n}"), &SubmitRequest{})
	if err == nil || !strings.Contains(err.Detail, "line 2, column 15") {
		t.Errorf("%+v, want line 2, column 15", err)
	}
}

// FuzzDecodeStrict compares with encoding/json: whatever is accepted means the same there, and nothing panics.
func FuzzDecodeStrict(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"behavior":"b","params":{"a":[1,{"b":"\"]"}]},"labels":{"x":"y"}}`, `{"tasks":[{},1,"]"]}`, `[]`, `{"a":1,}`, "\xff", `{"params":"\ud800"}`,
		`{"behavior":"b" , "id" : "c"}  `, `{"priority":-0}`, `{"delay":"1s","not_before":"2026-01-01T00:00:00Z"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var strict, lax SubmitRequest
		err := decodeStrict(body, &strict)
		if err != nil {
			return
		}
		if err := json.Unmarshal(body, &lax); err != nil {
			t.Fatalf("accepted %q, which encoding/json refuses: %v", body, err)
		}
		a, _ := json.Marshal(strict)
		b, _ := json.Marshal(lax)
		if string(a) != string(b) {
			t.Fatalf("%q decoded as %s, encoding/json has %s", body, a, b)
		}
	})
}

func TestTimeAndDuration(t *testing.T) {
	var v struct {
		T Time
		D Duration
	}
	if err := json.Unmarshal([]byte(`{"T":"2026-11-22T12:00:00.1239+02:00","D":"90s"}`), &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"T":"2026-11-22T10:00:00.123Z","D":"1m30s"}`; string(b) != want {
		t.Errorf("%s, want %s", b, want)
	}
	if got := TimeOf(1_000).String(); got != "1970-01-01T00:00:01.000Z" {
		t.Error(got)
	}
}

// Every code of the machine and of this package has a status in the table; an unknown code is an internal error.
func TestStatusTable(t *testing.T) {
	for code, want := range map[string]int{
		CodeBadRequest: 400, CodeInvalidJSON: 400, CodeUnknownField: 400, CodeInvalidField: 400,
		CodeNotFound: 404, CodeTaskNotFound: 404, CodeBehaviorNotFound: 404, CodeModuleNotFound: 404, CodeRemoved: 404, "namespace_not_found": 404,
		CodeMethodNotAllowed: 405, "already_exists": 409, "other_behavior": 409, "cancelling": 409, "not_cancellable": 409, "halt": 409, "worker_in_use": 409,
		CodeTooLarge: 413, CodeUnsupportedMedia: 415, CodeInvalidParams: 422, CodeParamsSchema: 422, CodeOverloaded: 429,
		CodeInternal: 500, "never heard of": 500, CodeNoLeader: 503, CodeOutcomeUnknown: 503, CodeNotReady: 503,
	} {
		if e := NewError(code, "x"); e.Status != want || e.Title == "" {
			t.Errorf("%s: status %d %q, want %d", code, e.Status, e.Title, want)
		}
	}
	if e := UploadError("not_wasm", "", "x"); e.Status != 422 {
		t.Errorf("upload error: %+v", e)
	}
	if e := UploadError("too_large", "", "x"); e.Status != 413 {
		t.Errorf("upload error: %+v", e)
	}
}
