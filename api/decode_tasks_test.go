package api

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// bodies are written plainly or not, right or not.
var bodies = []string{
	`{"behavior":"echo"}`,
	` { "behavior" : "echo" , "id" : "abc" , "params" : { "a" : 1 } , "priority" : 3 } ` + "\n",
	`{"behavior":"echo","params":[1,-2.5e3,true,false,null,"\"}]{[",{"a":{}},[]],"labels":{"a":"b","c":"d"},"delay":"1s","if_exists":"join"}`,
	`{"behavior":"echo","params_base64":"AAEC","not_before":"2026-11-22T12:00:00.1239+02:00","deadline":"2027-01-01T00:00:00Z","namespace":"n1"}`,
	`{"behavior":"echo","params_base64":"","labels":{},"priority":-0,"params":null}`,
	`{"behavior":"echo","params_base64":"?"}`, `{"behavior":"echo","params_base64":null}`, `{"behavior":"echo","delay":"5"}`, `{"behavior":"echo","delay":7}`,
	`{"behavior":"echo","not_before":"yesterday"}`, `{"behavior":"echo","labels":{"a":"b","a":"c"}}`, `{"behavior":"echo","labels":{"a":1}}`, `{"behavior":"echo","labels":null}`,
	`{"behavior":"echo","priority":1e1}`, `{"behavior":"echo","priority":"1"}`, `{"behavior":"echo","behavior":"echo"}`, `{"behavior":"echo","colour":"red"}`,
	`{"beh\u0061vior":"echo"}`, `{"behavior":"\u0065cho"}`, `{"behavior":"é"}`, "{\"behavior\":\"\xff\"}", "{\"behavior\":\"echo\",\"params\":\"\xc3\"}",
	`{}`, ``, ` `, `[]`, `null`, `{"behavior":"echo"}{}`, `{"behavior":"echo",}`, `{"behavior":"echo"`, `{"behavior":"echo","params":01}`, `{"behavior":"echo","params":nul}`,
	`{"behavior":"echo","params":"\ud800"}`, `{"behavior":"echo","params":"\u12g4"}`, "{\"behavior\":\"echo\",\"params\":\"a\tb\"}", `{"behavior":"echo","params":"\x"}`,
	`{"tasks":[]}`, `{"tasks":[ ]}`, `{"tasks":{}}`, `{"tasks":null}`, `{"tasks":[{}],"tasks":[]}`, `{"tasks":[1,{"behavior":"echo"},"x",[{}],null]}`, `{"tasks":[{"behavior":"echo"},]}`,
	`{"tasks":[{"behavior":"echo","params":{"a": [1, 2]}},{"behavior":"echo","colour":1},{"behavior":"echo","namespace":"other"}],"namespace":"n1"}`,
	`{"namespace":"n1","tasks":[{"behavior":"echo","namespace":"n1"}, {"tasks":[]}]}`, `{"behavior":"echo","tasks":[]}`, `{"tasks":[{"behavior":"echo"}]} x`,
	`{"behavior":"echo","params":` + strings.Repeat("[", MaxDepth-1) + strings.Repeat("]", MaxDepth-1) + `}`,
	`{"behavior":"echo","params":` + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth) + `}`,
	`{"tasks":[{"params":` + strings.Repeat("[", MaxDepth-3) + strings.Repeat("]", MaxDepth-3) + `}]}`,
	`{"tasks":[{"params":` + strings.Repeat("[", MaxDepth-2) + strings.Repeat("]", MaxDepth-2) + `}]}`,
	`{"tasks":[` + strings.Repeat(`{},`, MaxBatch-1) + `{}]}`,
	`{"tasks":[` + strings.Repeat(`{},`, MaxBatch) + `{}]}`,
}

// What is read plainly is what the decoder of all bodies makes of it.
func TestPlainBodiesAreReadAsAll(t *testing.T) {
	plain := 0
	for _, body := range bodies {
		if sameTasks(t, []byte(body)) {
			plain++
		}
	}
	if plain < 15 {
		t.Errorf("only %d of the bodies are read plainly", plain)
	}
}

func FuzzDecodeTasks(f *testing.F) {
	for _, body := range bodies[:len(bodies)-6] {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { sameTasks(t, body) })
}

// sameTasks reports whether a body is read plainly, and compares.
func sameTasks(t *testing.T, body []byte) bool {
	t.Helper()
	want, bad := decodeAnyTasks(body, unbounded)
	if bad == nil {
		bad = want.split()
	}
	got := tasksBody{take: unbounded}
	if !got.read(body) {
		return false
	}
	if bad != nil {
		t.Fatalf("%.200q is read, although %v", body, bad)
	}
	if got.many != want.many || got.namespace != want.namespace || len(got.items) != len(want.items) {
		t.Fatalf("%.200q is read as %+v, want %+v", body, got, want)
	}
	if !got.many {
		return sameRequest(t, &got.one, &want.one, got.one.check(), want.one.check())
	}
	for i := range got.items {
		a, b := &got.items[i], &want.items[i]
		sameRequest(t, &a.request, &b.request, decodedAndChecked(a, want.namespace), decodedAndChecked(b, want.namespace))
	}
	return true
}

func decodedAndChecked(i *taskItem, namespace string) *Error {
	if err := i.decode(namespace); err != nil {
		return err
	}
	return i.request.check()
}

func sameRequest(t *testing.T, got, want *SubmitRequest, gotBad, wantBad *Error) bool {
	t.Helper()
	if !reflect.DeepEqual(gotBad, wantBad) {
		t.Fatalf("error %+v, want %+v", gotBad, wantBad)
	}
	if gotBad == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("read %+v, want %+v", got, want)
	}
	return true
}

// The scanner agrees with encoding/json about what is JSON, and with json.Compact about what is compact.
func FuzzValidJSON(f *testing.F) {
	for _, body := range bodies[:len(bodies)-6] {
		f.Add([]byte(body))
	}
	for _, s := range []string{`-`, `-0.`, `1.e1`, `1E+`, `1E+5`, `"abcdefg\`, `"abcdefg\u00`, "\"abcdefgh\x1f\"", "\"\x7f\"", `"é12345"`, `tru`, `[1 ,2]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		valid, compact := validJSON(b)
		if want := utf8.Valid(b) && !tooDeep(b) && json.Valid(b); valid != want {
			t.Fatalf("%q is valid: %v, want %v", b, valid, want)
		}
		if want := valid && compactLen(b) == len(b); compact != want {
			t.Fatalf("%q is compact: %v, want %v", b, compact, want)
		}
	})
}

func unbounded() bool { return true }
