package extworker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/extworker"
)

func TestOutcomes(t *testing.T) {
	at := time.UnixMilli(2_000_000).UTC()
	bad := errors.New("bad")
	cases := []struct {
		name   string
		result any
		err    error
		want   api.FinishRequest
	}{
		{"value", map[string]int{"n": 1}, nil, api.FinishRequest{Result: json.RawMessage(`{"n":1}`)}},
		{"raw", json.RawMessage(`[1]`), nil, api.FinishRequest{Result: json.RawMessage(`[1]`)}},
		{"bytes", []byte{1, 2}, nil, api.FinishRequest{ResultBase64: []byte{1, 2}}},
		{"no bytes", []byte{}, nil, api.FinishRequest{ResultBase64: []byte{}}},
		{"nothing", nil, nil, api.FinishRequest{}},
		{"error", nil, bad, api.FinishRequest{Error: &api.ReportError{Message: "bad"}}},
		{"permanent", nil, extworker.Permanent(bad), api.FinishRequest{Error: &api.ReportError{Message: "bad", Retryable: new(false)}}},
		{"code", nil, fmt.Errorf("more: %w", extworker.Code(bad, "disk.full")), api.FinishRequest{Error: &api.ReportError{Message: "more: bad", Code: "disk.full"}}},
		{"both", nil, extworker.Permanent(extworker.Code(bad, "x")), api.FinishRequest{Error: &api.ReportError{Message: "bad", Code: "x", Retryable: new(false)}}},
		{"retry at", nil, extworker.RetryAt(bad, at), api.FinishRequest{Error: &api.ReportError{Message: "bad"}, AgainAt: &api.Time{Time: at}}},
		{"permanent with a time", nil, extworker.RetryAt(extworker.Permanent(bad), at), api.FinishRequest{Error: &api.ReportError{Message: "bad", Retryable: new(false)}}},
		{"cannot be JSON", func() {}, nil, api.FinishRequest{Error: &api.ReportError{Message: "the result: json: unsupported type: func()", Retryable: new(false)}}},
		{"long", nil, errors.New(strings.Repeat("\xff", 5000)), api.FinishRequest{Error: &api.ReportError{Message: "\ufffd"}}},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			with(t, 1, func(context.Context, *extworker.Task) (any, error) { return k.result, k.err }, func(b *bench) {
				b.submit(1)
				got := *b.ended(1).finish
				if got.ID != "t-1" || got.Token != 1 || got.Seq == 0 {
					t.Errorf("%+v", got)
				}
				got.Namespace, got.ID, got.Token, got.Seq = "", "", 0, 0
				if err := (&api.FinishRequest{Namespace: "default", ID: "t-1", Token: 1, Result: got.Result, ResultBase64: got.ResultBase64, Error: got.Error, AgainAt: got.AgainAt}).Check(); err != nil {
					t.Errorf("a cluster would refuse it: %v", err)
				}
				if a, b := show(got), show(k.want); a != b {
					t.Errorf("got %s, want %s", a, b)
				}
			})
		})
	}
}

func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestPanicIsAnError(t *testing.T) {
	with(t, 1, func(context.Context, *extworker.Task) (any, error) { panic("oh") }, func(b *bench) {
		b.submit(1)
		if e := b.ended(1).finish.Error; e == nil || e.Message != "panic: oh" {
			t.Errorf("%+v", e)
		}
	})
}

// TestSnoozeAndAgain: a handler may ask to run again, with and without an outcome (SPEC R4, R5).
func TestSnoozeAndAgain(t *testing.T) {
	at := time.UnixMilli(3_000_000).UTC()
	with(t, 1, func(_ context.Context, x *extworker.Task) (any, error) {
		var p struct{ N int }
		if err := x.Params(&p); err != nil {
			return nil, err
		}
		switch p.N {
		case 1:
			return nil, extworker.Snooze(at)
		case 2:
			return nil, extworker.Snooze(time.Time{})
		}
		x.Again(at)
		return 7, nil
	}, func(b *bench) {
		b.submit(3)
		if s := b.ended(1).snooze; s == nil || !s.AgainAt.Equal(at) {
			t.Errorf("%+v", s)
		}
		if s := b.ended(2).snooze; s == nil || s.AgainAt != nil {
			t.Errorf("%+v", s)
		}
		if f := b.ended(3).finish; f == nil || !f.AgainAt.Equal(at) || string(f.Result) != "7" {
			t.Errorf("%+v", f)
		}
	})
}

