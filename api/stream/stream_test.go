package stream_test

import (
	"reflect"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/taskrt/taskrt/api/stream"
)

// TestForms: both forms read what their clients write, and say the same of it (SPEC H5).
func TestForms(t *testing.T) {
	from, zero, place := uint64(0), uint64(0), uint64(9)
	want := []stream.Request{
		{N: 1, Method: "POST", Path: "/v1/tasks?wait=1s", Key: "k", Prefer: "return=minimal", Trace: "00-1", State: "a=1", Body: stream.Body(`{"a":[1e3,"\ud800","<"]}`)},
		{N: 2, Method: "GET", Path: "/v1/events", Watch: true, After: &from},
		{N: stream.MaxNumber, Cancel: true},
	}
	binary, err := cbor.Marshal(stream.Requests{Requests: want})
	if err != nil {
		t.Fatal(err)
	}
	for name, message := range map[string][]byte{
		"taskrt.v1+json": []byte(`{"requests":[{"n":1,"method":"POST","path":"/v1/tasks?wait=1s","key":"k","prefer":"return=minimal","trace":"00-1","tracestate":"a=1","body":{"a":[1e3,"\ud800","<"]}},{"n":2,"method":"GET","path":"/v1/events","watch":true,"after":0},{"n":9007199254740991,"cancel":true}]}`),
		"taskrt.v1+cbor": binary,
	} {
		form := stream.FormOf(name)
		got, err := form.Requests(message)
		clear(message) // nothing of it is kept
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %+v", name, err, got)
		}
		answers := []stream.Answer{{N: 1, Status: 201, Index: 7, Body: stream.Body(`{"task":{}}`)}, {N: 2, Status: 204}, {N: 3, Status: 200, Index: 8, More: true}, {N: 3, Status: 200, More: true, Events: []stream.Event{
			{Type: "reset", ID: &zero, Data: stream.Body(`{}`)}, {Type: "progress", Data: stream.Body(`{"id":"x"}`)}, {ID: &place},
		}}}
		text, err := form.AppendAnswers(nil, answers)
		if err != nil {
			t.Error(err)
		}
		if form.Binary() {
			var m stream.Answers
			if err := cbor.Unmarshal(text, &m); err != nil || !reflect.DeepEqual(m.Answers, answers) {
				t.Errorf("%s: %v, %+v", name, err, m)
			}
		} else if string(text) != `{"answers":[{"n":1,"status":201,"index":7,"body":{"task":{}}},{"n":2,"status":204},{"n":3,"status":200,"index":8,"more":true},{"n":3,"status":200,"more":true,"events":[{"type":"reset","id":0,"data":{}},{"type":"progress","data":{"id":"x"}},{"id":9}]}]}` {
			t.Errorf("%s: %s", name, text)
		}
	}
	if stream.FormOf("taskrt.v2+json") != nil {
		t.Error("a form of another version")
	}
}

// TestCBORIsStrict: what JSON refuses CBOR refuses, too, and nothing is of unknown length or tagged.
func TestCBORIsStrict(t *testing.T) {
	form := stream.FormOf("taskrt.v1+cbor")
	for message, good := range map[string]bool{
		"\xa1\x68requests\x81\xa1\x61n\x01":                 true,
		"\xa1\x68requests\x81\xa1\x61n\x00":                 false, // n is 0
		"\xa1\x68requests\x80":                              false, // none
		"\xa1\x68requests\x81\xa2\x61n\x01\x61n\x02":        false, // twice
		"\xa1\x68requests\x81\xa2\x61n\x01\x61x\x02":        false, // unknown
		"\xa1\x68requests\x81\xa1\x61N\x01":                 false, // in another case
		"\xa1\x68requests\x9f\xa1\x61n\x01\xff":             false, // of unknown length
		"\xa1\x68requests\xc1\x81\xa1\x61n\x01":             false, // tagged
		"\xa1\x68requests\x81\xa1\x61n\x01\x00":             false, // more behind it
		"\xa1\x68requests\x9b\xff\xff\xff\xff\xff\xff\xff0": false, // a length that nothing has
		"": false,
	} {
		if got, err := form.Requests([]byte(message)); (err == nil) != good {
			t.Errorf("%x: %v, %+v", message, err, got)
		}
	}
}

// FuzzRequests: no message does harm, whatever it is, and what is read has numbers.
func FuzzRequests(f *testing.F) {
	f.Add([]byte(`{"requests":[{"n":1,"method":"GET","path":"/v1/tasks","body":{}}]}`))
	f.Add([]byte("\xa1\x68requests\x81\xa1\x61n\x01"))
	f.Fuzz(func(t *testing.T, message []byte) {
		for _, form := range stream.Forms() {
			requests, err := form.Requests(message)
			for _, r := range requests {
				if err != nil || r.N == 0 || r.N > stream.MaxNumber {
					t.Errorf("%s: %v, %+v", form.Subprotocol(), err, r)
				}
			}
		}
	})
}
