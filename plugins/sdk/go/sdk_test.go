package sdk_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/abi"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
)

// body is what the behavior "any" does in the test that runs now.
var body func(*sdk.Context) error

func init() {
	sdk.Register(sdk.Behavior{Name: "any", Run: func(c *sdk.Context) error { return body(c) }})
	sdk.Register(sdk.Behavior{
		Name: "full", Description: `says "all"`, Run: func(*sdk.Context) error { return nil },
		ID: sdk.ID{Strategy: sdk.IDParams, From: []string{"/to", "/a~1b"}},
		Retry: sdk.Retry{MaxAttempts: sdk.Unlimited, InitialInterval: 200 * sdk.Millisecond, MultiplierThousandths: 1500,
			MaxInterval: sdk.Hour, JitterPercent: sdk.NoJitter},
		RunTimeout: sdk.Minute, HeartbeatTimeout: 10 * sdk.Second, CancelGrace: sdk.Second,
		RepeatEvery: sdk.Minute, RepeatOnError: true, Concurrency: sdk.Concurrency{Max: 5, Key: "/to", PerKey: 2, Strict: true},
		Limits: sdk.Limits{Memory: 1 << 20, Fuel: 1 << 40, Params: 1, Result: 2, Checkpoint: 3, Log: 4},
		OnTrap: sdk.OnErrorFail, OnTimeout: sdk.OnErrorRetry, OnExhausted: sdk.OnErrorFail, MaxLost: 3,
		ResultRequired: true, ParamsSchema: `{"type":"object"}`, ResultSchema: `true`,
		KeepSuccess: sdk.Hour, KeepFailure: sdk.Forever, KeepCount: 5,
	})
	sdk.Register(sdk.Behavior{
		Name: "fan", Run: func(*sdk.Context) error { return nil },
		Operation: &sdk.Operation{
			Concurrency: sdk.OnePerObject, IncompatibleWith: []string{"one", "two"}, RunAll: true, Restart: true, Complete: "any", Cleanup: "full",
		},
	})
}

func run(t *testing.T, h *sdktest.Host, f func(*sdk.Context) error) sdktest.Result {
	t.Helper()
	body = f
	return sdktest.Run(t, "any", h)
}

func TestManifest(t *testing.T) {
	want := `{"schema":1,"behaviors":[{"name":"any"},{"name":"full","description":"says \"all\"",` +
		`"id":{"strategy":"params","from":["/to","/a~1b"]},` +
		`"retry":{"max_attempts":0,"initial_interval":"200ms","multiplier_thousandths":1500,"max_interval":"3600000ms","jitter_percent":0},` +
		`"run_timeout":"60000ms","heartbeat_timeout":"10000ms","cancel_grace":"1000ms","repeat_every":"60000ms","repeat_on":"any",` +
		`"limits":{"memory_bytes":1048576,"fuel":1099511627776,"params_bytes":1,"result_bytes":2,"checkpoint_bytes":3,"log_bytes":4},` +
		`"on_trap":"fail","on_timeout":"retry","on_exhausted":"fail","max_lost":3,` +
		`"max_concurrent":5,"concurrency_key":"/to","max_per_key":2,"key_order":"strict",` +
		`"retention":{"success":"3600000ms","failure":"never","count":5},` +
		`"result":"required","params_schema":{"type":"object"},"result_schema":true},` +
		`{"name":"fan","operation":{"concurrency":"one_per_object","incompatible_with":["one","two"],"on_failure":"run_all",` +
		`"resume":"restart","complete":"any","cleanup":"full"}}]}`
	if got := string(sdktest.Manifest()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRegisterPanics(t *testing.T) {
	ok := func(*sdk.Context) error { return nil }
	for _, b := range []sdk.Behavior{
		{Name: "ab", Run: ok}, {Name: "Upper", Run: ok}, {Name: "a b c", Run: ok}, {Name: strings.Repeat("x", 129), Run: ok},
		{Name: "any", Run: ok}, {Name: "nothing"},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Register(%q) did not panic", b.Name)
				}
			}()
			sdk.Register(b)
		}()
	}
}

