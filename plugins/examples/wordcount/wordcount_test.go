package main

import (
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
)

func TestCounts(t *testing.T) {
	for text, want := range map[string]string{
		`{"text":"a b a"}`:       `{"words":{"a":2,"b":1},"total":3}`,
		`{"text":""}`:            `{"words":{},"total":0}`,
		`{"text":" ,.;-\n"}`:     `{"words":{},"total":0}`,
		`{"text":"Go go, GO!"}`:  `{"words":{"GO":1,"Go":1,"go":1},"total":3}`,
		`{"text":"don't x2 2x"}`: `{"words":{"2x":1,"don":1,"t":1,"x2":1},"total":4}`,
		`{"text":"\u00e9t\u00e9 été 北京—北京"}`: `{"words":{"été":2,"北京":2},"total":4}`,
		`{"text":"b\ud800a"}`:                `{"words":{"a":1,"b":1},"total":2}`,
	} {
		r := sdktest.Run(t, "wordcount", &sdktest.Host{Params: []byte(text)})
		if r.Outcome != abi.OutcomeOK || string(r.Result) != want {
			t.Errorf("%s: %v\nwant %s", text, r, want)
		}
	}
}

func TestBadParams(t *testing.T) {
	for _, text := range []string{"null", "{}", `{"text":1}`, `"a b a"`, "{"} {
		if r := sdktest.Run(t, "wordcount", &sdktest.Host{Params: []byte(text)}); r.Outcome != abi.OutcomePermanent || r.Code != "bad_params" {
			t.Errorf("%q: %v", text, r)
		}
	}
}

func TestResultOverTheLimit(t *testing.T) {
	var words strings.Builder
	for i := range 20_000 {
		words.WriteString(string(rune(0x4e00+i)) + " ")
	}
	r := sdktest.Run(t, "wordcount", &sdktest.Host{Params: []byte(`{"text":"` + words.String() + `"}`), MaxResult: 64 << 10})
	if r.Outcome != abi.OutcomePermanent || r.Code != "too_big" {
		t.Errorf("%.200v", r.String())
	}
}
