package codec

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/scan"
)

func TestDecodeStrict(t *testing.T) {
	deep := strings.Repeat("[", scan.MaxDepth) + strings.Repeat("]", scan.MaxDepth)
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
		{"whole numbers", `{"behavior":"b","priority":7.0}`, "", ""},
		{"whole number by exponent", `{"behavior":"b","priority":0.5e1}`, "", ""},
		{"number out of range", `{"priority":1e400}`, "invalid_field", "priority"},
		{"half a character", `{"behavior":"\ud800"}`, "invalid_json", "behavior"},
		{"half a character in a label", `{"labels":{"a":"\udc00x"}}`, "invalid_json", "labels"},
		{"half a character in a label's name", `{"labels":{"a\ud83d":"x"}}`, "invalid_json", "labels"},
		{"a whole character", `{"behavior":"b","labels":{"a":"\ud83d\ude00"}}`, "", ""},
		{"half a character in params", `{"behavior":"b","params":"\ud800"}`, "", ""},
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
		{"brackets in strings", `{"params":"` + strings.Repeat("[", 2*scan.MaxDepth) + `"}`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r api.SubmitRequest
			err := Strict.Decode([]byte(c.body), &r)
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
	err := Strict.Decode([]byte("{\n  \"behavior\": oops\n}"), &api.SubmitRequest{})
	if err == nil || !strings.Contains(err.Detail, "line 2, column 15") {
		t.Errorf("%+v, want line 2, column 15", err)
	}
}

// FuzzDecodeStrict compares with encoding/json: every accepted body means the same there, and nothing panics.
func FuzzDecodeStrict(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"behavior":"b","params":{"a":[1,{"b":"\"]"}]},"labels":{"x":"y"}}`, `{"tasks":[{},1,"]"]}`, `[]`, `{"a":1,}`, "\xff", `{"params":"\ud800"}`,
		`{"behavior":"b" , "id" : "c"}  `, `{"priority":-0}`, `{"delay":"1s","not_before":"2026-01-01T00:00:00Z"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var strict, lax api.SubmitRequest
		err := Strict.Decode(body, &strict)
		if err != nil {
			return
		}
		if err := json.Unmarshal(body, &lax); err != nil {
			if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && strings.HasPrefix(wrong.Value, "number ") {
				return // because 1e3 is an integer here
			}
			t.Fatalf("accepted %q, which encoding/json refuses: %v", body, err)
		}
		a, _ := json.Marshal(strict)
		b, _ := json.Marshal(lax)
		if string(a) != string(b) {
			t.Fatalf("%q decoded as %s, encoding/json has %s", body, a, b)
		}
	})
}

// TestIntegersAndCharacters: a whole number is an integer wherever an integer is expected. Half of a character is refused in
// every text, by whatever route it comes.
func TestIntegersAndCharacters(t *testing.T) {
	t.Parallel()
	type bodies struct {
		update StoreUpdateBody
		claim  StoreClaimBody
		start  api.StartOperationRequest
		finish api.FinishRequest
		txn    api.TxnRequest
	}
	for _, c := range []struct {
		body  string
		into  func(*bodies) (Decoder, any)
		field string // what is refused; "": nothing
	}{
		{`{"clientid":1e3,"adds":[{"group":"g","timespec":1000.0,"duration":-1.5e3}],"updates":[{"id":1e3}],"deletes":[1.0,20e-1],"depends":[3]}`,
			func(b *bodies) (Decoder, any) { return TaskStore, &b.update }, ""},
		{`{"clientid":1,"deletes":[1.5]}`, func(b *bodies) (Decoder, any) { return TaskStore, &b.update }, "deletes"},
		{`{"clientid":1,"adds":[{"group":"g","data":"\ud800"}]}`, func(b *bodies) (Decoder, any) { return TaskStore, &b.update }, "adds[0].data"},
		{`{"clientid":1,"adds":[{"group":"\udfff"}]}`, func(b *bodies) (Decoder, any) { return TaskStore, &b.update }, "adds[0].group"},
		{`{"clientid":1,"adds":[{"group":"g","group":"h"}]}`, func(b *bodies) (Decoder, any) { return TaskStore, &b.update }, "adds[0].group"},
		{`{"clientid":1,"adds":[{"Group":"g"}]}`, func(b *bodies) (Decoder, any) { return TaskStore, &b.update }, "adds[0].Group"},
		{`{"clientid":1,"clientid":1}`, func(b *bodies) (Decoder, any) { return TaskStore, &b.update }, "clientid"},
		{`{"ClientID":1}`, func(b *bodies) (Decoder, any) { return TaskStore, &b.update }, "ClientID"},
		{`{"clientid":1,"adds":[{"group":"g","ownerid":3,"more":[]}],"else":{}}`, func(b *bodies) (Decoder, any) { return TaskStore, &b.update }, ""},
		{`{"clientid":1,"group":"g","duration":1e3,"depends":[1.0]}`, func(b *bodies) (Decoder, any) { return TaskStore, &b.claim }, ""},
		{`{"partitions":1000.0}`, func(b *bodies) (Decoder, any) { return Strict, &b.start }, ""},
		{`{"partitions":1e3}`, func(b *bodies) (Decoder, any) { return Strict, &b.start }, ""},
		{`{"partitions":1.5}`, func(b *bodies) (Decoder, any) { return Strict, &b.start }, "partitions"},
		{`{"partitions":["a","\ud800"]}`, func(b *bodies) (Decoder, any) { return Strict, &b.start }, "partitions"},
		{`{"target":"\ud800"}`, func(b *bodies) (Decoder, any) { return Strict, &b.start }, "target"},
		{`{"token":5e0,"error":{"code":"x","message":"\ud800"}}`, func(b *bodies) (Decoder, any) { return Strict, &b.finish }, "error.message"},
		{`{"token":5e0,"error":{"code":"x","message":"y","details":"\ud800"}}`, func(b *bodies) (Decoder, any) { return Strict, &b.finish }, ""},
		{`{"depends":[{"id":"abc","rev":1e1}],"update":[{"id":"abc","labels":{"\ud800":""}}]}`, func(b *bodies) (Decoder, any) { return Strict, &b.txn }, "update[0].labels"},
	} {
		var b bodies
		d, dst := c.into(&b)
		switch err := d.Decode([]byte(c.body), dst); {
		case err == nil && c.field != "":
			t.Errorf("%s: taken as %+v", c.body, b)
		case err != nil && err.Field != c.field:
			t.Errorf("%s: %v", c.body, err)
		}
		if c.field == "" && b.update.ClientID != nil && b.update.Adds[0].Timespec != nil &&
			(*b.update.ClientID != 1000 || *b.update.Adds[0].Timespec != 1000 || *b.update.Adds[0].Duration != -1500 || b.update.Updates[0].ID != 1000 || b.update.Deletes[1] != 2) {
			t.Errorf("%s: %+v", c.body, b.update)
		}
	}
}
