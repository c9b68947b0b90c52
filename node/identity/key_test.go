package identity

import (
	"errors"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

func TestConcurrencyKey(t *testing.T) {
	for _, tt := range []struct{ pointer, params, want string }{
		{"", `{"user":"ann"}`, ""},
		{"/user", `{"user":"ann"}`, `"ann`},
		{"/user", `{"user":"1"}`, `"1`},
		{"/user", `{"user":1}`, `1`},
		{"/user", `{"user":1.0}`, `1`},
		{"/user", `{"user":"a\u00e9\n"}`, "\"a\u00e9\n"},
		{"/user", `{"user":null}`, `null`},
		{"/user", `{"user":true}`, `true`},
		{"/user", `{"user":{"b":1,"a":[2]}}`, `{"a":[2],"b":1}`},
		{"/user", `{"other":1}`, ""},
		{"/user", `[1]`, ""},
		{"/user", `"user"`, ""},
		{"/user/0/a~1b", `{"user":[{"a/b":7}]}`, `7`},
		{"/user", `{"user":""}`, `"`},
		{"/user", `{"user":"` + strings.Repeat("x", 256) + `"}`, `"` + strings.Repeat("x", 256)},
	} {
		got, err := ConcurrencyKey(&task.Policy{ConcurrencyKey: tt.pointer}, task.Payload{Encoding: task.JSON, Data: []byte(tt.params)})
		if err != nil || got != tt.want {
			t.Errorf("%q of %.60s: %q, %v, want %q", tt.pointer, tt.params, got, err, tt.want)
		}
	}
	for _, p := range []task.Payload{{}, {Encoding: task.Bytes, Data: []byte("user")}} {
		if got, err := ConcurrencyKey(&task.Policy{ConcurrencyKey: "/user"}, p); got != "" || err != nil {
			t.Errorf("%+v: %q, %v", p, got, err)
		}
	}
}

func TestConcurrencyKeyRefuses(t *testing.T) {
	for _, tt := range []struct {
		params string
		limit  int64
	}{
		{`{"user":"` + strings.Repeat("x", 257) + `"}`, 256},
		{`{"user":[` + strings.Repeat("1,", 128) + `1]}`, 256},
		{`{"user":9007199254740993}`, 0}, // it would share its neighbour's key
		{`{"user":{"a":1,"a":2}}`, 0},
		{`{"user":"\ud800"}`, 0}, // it would share the key of "\ud801"
		{`{"user":["\ud800"]}`, 0},
	} {
		_, err := ConcurrencyKey(&task.Policy{ConcurrencyKey: "/user"}, task.Payload{Encoding: task.JSON, Data: []byte(tt.params)})
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.CodeInvalidParams || e.Field != "params/user" || e.Limit != tt.limit || e.Status != 422 {
			t.Errorf("%.60s: %+v", tt.params, err)
		}
	}
}
