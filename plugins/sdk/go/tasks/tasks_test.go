package tasks_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/plugins/plugintest"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
	"github.com/taskrt/taskrt/plugins/sdk/go/tasks"
)

// body is what the behavior does in the test that runs now.
var body func(*sdk.Context) error

func init() {
	sdk.Register(sdk.Behavior{Name: "any", Run: func(c *sdk.Context) error { return body(c) }})
}

func run(t *testing.T, h *sdktest.Host, f func(*sdk.Context) error) sdktest.Result {
	t.Helper()
	body = f
	return sdktest.Run(t, "any", h)
}

// submitted is the one child that comes of a task.
func submitted(t *testing.T, task tasks.Task) (c sdktest.Child) {
	t.Helper()
	h := &sdktest.Host{Tasks: []string{"child"}}
	r := run(t, h, func(*sdk.Context) error {
		_, err := tasks.Submit(task)
		return err
	})
	if r.Outcome != abi.OutcomeOK || len(h.Children) != 1 {
		t.Errorf("%+v: %v with the children %+v", task, r, h.Children)
		return c
	}
	return h.Children[0]
}

func TestManifestRequires(t *testing.T) {
	if got := string(sdktest.Manifest()); !strings.HasPrefix(got, `{"schema":1,"requires":["tasks"],"behaviors":[{"name":"any"}`) {
		t.Error(got)
	}
}

func TestSubmit(t *testing.T) {
	at := time.Date(2026, 11, 24, 5, 6, 7, 89_000_000, time.UTC)
	for name, c := range map[string]struct {
		task tasks.Task
		want sdktest.Child
	}{
		"least": {tasks.Task{Behavior: "child"}, sdktest.Child{Behavior: "child", Priority: 4}},
		"most": {
			tasks.Task{
				Behavior: "child", ID: "the-child", Params: []byte(`{"a":[1,"ü"]}`), Labels: map[string]string{"b": `"`, "a": "1"}, Priority: 9,
				NotBefore: sdk.Time(at.UnixMilli()), Deadline: sdk.Time(at.Add(time.Hour).UnixMilli()), IfExists: tasks.Fail,
			},
			sdktest.Child{
				Behavior: "child", ID: "the-child", Params: []byte(`{"a":[1,"ü"]}`), Labels: map[string]string{"b": `"`, "a": "1"}, Priority: 9,
				NotBefore: at, Deadline: at.Add(time.Hour), IfExists: "fail",
			},
		},
		"other ways": {
			tasks.Task{Behavior: "child", ParamsBytes: []byte{0, 0xff}, Priority: tasks.Lowest, Delay: 90 * sdk.Second, IfExists: tasks.Join},
			sdktest.Child{Behavior: "child", ParamsBytes: []byte{0, 0xff}, Delay: 90 * time.Second, IfExists: "join"},
		},
		"raw":        {tasks.Task{Behavior: "child", Params: json.RawMessage(`[1]`)}, sdktest.Child{Behavior: "child", Params: []byte(`[1]`), Priority: 4}},
		"no params":  {tasks.Task{Behavior: "child", Params: []byte(nil)}, sdktest.Child{Behavior: "child", Priority: 4}},
		"rounded up": {tasks.Task{Behavior: "child", Delay: 1}, sdktest.Child{Behavior: "child", Priority: 4, Delay: time.Millisecond}},
	} { // order-free: independent runs
		if got := submitted(t, c.task); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, c.want)
		}
	}
}

// TestTimes compares with package time, over leap years and ends of months, and with all lengths of params in base64.
func TestTimes(t *testing.T) {
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC)
	times := []time.Time{time.UnixMilli(1).UTC(), last}
	for day := time.Date(1999, 12, 25, 1, 2, 3, 4_000_000, time.UTC); day.Year() < 2005; day = day.Add(37*time.Hour + 1234*time.Millisecond) {
		times = append(times, day)
	}
	for year := 1970; year < 9999; year += 97 {
		times = append(times, time.Date(year, 2, 28, 23, 59, 59, 0, time.UTC).Add(time.Second), time.Date(year, 3, 1, 0, 0, 0, 0, time.UTC).Add(-time.Millisecond))
	}
	for _, at := range times {
		if got := submitted(t, tasks.Task{Behavior: "child", Deadline: sdk.Time(at.UnixMilli())}); !got.Deadline.Equal(at) {
			t.Fatalf("%v became %v", at, got.Deadline)
		}
	}
}

func TestBytes(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i * 7)
		if got := submitted(t, tasks.Task{Behavior: "child", ParamsBytes: all[:i]}); !bytes.Equal(got.ParamsBytes, all[:i]) || got.ParamsBytes == nil {
			t.Fatalf("%x became %x", all[:i], got.ParamsBytes)
		}
	}
}

