package identity

import (
	"errors"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/names"
)

func jsonParams(s string) task.Payload { return task.Payload{Encoding: task.JSON, Data: []byte(s)} }

func TestDeterministicIDVectors(t *testing.T) {
	id := func(p task.Payload, from ...string) string {
		t.Helper()
		canonical, err := Canonical(p, from)
		if err != nil {
			t.Fatal(err)
		}
		return names.OfParams("default", "wordcount", canonical)
	}
	const want = "mwx52adtsbsqawfl2qcezxjducfsrvww" // SPEC I2
	if got := id(jsonParams(`{"text":"a b a"}`)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := id(jsonParams("{ \"text\" : \"a b \\u0061\" }")); got != want {
		t.Errorf("the same value written otherwise: %s", got)
	}
	if id(task.Payload{}) != id(jsonParams(`null`)) {
		t.Error("absent params are not null")
	}
	if id(task.Payload{Encoding: task.Bytes, Data: []byte("hi")}) != id(jsonParams(`"aGk="`)) {
		t.Error("params_base64 is not that JSON string")
	}
	if id(jsonParams(`{"a":{"b~/c":[1,2]},"x":9}`), "/a/b~0~1c/1", "/x") != id(jsonParams(`[2,9]`)) {
		t.Error("pointers do not pick an array of their values")
	}
	if id(jsonParams(`{"b":1,"a":[1.0,1e2,-0]}`)) != id(jsonParams(`{"a":[1,100,0],"b":1}`)) {
		t.Error("not canonical")
	}
}

func TestAmbiguousParamsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		params string
		from   []string
		field  string
	}{
		"integer beyond 2^53":       {params: `{"n":9007199254740993}`},
		"more digits than a double": {params: `{"n":0.1000000000000000055}`},
		"overflow":                  {params: `[1e400]`},
		"underflow":                 {params: `[1e-999999999999999999999]`},
		"small underflow":           {params: `[1e-400]`},
		"duplicate key":             {params: `{"a":1,"a":1}`},
		"duplicate key, escaped":    {params: `{"a":1,"\u0061":2}`},
		"lone surrogate":            {params: `"\ud800"`},
		"surrogates in disorder":    {params: `"\udc00\ud800"`},
		"lone surrogate in a key":   {params: `{"\udead":1}`},
		"invalid UTF-8":             {params: "\"\xff\""},
		"pointer finds nothing":     {params: `{"a":1}`, from: []string{"/b"}, field: "params/b"},
		"pointer into a number":     {params: `{"a":1}`, from: []string{"/a/0"}, field: "params/a/0"},
		"index out of range":        {params: `[1]`, from: []string{"/1"}, field: "params/1"},
		"index with a zero":         {params: `[1,2]`, from: []string{"/01"}, field: "params/01"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Canonical(jsonParams(c.params), c.from)
			e, ok := errors.AsType[*api.Error](err)
			if !ok || e.Status != 422 || e.Code != api.CodeInvalidParams {
				t.Fatalf("got %v", err)
			}
			if c.field == "" {
				c.field = "params"
			}
			if strings.Contains(name, "surrogate") != strings.Contains(e.Detail, "half of a character") {
				t.Errorf("it says %q", e.Detail)
			}
			if e.Field != c.field {
				t.Errorf("field %q, want %q", e.Field, c.field)
			}
		})
	}
}

func TestExactNumbers(t *testing.T) {
	for _, s := range []string{"0", "-0", "0.0", "1", "0.1", "-12.5e-3", "9007199254740992", "1e21", "5e-324", "1.7976931348623157e308",
		"100000000000000000000", "0.30", "0e99999"} {
		if !exact(s) {
			t.Errorf("%s is refused", s)
		}
	}
	for _, s := range []string{"9007199254740993", "1e309", "1e-325", "0.1000000000000000055", "1" + strings.Repeat("0", 22) + "1"} {
		if exact(s) {
			t.Errorf("%s is accepted", s)
		}
	}
}
