// Wordcount counts words: {"text":"a b a"} → {"words":{"a":2,"b":1},"total":3}. A word stands between characters
// that are neither letters nor digits of any script; case is kept. Equal texts share one task.
package main

import (
	"github.com/taskrt/taskrt/plugins/examples/words"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

func init() {
	sdk.Register(sdk.Behavior{
		Name:        "wordcount",
		Description: `counts words: {"text":"a b a"} → {"words":{"a":2,"b":1},"total":3}`,
		Run:         wordcount,
		ID:          sdk.ID{Strategy: sdk.IDParams},
		RunTimeout:  sdk.Minute,
	})
}

func wordcount(c *sdk.Context) error {
	v, err := tinyjson.Parse(c.Params())
	if err != nil {
		return sdk.Fail("bad_params", err.Error())
	}
	member, _ := v.Get("text")
	text, ok := member.Str()
	if !ok {
		return sdk.Fail("bad_params", `params must be {"text":"…"}`)
	}
	var counter words.Counter
	counter.Write([]byte(text))
	counter.End()
	c.SetResult(words.Encode(counter.Counts, counter.Total))
	return nil
}

func main() {} // never called