// TestRenewsAtAThird: the loop renews each lease at a third of it (SPEC J7, L2).
func TestRenewsAtAThird(t *testing.T) {
	with(t, 1, func(ctx context.Context, _ *extworker.Task) (any, error) {
		time.Sleep(20 * time.Second)
		return 1, ctx.Err()
	}, func(b *bench) {
		b.submit(1)
		h := b.ended(1)
		if len(h.at) != 6 || h.at[0] != 3*time.Second || h.at[5] != 18*time.Second {
			t.Errorf("heartbeats at %v", h.at)
		}
		for _, r := range h.beats {
			if r.Seq != 0 || r.Progress != nil || r.Extend != nil {
				t.Errorf("a mere renewal says %+v", r)
			}
		}
		if h.finish.Error != nil {
			t.Errorf("%+v", h.finish.Error)
		}
	})
}

// TestHaltLostCancel: a handler's context ends when its token is dead (SPEC J7, L3).
func TestHaltLostCancel(t *testing.T) {
	var cause error
	var ended time.Duration
	began := time.Now
	run := func(f func(b *bench)) {
		with(t, 1, func(ctx context.Context, x *extworker.Task) (any, error) {
			start := began()
			<-ctx.Done()
			cause, ended = context.Cause(ctx), time.Since(start)
			return nil, cause
		}, f)
	}
	run(func(b *bench) {
		b.submit(1)
		b.after(time.Second)
		b.set(1, func(h *held) { h.halted = true })
		b.after(4 * time.Second)
		if !errors.Is(cause, extworker.ErrHalt) || ended != 3*time.Second {
			t.Errorf("halt: %v after %v", cause, ended)
		}
		b.after(time.Minute)
		if h := b.of(1); h.finish != nil || h.snooze != nil {
			t.Error("reported after a halt")
		}
	})
	run(func(b *bench) {
		b.failing(func(call string) (bool, error) {
			if call == "heartbeat" {
				return false, errors.New("connection refused")
			}
			return false, nil
		})
		b.submit(1)
		b.after(10 * time.Second)
		if !errors.Is(cause, extworker.ErrLost) || ended != lease {
			t.Errorf("lost: %v after %v", cause, ended)
		}
	})
	run(func(b *bench) {
		b.submit(1)
		b.after(time.Second)
		b.set(1, func(h *held) { h.cancel = true })
		b.after(4 * time.Second)
		if !errors.Is(cause, extworker.ErrCancelled) {
			t.Errorf("cancel: %v", cause)
		}
		if f := b.of(1).finish; f == nil || f.Error == nil {
			t.Errorf("a cancelled run says how it ended: %+v", f)
		}
	})
}

// TestRenewalAfterFailures: a lease that is renewed after failures lives on. It lasts from before the sending of the heartbeat
// that got through.
func TestRenewalAfterFailures(t *testing.T) {
	var fails atomic.Int64
	with(t, 1, func(ctx context.Context, _ *extworker.Task) (any, error) {
		time.Sleep(30 * time.Second)
		return 1, context.Cause(ctx)
	}, func(b *bench) {
		b.failing(func(call string) (bool, error) {
			if call == "heartbeat" && fails.Add(1)%4 != 0 {
				return false, api.NewError(api.CodeNoLeader, "none")
			}
			return false, nil
		})
		b.submit(1)
		if h := b.ended(1); h.finish.Error != nil {
			t.Errorf("%+v", h.finish.Error)
		}
	})
}

