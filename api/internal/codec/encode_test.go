package codec

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
)

// slow returns what encoding/json makes of a value.
func slow(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))
}

// filler fills values of any type with something, or with nothing.
type filler struct{ *rand.Rand }

var texts = []string{"", "a", "some-task", `"\/`, "<b>&</b>", "é\u2028\u2029\x7f\x00\x1f\b\f\n\r\t", "\xff\xc3a", "日本語", "\U0001F600"}

var raws = []string{`null`, `1`, `"a b"`, `{"a":[1,2,{"b":"<&>\u2028"}]}`, ` { "a" : [ 1 , 2 ] , "b" : " \" " } `, "\"\u2028\"", `"\ud800"`}

func (f *filler) fill(v reflect.Value) {
	nothing := f.IntN(3) == 0
	switch x := v.Addr().Interface().(type) {
	case *api.Time:
		*x = api.TimeOf(f.Int64N(253402300799999))
		if nothing {
			x.Time = x.In(time.FixedZone("east", 3*3600))
		}
		return
	case *json.RawMessage:
		if !nothing {
			*x = json.RawMessage(raws[f.IntN(len(raws))])
		}
		return
	case *[]byte:
		if !nothing {
			*x = []byte(texts[f.IntN(len(texts))])
		}
		return
	case *api.Duration:
		*x = api.Duration(f.Int64N(1 << 40))
		return
	case **api.Operation: // a field of errors, which encoding/json writes
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(texts[f.IntN(len(texts))])
	case reflect.Bool:
		v.SetBool(nothing)
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{0, 1, -7, 1 << 53, -1 << 63}[f.IntN(5)])
	case reflect.Uint64:
		v.SetUint([]uint64{0, 1, 1<<64 - 1}[f.IntN(3)])
	case reflect.Pointer:
		if !nothing {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Slice:
		if !nothing {
			v.Set(reflect.MakeSlice(v.Type(), f.IntN(3), 3))
			for i := range v.Len() {
				f.fill(v.Index(i))
			}
		}
	case reflect.Map:
		if !nothing {
			m := map[string]string{}
			for range f.IntN(4) {
				m[texts[f.IntN(7)]] = texts[f.IntN(7)]
			}
			v.Set(reflect.ValueOf(m))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			switch field := v.Type().Field(i); {
			case field.Type == reflect.TypeFor[*MinimalReply](): // cannot be set by reflection
				if !nothing {
					m := new(MinimalReply)
					f.fill(reflect.ValueOf(m).Elem())
					v.Addr().Interface().(*MinimalResult).MinimalReply = m
				}
			case field.IsExported():
				f.fill(v.Field(i))
			}
		}
	case reflect.Func: // it does not travel
	default:
		panic("a kind that no test fills: " + v.Kind().String())
	}
}

// TestEncodeAsEncodingJSON: the code without reflection writes what encoding/json writes, for every field of every value.
func TestEncodeAsEncodingJSON(t *testing.T) {
	f := &filler{rand.New(rand.NewPCG(1, 2))}
	for range 3000 {
		for _, v := range []any{new(api.SubmitReply), new(api.SubmitResult), new(api.Task), new(TaskAnswer), new(MinimalReply), new(MinimalResult),
			new(api.HeartbeatReply), new(api.FinishReply), new(api.FinishResult), new(api.AcceptRequest), new(api.FinishRequest), new(Reports), new(MinimalFinishReply), new(MinimalFinishResult),
		} {
			f.fill(reflect.ValueOf(v).Elem())
			switch a := v.(type) { // these travel as values
			case *TaskAnswer:
				v = *a
			case *api.AcceptRequest:
				v = *a
			case *api.FinishRequest:
				v = *a
			case *Reports:
				v = *a
			}
			if got, want := string(Encode(v)), slow(t, v); got != want {
				t.Fatalf("%T\n%s\nwant\n%s", v, got, want)
			}
		}
	}
}

