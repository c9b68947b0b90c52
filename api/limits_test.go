package api_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// TestLimitsAreExact: a value at a limit is accepted. A value one larger is refused, and the error has the limit.
func TestLimitsAreExact(t *testing.T) {
	params := func(n int) api.SubmitRequest {
		return api.SubmitRequest{Params: []byte(`"` + strings.Repeat("x", n-2) + `"`)}
	}
	id := func(n int) api.SubmitRequest { return api.SubmitRequest{ID: strings.Repeat("x", n)} }
	naming := func(n int) api.SubmitRequest {
		refs := make([]string, n)
		for i := range refs {
			refs[i] = string(api.BlobRef(fmt.Sprintf("%064x", i)))
		}
		return api.SubmitRequest{Params: []byte("[" + strings.Join(refs, ",") + "]")}
	}
	priority := func(n int) api.SubmitRequest { return api.SubmitRequest{Priority: &n} }
	for name, c := range map[string]struct {
		r     api.SubmitRequest
		field string // "": accepted
	}{
		"16 MiB of params": {params(api.MaxPayload), ""}, "a byte more": {params(api.MaxPayload + 1), "params"},
		"16 MiB of bytes": {api.SubmitRequest{ParamsBase64: make([]byte, api.MaxPayload)}, ""},
		"and one more":    {api.SubmitRequest{ParamsBase64: make([]byte, api.MaxPayload+1)}, "params_base64"},
		"1000 blobs":      {naming(task.MaxNamed), ""}, "1001 blobs": {naming(task.MaxNamed + 1), "params"},
		"short ID": {id(2), "id"}, "shortest ID": {id(3), ""}, "longest ID": {id(128), ""}, "long ID": {id(129), "id"},
		"highest priority": {priority(9), ""}, "higher priority": {priority(10), "priority"}, "lowest priority": {priority(0), ""},
		"lower priority": {priority(-1), "priority"},
	} {
		c.r.Behavior = "apitest.ok"
		err := c.r.Check()
		e, _ := errors.AsType[*api.Error](err)
		if c.field == "" && err != nil || c.field != "" && (e == nil || e.Field != c.field || e.Limit == 0 && c.field != "priority") {
			t.Errorf("%s: %v, want field %q", name, err, c.field)
		}
	}
	if err := api.CheckBatch(make([]api.SubmitRequest, api.MaxBatch)); err != nil {
		t.Errorf("10,000 tasks: %v", err)
	}
	if err := api.CheckBatch(make([]api.SubmitRequest, api.MaxBatch+1)); api.CodeOf(err) != api.CodeTooLarge {
		t.Errorf("10,001 tasks: %v", err)
	}
}

// TestWhiteSpaceIsNoPayload: insignificant white space in JSON does not count. White space in strings does.
func TestWhiteSpaceIsNoPayload(t *testing.T) {
	space := strings.Repeat(" \n\t\r", api.MaxInline)
	for text, ok := range map[string]bool{
		"[" + space + `"a\\" ,` + space + `"b\"c" ]`:                  true,
		`["\\",` + space + `"]"]`:                                     true,
		`"` + strings.Repeat(" ", api.MaxInline-2) + `"`:              true,
		`"` + strings.Repeat(" ", api.MaxInline-1) + `"`:              false,
		`["\"` + strings.Repeat(" ", api.MaxInline) + `"]`:            false,
		`["\\\"` + strings.Repeat(" ", api.MaxInline) + `"]`:          false,
		"[" + space + `"` + strings.Repeat("x", api.MaxInline) + `"]`: false,
	} {
		r := api.HeartbeatRequest{ID: "task", Token: 1, Progress: []byte(text)}
		if err := r.Check(); (err == nil) != ok {
			t.Errorf("%.20q…: %v", strings.TrimSpace(text), err)
		}
	}
}