func TestProgressCheckpointExtend(t *testing.T) {
	with(t, 1, func(_ context.Context, x *extworker.Task) (any, error) {
		for i := range 50 {
			if err := x.Progress(i); err != nil {
				return nil, err
			}
			time.Sleep(100 * time.Millisecond)
		}
		if err := x.Checkpoint(map[string]int{"at": 50}); err != nil {
			return nil, err
		}
		if err := x.Extend(time.Minute); err != nil {
			return nil, err
		}
		time.Sleep(50 * time.Second)
		if !x.Resubmitted() {
			return nil, errors.New("not told that it was resubmitted")
		}
		return nil, x.Progress("end")
	}, func(b *bench) {
		b.submit(1)
		b.after(7 * time.Second)
		b.set(1, func(h *held) { h.resubmit = true })
		h := b.ended(1)
		var seq uint64
		progress, checkpoints, extends := 0, 0, 0
		for _, r := range h.beats {
			if r.Progress != nil {
				progress++
			}
			if r.Checkpoint != nil {
				checkpoints++
			}
			if r.Extend != nil {
				extends++
			}
			if r.Seq != 0 {
				if r.Seq <= seq {
					t.Errorf("numbers do not rise: %d after %d", r.Seq, seq)
				}
				seq = r.Seq
			}
		}
		if progress < 4 || progress > 7 || checkpoints != 1 || extends != 1 {
			t.Errorf("%d times progress in 5 s, %d checkpoints, %d extensions", progress, checkpoints, extends)
		}
		if len(h.beats) > 12 {
			t.Errorf("%d heartbeats: an extended lease is renewed at a third of it", len(h.beats))
		}
		last := h.finish.Result
		if last == nil { // it was just being sent: without a result, the last progress is the result
			last = h.beats[len(h.beats)-1].Progress
		}
		if h.finish.Error != nil || string(last) != `"end"` || h.finish.Seq <= seq {
			t.Errorf("%+v", h.finish)
		}
	})
}

// TestLostAnswersAreAskedForAgain: a call with an unknown outcome is made again, and is done once.
func TestLostAnswersAreAskedForAgain(t *testing.T) {
	var mu sync.Mutex
	calls := map[string]int{} // by kind: if all were counted together, one kind could fail again and again
	var runs atomic.Int64
	with(t, 4, func(context.Context, *extworker.Task) (any, error) {
		runs.Add(1)
		time.Sleep(5 * time.Second)
		return 1, nil
	}, func(b *bench) {
		b.failing(func(kind string) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			calls[kind]++
			if n := calls[kind]; n%3 != 0 {
				return n%2 == 0, api.NewError(api.CodeOutcomeUnknown, "lost")
			}
			return false, nil
		})
		b.submit(20)
		for token := uint64(1); token <= 20; token++ {
			if f := b.ended(token).finish; f == nil || f.Error != nil {
				t.Fatalf("task %d: %+v", token, f)
			}
		}
		if n := runs.Load(); n != 20 {
			t.Errorf("%d runs of 20 tasks", n)
		}
	})
}

func TestConcurrencyAndBulk(t *testing.T) {
	var now, most atomic.Int64
	with(t, 8, func(context.Context, *extworker.Task) (any, error) {
		n := now.Add(1)
		most.Store(max(most.Load(), n))
		time.Sleep(time.Second)
		now.Add(-1)
		return 1, nil
	}, func(b *bench) {
		b.submit(80)
		for token := uint64(1); token <= 80; token++ {
			b.ended(token)
		}
		if most.Load() != 8 {
			t.Errorf("%d at a time", most.Load())
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.bulk) == 0 {
			t.Error("what ends together is reported one by one")
		}
		for _, r := range b.accepts {
			if r.Max > 8 {
				t.Errorf("asked for %d", r.Max)
			}
		}
	})
}

// TestTwoAttemptsOfOneTask: a worker that has lost a lease without noticing may be given the task again. If both attempts end while
// another report is on its way, they are reported in two calls, because a cluster takes one report of a task in a call.
func TestTwoAttemptsOfOneTask(t *testing.T) {
	with(t, 3, func(_ context.Context, x *extworker.Task) (any, error) {
		// The first report takes 10 ms. The lost attempt ends during that time, then the current one.
		time.Sleep(time.Second + time.Duration([]int{0, 3, 6}[x.Lease.Token-1])*time.Millisecond)
		return x.Lease.Token, nil
	}, func(b *bench) {
		b.submit(2)
		b.again(2)
		b.after(500 * time.Millisecond)
		b.set(2, func(h *held) { h.halted = true })
		if f := b.ended(3).finish; f.ID != "t-2" || f.Error != nil || string(f.Result) != "3" {
			t.Errorf("the current attempt: %+v, %+v", f, f.Error)
		}
		if f := b.of(2).finish; f != nil {
			t.Errorf("the lost attempt: %+v", f)
		}
	})
}