// TestEncodeSubmitAsEncodingJSON: a submit that was checked is written as encoding/json writes it.
func TestEncodeSubmitAsEncodingJSON(t *testing.T) {
	f := &filler{rand.New(rand.NewPCG(5, 6))}
	for range 3000 {
		r := new(api.SubmitRequest)
		f.fill(reflect.ValueOf(r).Elem())
		if len(r.Params) > 0 {
			var compact bytes.Buffer
			if err := json.Compact(&compact, r.Params); err != nil {
				t.Fatal(err)
			}
			r.Params = compact.Bytes()
		}
		if got, want := string(AppendRequest(nil, r)), slow(t, r); got != want {
			t.Fatalf("%s\nwant\n%s", got, want)
		}
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range texts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := string(appendString(nil, s)), slow(t, s); got != want {
			t.Fatalf("%q is written as %s, want %s", s, got, want)
		}
	})
}

// answers are an answer of each type that is read without reflection.
func answers() []any {
	return []any{
		new(api.SubmitReply), new(SubmitResults), new(TaskAnswer), new(api.AcceptReply), new(api.HeartbeatReply), new(api.FinishReply), new(FinishResults),
	}
}

// TestDecodeAnswersAsEncodingJSON: the reader of answers makes of them what encoding/json makes of them.
func TestDecodeAnswersAsEncodingJSON(t *testing.T) {
	f := &filler{rand.New(rand.NewPCG(3, 4))}
	for range 3000 {
		for _, v := range answers() {
			f.fill(reflect.ValueOf(v).Elem())
			sameAnswer(t, []byte(slow(t, v)), v)
		}
	}
}

// sameAnswer compares what the reader of answers makes of a text with what encoding/json makes of it, for the type of v.
func sameAnswer(t *testing.T, text []byte, v any) {
	t.Helper()
	got, want := reflect.New(reflect.TypeOf(v).Elem()).Interface(), reflect.New(reflect.TypeOf(v).Elem()).Interface()
	gotErr, wantErr := DecodeAnswer(text, got), json.Unmarshal(text, want)
	if (gotErr == nil) != (wantErr == nil) {
		t.Fatalf("%s: error %v, want %v", text, gotErr, wantErr)
	}
	if gotErr == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%s is read as\n%s\nwant\n%s", text, slow(t, got), slow(t, want))
	}
}

func FuzzDecodeAnswer(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"task":null,"outcome":"created"}`, `{"task":{"id":"abc","attempt":1,"labels":{"a":"b"},"history":[{"attempt":1}]}}`, `{"task":{"id":null}}`,
		`{"results":[{"error":{"code":"x","status":400}},{"task":{"params":[1, 2]},"outcome":"existing"},{}]}`, `{"results":null}`, `{"results":[{"more":1}],"more":{}}`,
		`{"task":{"created_at":"2026-11-22T10:30:00.000Z","not_before":null,"attempt":1.5}}`, `{"task":{"ID":"abc"}}`, `{"task":{"id":"a"},"task":{"rev":1}}`,
		`{"results":[{"outcome":"created"}],"results":[{"task":{"id":"a"}}]}`, `{"task":{"history":[{"attempt":1}],"history":[{"token":2}]}}`,
		`{"task":{"labels":{"a":"b"},"labels":{"c":"d"}}}`, `{"tasks":[{"id":"a","lease":{"token":7,"worker":"w","lease_ms":3}},null]}`, `{"tasks":[],"tasks":[{}]}`, `{"tasks":null}`,
		`{"task":{"id":"a"},"repeated":true}`, `{"results":[{"task":{"id":"a"},"repeated":true},{"error":{"code":"halt"}},{"repeated":true}]}`, `{"task":{"lease":{"token":1},"lease":{"worker":"w"}}}`,
		`{"lease_ms":1,"lost_not_before":"2026-11-22T10:30:00.000Z","resubmit":true,"cancel":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, v := range answers() {
			sameAnswer(t, text, v)
		}
	})
}
