package sdkjson_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/taskrt/taskrt/abi"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdkjson"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
	"github.com/taskrt/taskrt/plugins/sdk/go/tasks"
)

type params struct {
	N int `json:"n"`
}

type result struct {
	Double int `json:"double"`
}

func double(_ *sdk.Context, p params) (result, error) {
	if p.N < 0 {
		return result{}, errors.New("negative")
	}
	return result{2 * p.N}, nil
}

// resume counts its attempts in checkpoints.
func resume(c *sdk.Context) error {
	var n params
	sdkjson.Checkpoint(c, &n)
	n.N++
	if err := sdkjson.SaveCheckpoint(c, n); err != nil {
		return err
	}
	return sdkjson.SetResult(c, n)
}

func parent(*sdk.Context) error {
	if _, err := tasks.Submit(tasks.Task{Behavior: "double", Params: func() {}}); !errors.Is(err, sdk.ErrInvalid) {
		return fmt.Errorf("a function became params: %w", err)
	}
	_, err := tasks.Submit(tasks.Task{Behavior: "double", Params: params{7}})
	return err
}

func init() {
	sdk.Register(sdk.Behavior{Name: "parent", Run: parent})
	sdk.Register(sdk.Behavior{Name: "double", Run: sdkjson.Handler(double)})
	sdk.Register(sdk.Behavior{Name: "resume", Run: resume})
	sdk.Register(sdk.Behavior{Name: "unmarshalable", Run: sdkjson.Handler(func(*sdk.Context, any) (any, error) { return func() {}, nil })})
}

func TestHandler(t *testing.T) {
	for in, want := range map[string]sdktest.Result{
		`{"n":21}`:     {Outcome: abi.OutcomeOK, Result: []byte(`{"double":42}`)},
		``:             {Outcome: abi.OutcomeOK, Result: []byte(`{"double":0}`)},
		`null`:         {Outcome: abi.OutcomeOK, Result: []byte(`{"double":0}`)},
		`{"n":-1}`:     {Outcome: abi.OutcomeRetryable, Message: "negative"},
		`{"n":"x"}`:    {Outcome: abi.OutcomePermanent, Code: "bad_params"},
		`{"m":1}`:      {Outcome: abi.OutcomePermanent, Code: "bad_params"},
		`{"n":1} {}`:   {Outcome: abi.OutcomePermanent, Code: "bad_params"},
		"\x00\x01\xff": {Outcome: abi.OutcomePermanent, Code: "bad_params"},
	} {
		got := sdktest.Run(t, "double", &sdktest.Host{Params: []byte(in)})
		if got.Code == sdkjson.CodeBadParams && got.Message != "" {
			got.Message = "" // encoding/json's
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q:\ngot  %v\nwant %v", in, got, want)
		}
	}
	if got := sdktest.Run(t, "unmarshalable", &sdktest.Host{}); got.Outcome != abi.OutcomePermanent {
		t.Errorf("a result that is no JSON: %v", got)
	}
}

func TestCheckpoint(t *testing.T) {
	h := &sdktest.Host{}
	for _, want := range []string{`{"n":1}`, `{"n":2}`} {
		if got := sdktest.Run(t, "resume", h); string(got.Result) != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	h.Checkpoint = []byte(`{"n":7,"of_an_older_version":true}`)
	if got := sdktest.Run(t, "resume", h); string(got.Result) != `{"n":1}` {
		t.Errorf("a checkpoint that does not decode counts as none: %v", got)
	}
}

// TestChildParams: where this package is linked, children take typed params too.
func TestChildParams(t *testing.T) {
	h := &sdktest.Host{Tasks: []string{"double"}}
	r := sdktest.Run(t, "parent", h)
	if r.Outcome != abi.OutcomeOK || len(h.Children) != 1 || string(h.Children[0].Params) != `{"n":7}` {
		t.Errorf("%v: %+v", r, h.Children)
	}
}