func TestRefusedResultIsAFailure(t *testing.T) {
	with(t, 1, func(context.Context, *extworker.Task) (any, error) { return "x", nil }, func(b *bench) {
		b.mu.Lock()
		b.refuse = func(r api.FinishRequest) error {
			if r.Error == nil {
				return api.FieldError(api.CodeResultSchema, "result", "must be an integer")
			}
			return nil
		}
		b.mu.Unlock()
		b.submit(1)
		if f := b.ended(1).finish; f.Error == nil || *f.Error.Retryable || !strings.Contains(f.Error.Message, "must be an integer") {
			t.Errorf("%+v", f.Error)
		}
	})
}

func TestShutdownWaitsThenGivesBack(t *testing.T) {
	with(t, 3, func(ctx context.Context, x *extworker.Task) (any, error) {
		if x.ID == "t-1" {
			time.Sleep(5 * time.Second)
			return 1, ctx.Err()
		}
		return block(ctx, x)
	}, func(b *bench) {
		b.submit(2)
		b.after(time.Second)
		b.stop()
		b.submit(1) // nobody accepts it any more
		b.after(10500 * time.Millisecond)
		if f := b.of(1).finish; f == nil || f.Error != nil {
			t.Errorf("one that ends within the grace: %+v", f)
		}
		if h := b.of(2); h.snooze != nil || h.finish != nil {
			t.Errorf("the grace is cut short: %+v", h)
		}
		b.after(11500 * time.Millisecond)
		if s := b.of(2).snooze; s == nil || s.AgainAt.UnixMilli() != 1_000_000 {
			t.Errorf("not given back: %+v", s)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.held) != 2 {
			t.Errorf("accepted after the stop: %d", len(b.held))
		}
	})
}

func TestHandlerThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		release := make(chan struct{})
		returned := make(chan struct{})
		w, err := extworker.New(extworker.Config{Client: c, Behavior: "ext", Worker: "w1", Handler: func(context.Context, *extworker.Task) (any, error) {
			defer close(returned)
			<-release
			return 1, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		c.submit(1)
		time.AfterFunc(time.Second, stop)
		if err := w.Run(ctx); err == nil || !strings.Contains(err.Error(), "1 handlers") {
			t.Errorf("Run: %v", err)
		}
		if h := c.of(1); h.snooze == nil || h.finish != nil {
			t.Errorf("%+v", h)
		}
		close(release)
		<-returned
	})
}

func TestRunEndsWhenRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		calls := 0
		c.fail = func(string) (bool, error) {
			if calls++; calls < 3 {
				return false, api.NewError(api.CodeBehaviorNotFound, "not yet")
			}
			return false, api.NewError("not_external", "it has a module")
		}
		w, err := extworker.New(extworker.Config{Client: c, Behavior: "ext", Worker: "w1", Handler: block})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Run(t.Context()); api.CodeOf(err) != "not_external" {
			t.Errorf("Run: %v", err)
		}
		if err := w.Run(t.Context()); err == nil {
			t.Error("a second Run")
		}
	})
}

// TestTokenIsReplacedLate: a report that comes when the worker's token no longer holds is made again with the next token. A refusal of the
// token says nothing of the outcome (SPEC A4). An accept is made again for a while only.
func TestTokenIsReplacedLate(t *testing.T) {
	for _, code := range []string{api.CodeUnauthenticated, api.CodeTokenRevoked} {
		t.Run(code, func(t *testing.T) {
			with(t, 1, func(_ context.Context, x *extworker.Task) (any, error) {
				return 1, x.Checkpoint("half")
			}, func(b *bench) {
				refusals := map[string]int{}
				b.submit(1)
				for _, phase := range []struct {
					refused string
					until   time.Duration
				}{{"heartbeat", 5 * time.Second}, {"finish", 10 * time.Second}, {"", 65 * time.Second}, {"accept", 75 * time.Second}, {"", 3 * time.Minute}, {"accept", 4 * time.Minute}} {
					if len(b.done) > 0 {
						t.Fatalf("it ended before %v: %v", phase.until, <-b.done)
					}
					b.failing(func(call string) (bool, error) {
						if call == phase.refused {
							refusals[call]++
							return false, api.NewError(code, "another one, please")
						}
						return false, nil
					})
					b.after(phase.until)
				}
				if len(refusals) != 3 {
					t.Errorf("refused: %v", refusals)
				}
				if h := b.of(1); h.finish == nil || h.finish.Error != nil || string(h.checkpoint) != `"half"` {
					t.Errorf("the report: %+v", h.finish)
				}
				select {
				case err := <-b.done:
					b.done = nil
					if api.CodeOf(err) != code {
						t.Errorf("Run: %v", err)
					}
				default:
					t.Error("a worker whose token does not hold goes on accepting")
				}
			})
		})
	}
}

