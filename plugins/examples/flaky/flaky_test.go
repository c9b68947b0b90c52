package main

import (
	"fmt"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
)

func TestFailsThenSucceeds(t *testing.T) {
	for n := range 4 {
		h := &sdktest.Host{Params: fmt.Appendf(nil, `{"fail":%d}`, n)}
		for attempt := 1; attempt <= n; attempt++ {
			r := sdktest.Run(t, "flaky", h)
			if r.Outcome != abi.OutcomeRetryable || r.Code != "flaky" || r.Message != fmt.Sprint("this is attempt ", attempt) {
				t.Errorf("fail %d, attempt %d: %v", n, attempt, r)
			}
		}
		if r := sdktest.Run(t, "flaky", h); string(r.Result) != fmt.Sprintf(`{"attempts":%d}`, n+1) {
			t.Errorf("fail %d: %v", n, r)
		}
	}
}

func TestBadParams(t *testing.T) {
	for _, text := range []string{"null", "{}", `{"fail":-1}`, `{"fail":true}`, "["} {
		if r := sdktest.Run(t, "flaky", &sdktest.Host{Params: []byte(text)}); r.Outcome != abi.OutcomePermanent || r.Code != "bad_params" {
			t.Errorf("%q: %v", text, r)
		}
	}
}
