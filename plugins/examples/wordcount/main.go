// Wordcount counts words: {"text":"a b a"} → {"words":{"a":2,"b":1},"total":3}. A word is what stands between characters
// that are neither letters nor digits of any script; case is kept. Equal texts share one task.
package main

import (
	"slices"
	"unicode"

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
	counts, total := count(text)
	c.SetResult(encode(counts, total))
	return nil
}

// count returns how often each word occurs, and how many words there are.
func count(text string) (counts map[string]int64, total int64) {
	counts = map[string]int64{}
	start := -1 // of the word at work
	end := func(i int) {
		if start >= 0 {
			counts[text[start:i]]++
			total++
			start = -1
		}
	}
	for i, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end(i)
		} else if start < 0 {
			start = i
		}
	}
	end(len(text))
	return counts, total
}

// encode writes the result, words in order, so that equal params give equal bytes.
func encode(counts map[string]int64, total int64) []byte {
	words := make([]string, 0, len(counts))
	for w := range counts {
		words = append(words, w)
	}
	slices.Sort(words)
	buf := []byte(`{"words":{`)
	for _, w := range words {
		buf = tinyjson.AppendInt(tinyjson.AppendMember(buf, w), counts[w])
	}
	buf = append(buf, '}')
	buf = tinyjson.AppendInt(tinyjson.AppendMember(buf, "total"), total)
	return append(buf, '}')
}

func main() {} // never called
