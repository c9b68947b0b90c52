package codec

import (
	"reflect"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/scan"
)

// bodies are bodies of submits, written plainly or not, right or wrong.
var bodies = []string{
	`{"behavior":"echo"}`,
	` { "behavior" : "echo" , "id" : "abc" , "params" : { "a" : 1 } , "priority" : 3 } ` + "\n",
	`{"behavior":"echo","params":[1,-2.5e3,true,false,null,"\"}]{[",{"a":{}},[]],"labels":{"a":"b","c":"d"},"delay":"1s","if_exists":"join"}`,
	`{"behavior":"echo","params_base64":"AAEC","not_before":"2026-11-22T12:00:00.1239+02:00","deadline":"2027-01-01T00:00:00Z","namespace":"n1"}`,
	`{"behavior":"echo","params_base64":"","labels":{},"priority":-0,"params":null}`,
	`{"behavior":"echo","traceparent":"00-\u0030","tracestate":"a=1"}`, `{"behavior":"echo","traceparent":7}`, `{"behavior":"echo","traceparent":"00-1","tracestate":"a=1"}`,
	`{"behavior":"echo","params_base64":"?"}`, `{"behavior":"echo","params_base64":null}`, `{"behavior":"echo","delay":"5"}`, `{"behavior":"echo","delay":7}`,
	`{"behavior":"echo","not_before":"yesterday"}`, `{"behavior":"echo","labels":{"a":"b","a":"c"}}`, `{"behavior":"echo","labels":{"a":1}}`, `{"behavior":"echo","labels":null}`,
	`{"behavior":"echo","priority":1e1}`, `{"behavior":"echo","priority":"1"}`, `{"behavior":"echo","behavior":"echo"}`, `{"behavior":"echo","colour":"red"}`,
	`{"beh\u0061vior":"echo"}`, `{"behavior":"\u0065cho"}`, `{"behavior":"é"}`, "{\"behavior\":\"\xff\"}", "{\"behavior\":\"echo\",\"params\":\"\xc3\"}",
	`{}`, ``, ` `, `[]`, `null`, `{"behavior":"echo"}{}`, `{"behavior":"echo",}`, `{"behavior":"echo"`, `{"behavior":"echo","params":01}`, `{"behavior":"echo","params":nul}`,
	`{"behavior":"echo","params":"\ud800"}`, `{"behavior":"echo","params":"\u12g4"}`, "{\"behavior\":\"echo\",\"params\":\"a\tb\"}", `{"behavior":"echo","params":"\x"}`,
	`{"tasks":[]}`, `{"tasks":[ ]}`, `{"tasks":{}}`, `{"tasks":null}`, `{"tasks":[{}],"tasks":[]}`, `{"tasks":[1,{"behavior":"echo"},"x",[{}],null]}`, `{"tasks":[{"behavior":"echo"},]}`,
	`{"tasks":[{"behavior":"echo","params":{"a": [1, 2]}},{"behavior":"echo","colour":1},{"behavior":"echo","namespace":"other"}],"namespace":"n1"}`,
	`{"namespace":"n1","tasks":[{"behavior":"echo","namespace":"n1"}, {"tasks":[]}]}`, `{"behavior":"echo","tasks":[]}`, `{"tasks":[{"behavior":"echo"}]} x`,
	`{"behavior":"echo","params":` + strings.Repeat("[", scan.MaxDepth-1) + strings.Repeat("]", scan.MaxDepth-1) + `}`,
	`{"behavior":"echo","params":` + strings.Repeat("[", scan.MaxDepth) + strings.Repeat("]", scan.MaxDepth) + `}`,
	`{"tasks":[{"params":` + strings.Repeat("[", scan.MaxDepth-3) + strings.Repeat("]", scan.MaxDepth-3) + `}]}`,
	`{"tasks":[{"params":` + strings.Repeat("[", scan.MaxDepth-2) + strings.Repeat("]", scan.MaxDepth-2) + `}]}`,
	`{"tasks":[` + strings.Repeat(`{},`, api.MaxBatch-1) + `{}]}`,
	`{"tasks":[` + strings.Repeat(`{},`, api.MaxBatch) + `{}]}`,
}

// TestPlainBodiesAreReadAsAll: the reader of plain bodies makes of them what the decoder of all bodies makes of them.
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

// sameTasks reports whether a body is read plainly, and compares what both readers make of it.
func sameTasks(t *testing.T, body []byte) bool {
	t.Helper()
	want, bad := decodeAnySubmits(body, unbounded)
	if bad == nil {
		bad = want.Split()
	}
	got := Submits{take: unbounded}
	if !got.read(body) {
		return false
	}
	if bad != nil {
		t.Fatalf("%.200q is read, although %v", body, bad)
	}
	if got.Many != want.Many || got.Namespace != want.Namespace || len(got.Items) != len(want.Items) {
		t.Fatalf("%.200q is read as %+v, want %+v", body, got, want)
	}
	if !got.Many {
		return sameRequest(t, &got.One, &want.One, api.ErrorOf(got.One.Check()), api.ErrorOf(want.One.Check()))
	}
	for i := range got.Items {
		a, b := &got.Items[i], &want.Items[i]
		sameRequest(t, &a.Request, &b.Request, decodedAndChecked(a, want.Namespace), decodedAndChecked(b, want.Namespace))
	}
	return true
}

func decodedAndChecked(i *Submit, namespace string) *api.Error {
	if err := i.Decode(namespace); err != nil {
		return err
	}
	return api.ErrorOf(i.Request.Check())
}

func sameRequest(t *testing.T, got, want *api.SubmitRequest, gotBad, wantBad *api.Error) bool {
	t.Helper()
	if !reflect.DeepEqual(gotBad, wantBad) {
		t.Fatalf("error %+v, want %+v", gotBad, wantBad)
	}
	if gotBad == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("read %+v, want %+v", got, want)
	}
	return true
}

func unbounded() *api.Error { return nil }

// TestBatchOfTheLimit: a batch of 10,000 tasks is split. A batch with one task more is refused before any of its tasks takes
// room.
func TestBatchOfTheLimit(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{api.MaxBatch: "", api.MaxBatch + 1: api.CodeTooLarge} {
		taken := 0
		s, err := decodeAnySubmits([]byte(`{"tasks":[`+strings.Repeat(`{},`, n-1)+`{}]}`), func() *api.Error { taken++; return nil })
		if err == nil {
			err = s.Split()
		}
		if (err == nil) != (want == "") || err != nil && (err.Code != want || taken > 0) {
			t.Errorf("%d tasks: %v, room taken %d times", n, err, taken)
		}
	}
}
