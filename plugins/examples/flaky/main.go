// Flaky fails on purpose: {"fail":n} fails, retryably, in the first n attempts of the task, and then succeeds with
// {"attempts":n+1}. It shows retries, and tests them.
package main

import (
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

func init() {
	sdk.Register(sdk.Behavior{
		Name:        "flaky",
		Description: `fails n times, then succeeds: {"fail":n} → {"attempts":n+1}`,
		Run:         flaky,
		Retry:       sdk.Retry{MaxAttempts: 10, InitialInterval: 200 * sdk.Millisecond},
		RunTimeout:  10 * sdk.Second,
	})
}

func flaky(c *sdk.Context) error {
	fail, err := parse(c.Params())
	if err != nil {
		return err
	}
	if n := c.Info().Attempt; n <= fail {
		return sdk.Retryable("flaky", string(tinyjson.AppendInt([]byte("this is attempt "), n)))
	}
	result := tinyjson.AppendInt([]byte(`{"attempts":`), c.Info().Attempt)
	c.SetResult(append(result, '}'))
	return nil
}

// parse reads {"fail":n}.
func parse(params []byte) (int64, error) {
	v, err := tinyjson.Parse(params)
	if err != nil {
		return 0, sdk.Fail("bad_params", err.Error())
	}
	member, _ := v.Get("fail")
	n, ok := member.Int64()
	if !ok || n < 0 {
		return 0, sdk.Fail("bad_params", `params must be {"fail":n} with an integer n ≥ 0`)
	}
	return n, nil
}

func main() {} // never called
