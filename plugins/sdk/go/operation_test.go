package sdk_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
	"github.com/taskrt/taskrt/plugins/sdk/go/tinyjson"
)

// TestOperationTask: the texts are what node/view/params.go composes.
func TestOperationTask(t *testing.T) {
	for text, want := range map[string]sdk.OperationTask{
		`{"operation":"op-1","partition":"a-f","target":"orders","object":"by-city","arg":{"n":[1, 2]}}`: {
			Operation: "op-1", Partition: "a-f", Target: "orders", Object: "by-city", Arg: []byte(`{"n":[1, 2]}`),
		},
		`{"operation":"op-1","partition":"0","target":"","object":"","arg":null,"token":18}`: {
			Operation: "op-1", Partition: "0", Token: 18, Arg: []byte("null"),
		},
		`{"operation":"op-1","success":false,"counts":{"waiting":0,"running":0,"retrying":0,"success":7,"failure":2},"target":"t","object":"","arg":"x"}`: {
			Operation: "op-1", Target: "t", Succeeded: 7, Failed: 2, Arg: []byte(`"x"`),
		},
		`{"operation":"op-1","success":true,"counts":{"success":9,"failure":0},"target":"t","object":"","arg":1}`: {
			Operation: "op-1", Target: "t", Success: true, Succeeded: 9, Arg: []byte("1"),
		},
	} {
		seen, r := operationTask(t, text)
		if r.Outcome != abi.OutcomeOK {
			t.Errorf("%s: %v", text, r)
		}
		if !reflect.DeepEqual(seen, want) {
			t.Errorf("%s: %+v with the argument %s", text, seen, seen.Arg)
		}
	}
}

func operationTask(t *testing.T, params string) (seen sdk.OperationTask, r sdktest.Result) {
	t.Helper()
	r = run(t, &sdktest.Host{Params: []byte(params)}, func(c *sdk.Context) (err error) {
		seen, err = c.OperationTask()
		return err
	})
	return seen, r
}

func TestNotATaskOfAnOperation(t *testing.T) {
	for _, text := range []string{"", "7", "{}", `{"partition":"0"}`, `{"operation":1}`, `{"operation":"op-1","target":tru}`} {
		_, r := operationTask(t, text)
		if r.Outcome != abi.OutcomePermanent || r.Code != "bad_params" {
			t.Errorf("%q: %v", text, r)
		}
	}
}

func TestBlobName(t *testing.T) {
	name := sdktest.BlobName([]byte("hello"))
	for text, want := range map[string]string{
		`{"$blob":"` + name + `"}`:                               name,
		`{"$blob":"` + name + `","more":1}`:                      "",
		`{"$blob":"` + name[:70] + `"}`:                          "",
		`{"$blob":"` + strings.Replace(name, ":", "-", 1) + `"}`: "",
		`{"$blob":7}`:             "",
		`"` + name + `"`:          "",
		`["` + name + `"]`:        "",
		`{"blob":"` + name + `"}`: "",
	} {
		v, err := tinyjson.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := sdk.BlobName(v); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %v", text, got, ok)
		}
	}
}
