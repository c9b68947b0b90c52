// Split-text has the parts of a text worked on: each part becomes a task of a behavior that takes {"text": …}, such as wordcount. All
// these children come into being with the success of this task, or none does.
package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdkjson"
	"github.com/taskrt/taskrt/plugins/sdk/go/tasks"
)

// A child is at most 64 KiB of JSON, and all of them 512 KiB. The text becomes longer there: quotes and control characters are escaped.
const (
	maxParams = 512 << 10
	maxPart   = 8 << 10
	maxParts  = 100
)

func init() {
	sdk.Register(sdk.Behavior{
		Name:        "split-text",
		Description: "submits a task for each part of a text",
		Run:         sdkjson.Handler(run),
		ID:          sdk.ID{Strategy: sdk.IDParams},
		Retry:       sdk.Retry{MaxAttempts: 3, InitialInterval: sdk.Second}, // a child's behavior may not be there yet
		Limits:      sdk.Limits{Params: maxParams},
	})
}

type params struct {
	Text     string `json:"text"`
	Behavior string `json:"behavior"`
	Bytes    int    `json:"bytes"` // of a part, at most
}

type result struct {
	Parts int `json:"parts"`
}

func run(c *sdk.Context, p params) (result, error) {
	if p.Behavior == "" {
		p.Behavior = "wordcount"
	}
	if p.Bytes == 0 {
		p.Bytes = 4 << 10
	}
	if p.Bytes < utf8.UTFMax || p.Bytes > maxPart {
		return result{}, sdk.Fail("bad_params", fmt.Sprintf("bytes: %d, must be %d to %d", p.Bytes, utf8.UTFMax, maxPart))
	}
	parts := split(p.Text, p.Bytes)
	if len(parts) > maxParts {
		return result{}, sdk.Fail("bad_params", fmt.Sprintf("text: %d parts of %d bytes, at most %d", len(parts), p.Bytes, maxParts))
	}
	for i, part := range parts {
		_, err := tasks.Submit(tasks.Task{
			Behavior: p.Behavior,
			ID:       fmt.Sprintf("%s.%d", c.Info().ID, i), // run again, it joins the same children
			Params:   map[string]string{"text": part},
			Labels:   map[string]string{"part": fmt.Sprint(i)},
		})
		switch {
		case errors.Is(err, sdk.ErrInvalid), errors.Is(err, sdk.ErrDenied), errors.Is(err, sdk.ErrTooLarge):
			return result{}, sdk.Fail("not_submitted", err.Error())
		case err != nil:
			return result{}, err
		}
	}
	return result{len(parts)}, nil
}

// split cuts a text between words, each part at most most bytes. It cuts a word that is longer between characters.
func split(text string, most int) (parts []string) {
	for len(text) > 0 {
		n := min(most, len(text))
		if n < len(text) {
			for n > 0 && !utf8.RuneStart(text[n]) {
				n--
			}
			if n == 0 { // no UTF-8, which JSON cannot carry anyway
				n = most
			}
			if space := strings.LastIndexAny(text[:n], " \n\t"); space >= 0 {
				n = space + 1
			}
		}
		parts = append(parts, text[:n])
		text = text[n:]
	}
	return parts
}

func main() {} // never called