func TestConfig(t *testing.T) {
	good := extworker.Config{Client: newCluster(), Behavior: "ext", Worker: "w1", Handler: block}
	for name, change := range map[string]func(*extworker.Config){
		"client":      func(c *extworker.Config) { c.Client = nil },
		"handler":     func(c *extworker.Config) { c.Handler = nil },
		"behavior":    func(c *extworker.Config) { c.Behavior = "" },
		"worker":      func(c *extworker.Config) { c.Worker = "" },
		"concurrency": func(c *extworker.Config) { c.Concurrency = -1 },
		"lease":       func(c *extworker.Config) { c.Lease = time.Millisecond },
		"wait":        func(c *extworker.Config) { c.Wait = time.Hour },
		"grace":       func(c *extworker.Config) { c.Grace = -1 },
	} {
		c := good
		change(&c)
		if _, err := extworker.New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := extworker.New(good); err != nil {
		t.Error(err)
	}
}

// TestUnreachableClusterIsNoFailure: if a result cannot be reported for long, the handler has not failed. The attempt is lost,
// and the outcome of another attempt counts.
func TestUnreachableClusterIsNoFailure(t *testing.T) {
	with(t, 1, func(_ context.Context, x *extworker.Task) (any, error) { return 1, x.Extend(time.Hour) }, func(b *bench) {
		b.failing(func(call string) (bool, error) {
			if call == "finish" {
				return false, api.NewError(api.CodeNoLeader, "none")
			}
			return false, nil
		})
		b.submit(1)
		b.after(65 * time.Second)
		b.failing(nil)
		b.after(3 * time.Minute)
		if f := b.of(1).finish; f != nil {
			t.Errorf("reported %+v", f.Error)
		}
	})
}

// TestRefusedReports: if the behavior does not take a result, the failure is final, because the result would be refused again.
// After a refusal because of the state the task may be tried again. A failure stays as retryable as it was, however its report
// was refused.
func TestRefusedReports(t *testing.T) {
	for name, c := range map[string]struct {
		out       error // the handler's
		refusal   error // of the handler's report
		retryable bool
	}{
		"a result too large":       {nil, api.LimitError("result", 1, "too much"), false},
		"a result of the schema":   {nil, api.FieldError(api.CodeResultSchema, "result", "no"), false},
		"a blob that is gone":      {nil, api.FieldError(api.CodeBlobGone, "result", "gone"), true},
		"a failure":                {errors.New("oh"), api.FieldError(api.CodeInvalidField, "error.code", "no"), true},
		"a failure that is final":  {extworker.Permanent(errors.New("oh")), api.FieldError(api.CodeInvalidField, "error.code", "no"), false},
		"a failure, by the state":  {errors.New("oh"), api.FieldError(api.CodeBlobGone, "error", "gone"), true},
		"a failure with odd words": {errors.New(strings.Repeat("\xff", 9000)), api.FieldError(api.CodeInvalidField, "error.code", "no"), true},
	} {
		t.Run(name, func(t *testing.T) {
			with(t, 1, func(context.Context, *extworker.Task) (any, error) { return 1, c.out }, func(b *bench) {
				var calls atomic.Int64
				b.failing(func(call string) (bool, error) {
					if call == "finish" && calls.Add(1) == 1 {
						return false, c.refusal
					}
					return false, nil
				})
				b.submit(1)
				f := b.ended(1).finish
				if f.Error == nil || f.Result != nil || !strings.Contains(f.Error.Message, "refused") {
					t.Fatalf("%+v", f)
				}
				if retryable := f.Error.Retryable == nil || *f.Error.Retryable; retryable != c.retryable {
					t.Errorf("retryable %v: %+v", retryable, f.Error)
				}
			})
		})
	}
}