// TestOutcomes is the table of what an error of Run means.
func TestOutcomes(t *testing.T) {
	failed := sdk.Fail("no_such_user", "nobody")
	at := sdk.Time(1234)
	for name, c := range map[string]struct {
		err  error
		want sdktest.Result
	}{
		"nil":              {nil, sdktest.Result{Outcome: abi.OutcomeOK}},
		"plain":            {errors.New("oh"), sdktest.Result{Outcome: abi.OutcomeRetryable, Message: "oh"}},
		"fail":             {failed, sdktest.Result{Outcome: abi.OutcomePermanent, Code: "no_such_user", Message: "nobody"}},
		"wrapped":          {fmt.Errorf("mail: %w", failed), sdktest.Result{Outcome: abi.OutcomePermanent, Code: "no_such_user", Message: "mail: no_such_user: nobody"}},
		"retryable":        {sdk.Retryable("busy", "later"), sdktest.Result{Outcome: abi.OutcomeRetryable, Code: "busy", Message: "later"}},
		"permanent plain":  {sdk.Permanent(errors.New("oh")), sdktest.Result{Outcome: abi.OutcomePermanent, Message: "oh"}},
		"permanent coded":  {sdk.Permanent(sdk.Retryable("busy", "later")), sdktest.Result{Outcome: abi.OutcomePermanent, Code: "busy", Message: "later"}},
		"joined":           {errors.Join(errors.New("one"), failed), sdktest.Result{Outcome: abi.OutcomePermanent, Code: "no_such_user", Message: "one\nno_such_user: nobody"}},
		"details":          {&sdk.Error{Code: "c", Message: "m", Details: []byte(`[1]`)}, sdktest.Result{Outcome: abi.OutcomePermanent, Code: "c", Message: "m", Details: []byte(`[1]`)}},
		"details no JSON":  {&sdk.Error{Code: "c", Details: []byte("{")}, sdktest.Result{Outcome: abi.OutcomePermanent, Code: "c", Details: []byte(`"{"`)}},
		"retry at":         {sdk.RetryAt(sdk.Retryable("busy", "later"), at), sdktest.Result{Outcome: abi.OutcomeRetryable, Code: "busy", Message: "later", Next: at}},
		"retry at plain":   {sdk.RetryAt(errors.New("oh"), at), sdktest.Result{Outcome: abi.OutcomeRetryable, Message: "oh", Next: at}},
		"retry at of fail": {sdk.RetryAt(failed, at), sdktest.Result{Outcome: abi.OutcomeRetryable, Code: "no_such_user", Message: "nobody", Next: at}},
		"yield":            {sdk.Yield(0), sdktest.Result{Outcome: abi.OutcomeYield}},
		"yield at":         {sdk.Yield(at), sdktest.Result{Outcome: abi.OutcomeYield, Next: at}},
		"cancelled":        {sdk.ErrCancelled, sdktest.Result{Outcome: abi.OutcomeCancelled}},
		"cancelled within": {fmt.Errorf("x: %w", errors.Join(sdk.ErrUnavailable, sdk.ErrCancelled)), sdktest.Result{Outcome: abi.OutcomeCancelled}},
		"host's error":     {sdk.ErrTooLarge, sdktest.Result{Outcome: abi.OutcomeRetryable, Message: sdk.ErrTooLarge.Error()}},
	} {
		got := run(t, &sdktest.Host{}, func(*sdk.Context) error { return c.err })
		if got.String() != c.want.String() {
			t.Errorf("%s:\ngot  %v\nwant %v", name, got, c.want)
		}
	}
	if sdk.Permanent(nil) != nil {
		t.Error("Permanent(nil) is an error")
	}
	if p := sdk.Permanent(failed); !errors.Is(p, failed) {
		t.Error("Permanent hides its cause")
	}
}

func TestPanicIsARetryableFailure(t *testing.T) {
	for want, f := range map[string]func(*sdk.Context) error{
		"panic: oh":                             func(*sdk.Context) error { panic("oh") },
		"panic: assignment to entry in nil map": func(*sdk.Context) error { var m map[int]int; m[1] = 1; return nil }, //nolint:staticcheck // the panic is the point
		"panic: 7":                              func(*sdk.Context) error { panic(7) },
		"panic: a value of another type":        func(*sdk.Context) error { panic([]int{}) },
	} {
		h := &sdktest.Host{}
		got := run(t, h, f)
		if got.Outcome != abi.OutcomeRetryable || got.Message != want || got.Code != "" {
			t.Errorf("got %v, want message %q", got, want)
		}
		if len(h.Logs) != 1 || h.Logs[0].Level != sdk.LevelError || !strings.Contains(h.Logs[0].Message, "sdk_test.go") {
			t.Errorf("the stack is not in the log: %q", h.Logs)
		}
	}
}