// TestOnlySuccessSubmits: an attempt that ends in any other way has no children; one after it has its own.
func TestOnlySuccessSubmits(t *testing.T) {
	h := &sdktest.Host{Tasks: []string{"child"}}
	for i, end := range []error{errors.New("oh"), sdk.Fail("no", "no"), sdk.ErrCancelled, sdk.Yield(0), nil, nil} {
		run(t, h, func(*sdk.Context) error {
			for k := range 3 {
				n, err := tasks.Submit(tasks.Task{Behavior: "child", Params: fmt.Append(nil, 10*i+k)})
				if err != nil || n != k {
					t.Errorf("child %d: %d, %v", k, n, err)
				}
			}
			return end
		})
	}
	var got []string
	for _, c := range h.Children {
		got = append(got, string(c.Params))
	}
	if strings.Join(got, " ") != "40 41 42 50 51 52" {
		t.Error(got)
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		task tasks.Task
		hook error
		want error
		why  string // in the error or in the log
	}{
		"no behavior":   {tasks.Task{}, nil, sdk.ErrInvalid, "behavior"},
		"both":          {tasks.Task{Behavior: "child", Params: []byte("1"), ParamsBytes: []byte("1")}, nil, sdk.ErrInvalid, "params"},
		"no JSON":       {tasks.Task{Behavior: "child", Params: []byte(`1},"id":{"a":1`)}, nil, sdk.ErrInvalid, "params: JSON:"},
		"empty":         {tasks.Task{Behavior: "child", Params: []byte{}}, nil, sdk.ErrInvalid, "params: JSON:"},
		"another type":  {tasks.Task{Behavior: "child", Params: 7}, nil, sdk.ErrInvalid, "sdkjson"},
		"priority":      {tasks.Task{Behavior: "child", Priority: 10}, nil, sdk.ErrInvalid, "priority"},
		"long ago":      {tasks.Task{Behavior: "child", NotBefore: -1}, nil, sdk.ErrInvalid, "not_before: out of range"},
		"year 10000":    {tasks.Task{Behavior: "child", Deadline: 253402300800000}, nil, sdk.ErrInvalid, "deadline: out of range"},
		"delay":         {tasks.Task{Behavior: "child", Delay: -sdk.Second}, nil, sdk.ErrInvalid, "delay"},
		"delay and at":  {tasks.Task{Behavior: "child", Delay: 1, NotBefore: 1}, nil, sdk.ErrInvalid, "delay"},
		"if_exists":     {tasks.Task{Behavior: "child", IfExists: "rerun"}, nil, sdk.ErrInvalid, "if_exists"},
		"not granted":   {tasks.Task{Behavior: "another"}, nil, sdk.ErrDenied, "child another: not granted"},
		"denied":        {tasks.Task{Behavior: "child"}, sdk.ErrDenied, sdk.ErrDenied, "not granted"},
		"lease lost":    {tasks.Task{Behavior: "child"}, sdk.ErrLeaseLost, sdk.ErrLeaseLost, "lease"},
		"a large child": {tasks.Task{Behavior: "child", ParamsBytes: make([]byte, 48<<10)}, nil, sdk.ErrTooLarge, "65536"},
	} { // order-free: independent runs
		h := &sdktest.Host{Tasks: []string{"child"}}
		if c.hook != nil {
			h.OnSubmit = func(sdktest.Child) error { return c.hook }
		}
		run(t, h, func(*sdk.Context) error {
			_, err := tasks.Submit(c.task)
			if said := fmt.Sprint(err, h.Logs); !errors.Is(err, c.want) || !strings.Contains(said, c.why) {
				t.Errorf("%s: %s, want %v with %q", name, said, c.want, c.why)
			}
			return nil
		})
		if len(h.Children) > 0 {
			t.Errorf("%s: %+v", name, h.Children)
		}
	}
	if _, err := tasks.Submit(tasks.Task{Behavior: "child"}); !errors.Is(err, sdk.ErrDenied) { // as in init
		t.Errorf("outside of an attempt: %v", err)
	}
}

func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		params []byte
		most   int
	}{"of children": {[]byte("1"), abi.MaxChildren}, "of bytes": {make([]byte, 45<<10), 8}} { // order-free: independent runs
		h := &sdktest.Host{Tasks: []string{"child"}}
		run(t, h, func(*sdk.Context) error {
			for i := range c.most + 1 {
				_, err := tasks.Submit(tasks.Task{Behavior: "child", ParamsBytes: c.params})
				if i < c.most != (err == nil) || err != nil && !errors.Is(err, sdk.ErrTooLarge) {
					t.Fatalf("%s: child %d: %v", name, i, err)
				}
			}
			return nil
		})
		if len(h.Children) != c.most {
			t.Errorf("%s: %d", name, len(h.Children))
		}
	}
}

func TestLeaseLost(t *testing.T) {
	h := &sdktest.Host{Tasks: []string{"child"}, OnBeat: func(int) sdk.Signals { return sdk.SignalLeaseLost }}
	run(t, h, func(c *sdk.Context) error {
		c.Heartbeat(0, 0)
		if _, err := tasks.Submit(tasks.Task{Behavior: "child"}); !errors.Is(err, sdk.ErrLeaseLost) {
			t.Error(err)
		}
		return nil
	})
}

// TestGuest is the same in a sandbox.
func TestGuest(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a guest with the Go toolchain")
	}
	m := plugintest.Load(t, plugintest.BuildGo(t, "testdata/guest"))
	if !strings.Contains(string(m.Manifest()), `"requires":["tasks"]`) {
		t.Errorf("%s", m.Manifest())
	}
	h := &plugintest.Host{Params: []byte(`{"a":1}`), Tasks: []string{"child"}}
	m.Run(t, "parent", h).WantResult(t, "0")
	want := []sdktest.Child{{Behavior: "child", Params: []byte(`{"a":1}`), Priority: 7}}
	if !reflect.DeepEqual(h.Children, want) {
		t.Errorf("%+v, want %+v", h.Children, want)
	}
	r := m.Run(t, "parent", &plugintest.Host{Params: h.Params})
	if r.WantError(t, "HANDLER_ERROR", true); r.Message != "child child: not granted to this behavior" {
		t.Error(r)
	}
}