func TestResult(t *testing.T) {
	got := run(t, &sdktest.Host{}, func(c *sdk.Context) error {
		c.SetResult([]byte("1"))
		c.SetResult([]byte("22"))
		c.RunAgain(5)
		return nil
	})
	if string(got.Result) != "22" || got.Next != 5 {
		t.Errorf("the last result should win: %v", got)
	}
	got = run(t, &sdktest.Host{}, func(c *sdk.Context) error { c.SetResult(nil); return nil })
	if got.Result == nil {
		t.Error("an empty result is a result")
	}
	got = run(t, &sdktest.Host{}, func(c *sdk.Context) error { c.SetResult([]byte("1")); return errors.New("no") })
	if got.Result != nil || got.Outcome != abi.OutcomeRetryable {
		t.Errorf("a failure has no result: %v", got)
	}
	got = run(t, &sdktest.Host{MaxResult: 10}, func(c *sdk.Context) error { c.SetResult(make([]byte, 11)); return nil })
	if got.Outcome != abi.OutcomePermanent || got.Code != "too_big" || !strings.Contains(got.Message, "11 bytes") {
		t.Errorf("a result over the limit: %v", got)
	}
}

func TestLongMessages(t *testing.T) {
	long := strings.Repeat("é", 10_000)
	got := run(t, &sdktest.Host{}, func(*sdk.Context) error { return errors.New("x" + long) })
	if n := len(got.Message); n < 4000 || n > 4096 || !strings.HasPrefix("x"+long, got.Message) {
		t.Errorf("a long message should be cut between runes, got %d bytes", n)
	}
	got = run(t, &sdktest.Host{}, func(*sdk.Context) error {
		return &sdk.Error{Code: "big", Message: "m", Details: []byte(`"` + strings.Repeat("x", 20_000) + `"`)}
	})
	if got.Code != "big" || got.Message != "m" || got.Details != nil {
		t.Errorf("details that are too big should go: %.100v", got.String())
	}
}

func TestInput(t *testing.T) {
	h := &sdktest.Host{Params: bytes.Repeat([]byte("ab"), 5000), Config: []byte("cfg"), Info: abi.TaskInfo{
		Namespace: "ns", ID: "the-id", Version: "v", Attempt: 2, MaxAttempts: 5, Failures: 1, Token: 77, Parent: "p", Partition: "3",
		DeadlineMS: 10, CreatedMS: 9, Labels: map[string]string{"a": "b"}, Node: "n1", Worker: "w", Priority: 4,
	}}
	run(t, h, func(c *sdk.Context) error {
		if string(c.Params()) != string(h.Params) || string(c.Config()) != "cfg" {
			t.Error("params or config differ")
		}
		got := *c.Info()
		if len(got.Labels) != 1 || got.Labels["a"] != "b" || !json.Valid(got.Raw) {
			t.Errorf("info: %+v", got)
		}
		got.Labels, got.Raw = nil, nil
		want := sdk.Info{Namespace: "ns", ID: "the-id", Behavior: "any", Version: "v", Attempt: 3, MaxAttempts: 5, Failures: 1, Token: 77,
			Parent: "p", Partition: "3", Deadline: 10, Created: 9, Node: "n1", Worker: "w", Priority: 4}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("info:\ngot  %+v\nwant %+v", got, want)
		}
		return nil
	})
	run(t, &sdktest.Host{}, func(c *sdk.Context) error {
		if len(c.Params()) != 0 || c.Config() != nil || c.Info().Attempt != 1 {
			t.Error("the zero Host is a first attempt without params and config")
		}
		return nil
	})
}

func TestSignalsAndBeats(t *testing.T) {
	h := &sdktest.Host{OnBeat: func(n int) sdk.Signals {
		return []sdk.Signals{0, sdk.SignalDraining, sdk.SignalCancel, sdk.SignalLeaseLost, sdk.SignalDeadlineNear}[n-1]
	}}
	var seen []string
	run(t, h, func(c *sdk.Context) error {
		for i := range int64(5) {
			c.Note(fmt.Sprint("step ", i))
			s := c.Heartbeat(i, 5)
			if s != c.Signals() || s.Cancelled() != c.Cancelled() || s.Draining() != c.Draining() {
				t.Error("Heartbeat and Signals differ")
			}
			seen = append(seen, fmt.Sprint(s.Cancelled(), s.Draining(), s.LeaseLost(), s.DeadlineNear()))
		}
		return nil
	})
	want := []string{"false false false false", "false true false false", "true false false false", "true false true false", "false false false true"}
	if !slices.Equal(seen, want) {
		t.Errorf("signals: %q", seen)
	}
	if len(h.Beats) != 5 || h.Beats[4] != (sdktest.Beat{Done: 4, Total: 5}) || h.Notes[4] != "step 4" {
		t.Errorf("beats %v, notes %q", h.Beats, h.Notes)
	}
}

func TestCheckpoint(t *testing.T) {
	h := &sdktest.Host{}
	run(t, h, func(c *sdk.Context) error {
		if _, ok := c.Checkpoint(); ok {
			t.Error("a first attempt has no checkpoint")
		}
		if err := c.SaveCheckpoint([]byte("one")); err != nil {
			t.Error(err)
		}
		if cp, ok := c.Checkpoint(); !ok || string(cp) != "one" {
			t.Errorf("read %q back", cp)
		}
		return c.SaveCheckpoint(nil)
	})
	run(t, h, func(c *sdk.Context) error {
		if cp, ok := c.Checkpoint(); !ok || len(cp) != 0 {
			t.Errorf("the next attempt should find the empty checkpoint: %q, %v", cp, ok)
		}
		return nil
	})
	for _, want := range []error{sdk.ErrLeaseLost, sdk.ErrTooLarge, sdk.ErrUnavailable, sdk.ErrDenied, sdk.ErrUnsupported, sdk.ErrInvalid} {
		h := &sdktest.Host{OnSave: func([]byte) error { return want }}
		run(t, h, func(c *sdk.Context) error {
			if err := c.SaveCheckpoint([]byte("x")); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
			return nil
		})
	}
}

func TestClocksAndRandom(t *testing.T) {
	h := &sdktest.Host{Now: time.UnixMilli(1000), Timeout: 10 * time.Second, BeatTakes: 3 * time.Second}
	run(t, h, func(c *sdk.Context) error {
		before := c.Elapsed()
		if c.Now() != 1000 || c.Deadline() != 11_000 || c.Remaining() != 10*sdk.Second {
			t.Errorf("now %v, deadline %v, remaining %v", c.Now(), c.Deadline(), c.Remaining())
		}
		c.Heartbeat(0, 0)
		if c.Elapsed()-before != 3*sdk.Second || c.Now() != sdk.Time(1000).Add(3*sdk.Second) || c.Now().Sub(1000) != 3*sdk.Second || c.Remaining() != 7*sdk.Second {
			t.Error("a heartbeat should move the clocks")
		}
		a, b := make([]byte, 100_000), make([]byte, 100_000)
		if err := errors.Join(c.Random(a), c.Random(b), c.Random(nil)); err != nil {
			t.Error(err)
		}
		if bytes.Equal(a, b) || bytes.Count(a[70_000:], []byte{0}) > 1000 {
			t.Error("not random")
		}
		return nil
	})
}

func TestLog(t *testing.T) {
	h := &sdktest.Host{}
	run(t, h, func(c *sdk.Context) error { c.Log(sdk.LevelWarn, "careful"); return nil })
	if len(h.Logs) != 1 || h.Logs[0] != (sdktest.Log{Level: sdk.LevelWarn, Message: "careful"}) {
		t.Errorf("%v", h.Logs)
	}
}

// TestNameGoesBeforeIndex: a manifest given at upload may list the behaviors in another order.
func TestNameGoesBeforeIndex(t *testing.T) {
	ran := false
	body = func(*sdk.Context) error { ran = true; return nil }
	sdktest.RunIndex(t, 1, &sdktest.Host{Info: abi.TaskInfo{Behavior: "any"}})
	if !ran {
		t.Error("the task's behavior should win over the index")
	}
	ran = false
	sdktest.RunIndex(t, 0, &sdktest.Host{Info: abi.TaskInfo{Behavior: "renamed"}})
	if !ran {
		t.Error("a renamed behavior is found by index")
	}
	if r := sdktest.RunIndex(t, 9, &sdktest.Host{}); r.Outcome != abi.OutcomePermanent || r.Code != "unknown_behavior" {
		t.Errorf("%v", r)
	}
}
