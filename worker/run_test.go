package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

func TestHaltStopsAndReportsNothing(t *testing.T) {
	for name, halt := range map[string]func(*bench){
		"pushed": func(b *bench) { b.send(stream.Frame{Halt: []uint64{7, 99}}) },
		"with a renewal": func(b *bench) {
			b.at(3 * time.Second)
			b.send(stream.Frame{Renewed: &stream.Renewed{N: 77, Halt: []uint64{7}}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, lasts(time.Minute), func(b *bench) {
				b.assign(7)
				b.at(time.Second)
				halt(b)
				b.at(4 * time.Second)
				b.span()
				if reps, _ := b.reports(); len(reps) != 0 {
					t.Errorf("reports %+v", reps)
				}
				if st := b.worker.Status(); st.Session != 1 || len(st.Held) != 0 || b.lastCredits() != 4 {
					t.Errorf("status %+v, credits %d", st, b.lastCredits())
				}
			})
		})
	}
}

func TestCancel(t *testing.T) {
	// The guest sees the signal by polling, as guests do.
	polls := func(out runtime.Outcome, after time.Duration) guest {
		return func(ctx context.Context, _ runtime.Attempt, h runtime.Host) runtime.Outcome {
			for h.Signals()&abi.SignalCancel == 0 {
				if !idle.For(ctx, 100*time.Millisecond) {
					return killed(ctx)
				}
			}
			if !idle.For(ctx, after) {
				return killed(ctx)
			}
			return out
		}
	}
	for _, c := range []struct {
		name  string
		guest guest
		at    time.Duration // the time of the finish; the cancel comes at 2 s, the grace is 5 s
		code  string
	}{
		{"acknowledged", polls(runtime.Outcome{Kind: runtime.Cancelled}, 0), 2100 * time.Millisecond, task.CodeCancelled},
		{"success in the grace", polls(runtime.Outcome{Kind: runtime.Succeeded}, time.Second), 3100 * time.Millisecond, ""},
		{"failure in the grace", polls(runtime.Outcome{Kind: runtime.Failed, Code: "mine", Class: runtime.ClassGuest}, 0), 2100 * time.Millisecond, "mine"},
		{"killed after the grace", polls(runtime.Outcome{Kind: runtime.Succeeded}, time.Minute), 7 * time.Second, task.CodeCancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, c.guest, func(b *bench) {
				b.assign(7)
				b.at(2 * time.Second)
				b.send(stream.Frame{Cancel: []uint64{7}})
				b.at(4 * time.Second)
				b.send(stream.Frame{Cancel: []uint64{7}}) // the second push starts no new grace
				b.at(10 * time.Second)
				f := b.finish()
				if got := code(f); got != c.code {
					t.Errorf("finished with %q, want %q", got, c.code)
				}
				if _, at := b.reports(); at[0] < c.at-100*time.Millisecond || at[0] > c.at+100*time.Millisecond {
					t.Errorf("at %v, want %v", at[0], c.at)
				}
			})
		})
	}
}

func code(f *task.Finish) string {
	if f.Error == nil {
		return ""
	}
	return f.Error.Code
}

func TestCancelledBeforeItRan(t *testing.T) {
	inBubble(t, lasts(time.Second), func(b *bench) {
		b.bmu.Lock()
		b.fetch = func(string) ([]byte, error) { return nil, errors.New("nobody has it") }
		b.bmu.Unlock()
		b.assign(7)
		b.send(stream.Frame{Cancel: []uint64{7}})
		b.at(100 * time.Millisecond)
		if f := b.finish(); code(f) != task.CodeCancelled {
			t.Errorf("finish %+v", f)
		}
		b.assign(8, func(a *stream.Assignment) { a.Task.CancelCode = task.CodeCancelled })
		b.at(200 * time.Millisecond)
		if reps, _ := b.reports(); len(reps) != 2 || reps[1].Finish == nil || code(reps[1].Finish) != task.CodeCancelled {
			t.Errorf("reports %+v", reps)
		}
		if begun, _ := b.runs(); begun != 0 {
			t.Errorf("%d ran", begun)
		}
	})
}

func TestDuplicateAssignments(t *testing.T) {
	inBubble(t, lasts(2*time.Second), func(b *bench) {
		a := b.assignment(7)
		again := stream.Frame{Assign: []stream.Assignment{a, a}}
		b.send(again)
		b.at(time.Second)
		b.send(again) // the run executes
		b.set(func() { b.ack = func(stream.Report) (stream.Ack, bool) { return stream.Ack{}, false } })
		b.at(3 * time.Second)
		b.send(again) // its report waits
		b.send(stream.Frame{Acks: []stream.Ack{{ID: 1}}})
		b.send(again) // it is done
		b.at(5 * time.Second)
		b.span()
		b.finish()
		if st := b.worker.Status(); len(st.Held) != 0 {
			t.Errorf("status %+v", st)
		}
	})
}

func TestReportsAreSentAgainUntilAnswered(t *testing.T) {
	inBubble(t, lasts(time.Second), func(b *bench) {
		b.set(func() { b.ack = func(stream.Report) (stream.Ack, bool) { return stream.Ack{}, false } })
		b.assign(7)
		b.at(2 * time.Second)
		if st := b.worker.Status(); !reflect.DeepEqual(st.Held, []uint64{7}) || len(st.Executing) != 0 {
			t.Errorf("status %+v", st)
		}
		b.current().Close()
		b.at(3 * time.Second)
		hellos, _ := b.hellos()
		if h := hellos[len(hellos)-1]; !reflect.DeepEqual(h.Held, []uint64{7}) || h.Credits != 4 {
			t.Errorf("hello %+v", h)
		}
		// First the leader cannot decide. Then it can.
		b.set(func() { b.ack = func(stream.Report) (stream.Ack, bool) { return stream.Ack{Retry: true}, true } })
		b.current().Close()
		b.at(4 * time.Second)
		b.set(func() { b.ack = nil })
		b.at(5 * time.Second)
		reps, _ := b.reports()
		if len(reps) < 4 {
			t.Fatalf("%d reports", len(reps))
		}
		for _, r := range reps {
			if r.Finish == nil || r.Finish.Seq != 1 || r.Finish.Token != 7 {
				t.Errorf("report %+v", r)
			}
		}
		if st := b.worker.Status(); len(st.Held) != 0 {
			t.Errorf("status %+v", st)
		}
		n := len(reps)
		b.at(30 * time.Second)
		if reps, _ := b.reports(); len(reps) != n {
			t.Error("sent again after the answer")
		}
		b.span()
	})
}

func TestReportsOfALostSessionAreDropped(t *testing.T) {
	inBubble(t, lasts(time.Second), func(b *bench) {
		b.set(func() { b.ack = func(stream.Report) (stream.Ack, bool) { return stream.Ack{}, false } })
		b.assign(7)
		b.at(2 * time.Second)
		b.send(stream.Frame{NotFound: true})
		b.at(5 * time.Second)
		if reps, _ := b.reports(); len(reps) != 1 {
			t.Errorf("reports %+v", reps)
		}
		if hellos, _ := b.hellos(); len(hellos) != 2 || hellos[1].Session != 0 || len(hellos[1].Held) != 0 {
			t.Errorf("hellos %+v", hellos)
		}
	})
}

func TestRefusedOutcomeBecomesAFailure(t *testing.T) {
	inBubble(t, lasts(time.Second), func(b *bench) {
		b.set(func() {
			b.ack = func(r stream.Report) (stream.Ack, bool) {
				if r.Finish.Error == nil {
					return stream.Ack{Code: task.InvalidCommand, Message: "too odd"}, true
				}
				return stream.Ack{}, true
			}
		})
		b.assign(7)
		b.at(3 * time.Second)
		reps, _ := b.reports()
		if len(reps) != 2 || code(reps[1].Finish) != task.CodeHandlerError || reps[1].Finish.Seq != 2 ||
			!strings.Contains(reps[1].Finish.Error.Message, "too odd") {
			t.Errorf("reports %+v", reps)
		}
		if st := b.worker.Status(); len(st.Held) != 0 {
			t.Errorf("status %+v", st)
		}
	})
}

// TestRefusedChildrenFailTheAttempt: a success whose children cannot be submitted is a failure that may be retried.
func TestRefusedChildrenFailTheAttempt(t *testing.T) {
	mother := func(context.Context, runtime.Attempt, runtime.Host) runtime.Outcome {
		return runtime.Outcome{Kind: runtime.Succeeded, Children: [][]byte{[]byte("a"), []byte("b")}}
	}
	inBubble(t, mother, func(b *bench) {
		b.set(func() {
			b.ack = func(r stream.Report) (stream.Ack, bool) {
				if r.Finish.Error == nil {
					return stream.Ack{Code: stream.ChildRefused, Message: "children[1]: no"}, true
				}
				return stream.Ack{}, true
			}
		})
		b.assign(7)
		b.at(3 * time.Second)
		reps, _ := b.reports()
		if len(reps) != 2 || !reps[0].Finish.InTxn || len(reps[0].Children) != 2 {
			t.Fatalf("reports %+v", reps)
		}
		f := reps[1].Finish
		if f.InTxn || reps[1].Children != nil || code(f) != task.CodeChildRefused || f.Error.Message != "children[1]: no" || !f.Error.Retryable {
			t.Errorf("then %+v", f)
		}
	})
}

func TestCheckpointWaitsOverAReconnect(t *testing.T) {
	result := make(chan error, 1)
	g := func(ctx context.Context, _ runtime.Attempt, h runtime.Host) runtime.Outcome {
		h.Beat(3, 10, []byte(`{"step":"a"}`))
		result <- h.Checkpoint(ctx, []byte("state"))
		return runtime.Outcome{Kind: runtime.Succeeded}
	}
	inBubble(t, g, func(b *bench) {
		result = make(chan error, 1)
		b.set(func() { b.ack = func(stream.Report) (stream.Ack, bool) { return stream.Ack{}, false } })
		b.assign(7)
		b.at(time.Second)
		b.cut()
		b.at(3 * time.Second)
		select {
		case err := <-result:
			t.Fatalf("returned %v without an answer", err)
		default:
		}
		b.set(func() { b.ack, b.down = nil, false })
		b.at(4 * time.Second)
		if err := <-result; err != nil {
			t.Error(err)
		}
		reps, _ := b.reports()
		for _, r := range reps[:2] {
			if r.Beat == nil || r.Beat.Seq != 1 || string(r.Beat.Checkpoint.Data) != "state" || r.Beat.Checkpoint.Encoding != task.Bytes ||
				string(r.Beat.Progress.Data) != `{"done":3,"total":10,"note":{"step":"a"}}` || r.Beat.Progress.Encoding != task.JSON {
				t.Errorf("report %+v", r.Beat)
			}
		}
		if f := b.finish(); f.Seq != 2 || string(f.Result.Data) != "null" || f.Result.Encoding != task.JSON {
			t.Errorf("finish %+v", f)
		}
	})
}

func TestCheckpointOfADeadToken(t *testing.T) {
	for name, c := range map[string]struct {
		ack  *stream.Ack
		then func(*bench)
		lost bool
	}{
		"halt":           {ack: &stream.Ack{Code: task.Halt}, lost: true},
		"record gone":    {ack: &stream.Ack{Code: task.TaskNotFound}, lost: true},
		"refused":        {ack: &stream.Ack{Code: task.InvalidCommand}},
		"halt pushed":    {then: func(b *bench) { b.send(stream.Frame{Halt: []uint64{7}}) }, lost: true},
		"session lost":   {then: func(b *bench) { b.send(stream.Frame{NotFound: true}) }, lost: true},
		"margin reached": {then: func(b *bench) { b.cut(); b.at(8 * time.Second) }, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			var result chan error
			g := func(ctx context.Context, _ runtime.Attempt, h runtime.Host) runtime.Outcome {
				result <- h.Checkpoint(ctx, []byte("{}"))
				if h.Signals()&abi.SignalLeaseLost == 0 && c.lost {
					t.Error("the guest is not told")
				}
				if ctx.Err() != nil {
					return killed(ctx)
				}
				return runtime.Outcome{Kind: runtime.Succeeded}
			}
			inBubble(t, g, func(b *bench) {
				result = make(chan error, 1)
				b.set(func() {
					b.ack = func(r stream.Report) (stream.Ack, bool) {
						if r.Beat == nil {
							return stream.Ack{}, true
						}
						if c.ack == nil {
							return stream.Ack{}, false
						}
						return *c.ack, true
					}
				})
				b.assign(7)
				if c.then != nil {
					c.then(b)
				}
				b.at(b.since() + time.Second)
				if err := <-result; errors.Is(err, runtime.ErrLeaseLost) != c.lost || err == nil {
					t.Errorf("checkpoint returned %v", err)
				}
				reps, _ := b.reports()
				if last := reps[len(reps)-1]; (last.Finish == nil) != c.lost {
					t.Errorf("last report %+v", last)
				}
			})
		})
	}
}

func (b *bench) since() time.Duration { return time.Since(b.start) }

func TestProgressTravelsWithRenewals(t *testing.T) {
	g := func(ctx context.Context, _ runtime.Attempt, h runtime.Host) runtime.Outcome {
		for i := range 100 { // for 5 s
			h.Beat(int64(i), 100, []byte("not JSON \xff"))
			if !idle.For(ctx, 50*time.Millisecond) {
				return killed(ctx)
			}
		}
		idle.For(ctx, 10*time.Second)
		return runtime.Outcome{Kind: runtime.Succeeded}
	}
	inBubble(t, g, func(b *bench) {
		b.assign(7)
		b.at(14 * time.Second)
		reps, at := b.reports()
		if want := []time.Duration{3 * time.Second, 6 * time.Second}; !reflect.DeepEqual(at, want) {
			t.Fatalf("beats at %v, want %v: nothing changed later", at, want)
		}
		if p := string(reps[1].Beat.Progress.Data); p != `{"done":99,"total":100,"note":"not JSON �"}` || reps[1].Beat.Checkpoint != nil {
			t.Errorf("progress %s", p)
		}
		b.at(20 * time.Second)
		if f := b.finish(); f.Seq != 3 {
			t.Errorf("finish %+v", f)
		}
	})
}

// TestStaleProgressIsNotRetried: the leader could not decide about a progress report. The worker does not send the
// report again when something newer is under way.
func TestStaleProgressIsNotRetried(t *testing.T) {
	g := func(ctx context.Context, _ runtime.Attempt, h runtime.Host) runtime.Outcome {
		h.Beat(1, 0, nil)
		idle.For(ctx, 4*time.Second)
		return runtime.Outcome{Kind: runtime.Succeeded}
	}
	inBubble(t, g, func(b *bench) {
		b.set(func() { b.ack = func(stream.Report) (stream.Ack, bool) { return stream.Ack{}, false } })
		b.assign(7)
		b.at(5 * time.Second) // progress was sent at 3 s and the finish at 4 s, and nothing was answered
		b.send(stream.Frame{Acks: []stream.Ack{{ID: 1, Retry: true}, {ID: 2, Retry: true}}})
		b.at(6 * time.Second)
		reps, _ := b.reports()
		if len(reps) != 3 || reps[2].Finish == nil {
			t.Errorf("reports %+v", reps)
		}
	})
}

func TestLogs(t *testing.T) {
	line := strings.Repeat("x", 1000)
	g := func(ctx context.Context, _ runtime.Attempt, h runtime.Host) runtime.Outcome {
		h.Log(abi.LogInfo, []byte("first\nsecond\n"))
		idle.For(ctx, 2500*time.Millisecond)
		for range 60 {
			h.Log(abi.LogWarn, []byte(line))
		}
		h.Log(abi.LogError, []byte("never kept"))
		return runtime.Outcome{Kind: runtime.Succeeded}
	}
	inBubble(t, g, func(b *bench) {
		b.assign(7, func(a *stream.Assignment) { a.Policy.Limits.LogBytes = 50_000 })
		b.at(4 * time.Second)
		var text bytes.Buffer
		var first []time.Duration
		b.mu.Lock()
		finished := false
		for _, f := range b.frames {
			finished = finished || len(f.Reports) > 0
			for _, l := range f.Logs {
				if finished {
					t.Error("log after the finish")
				}
				if len(l.Data) > logChunk || l.Token != 7 || l.Attempt != 1 || l.Key.ID != "task" || l.Offset != int64(text.Len()) {
					t.Errorf("piece of %d bytes: %+v", len(l.Data), l)
				}
				text.Write(l.Data)
				first = append(first, f.at)
			}
		}
		b.mu.Unlock()
		if len(first) < 3 || first[0] != time.Second {
			t.Errorf("pieces at %v", first)
		}
		got := text.String()
		if !strings.HasPrefix(got, "2000-01-01T00:00:00.000Z INFO first\n2000-01-01T00:00:00.000Z INFO second\n") {
			t.Errorf("log begins %.100q", got)
		}
		if !strings.HasSuffix(got, logDropped) || len(got) > 50_000+len(logDropped) || strings.Contains(got, "never") {
			t.Errorf("log of %d bytes ends %q", len(got), got[len(got)-100:])
		}
	})
}

func TestSlotsAndCredits(t *testing.T) {
	inBubble(t, lasts(time.Second), func(b *bench) {
		if b.lastCredits() != 4 {
			t.Errorf("credits %d", b.lastCredits())
		}
		var as []stream.Assignment
		for token := range uint64(6) { // the worker has fewer credits
			as = append(as, b.assignment(token+1))
		}
		b.send(stream.Frame{Assign: as})
		b.at(aheadPatience / 2)
		if st := b.worker.Status(); len(st.Executing) != 4 || len(st.Held) != 6 || b.credits().Free != 0 || b.credits().Ahead != 0 {
			t.Errorf("status %+v, credits %+v", st, b.credits())
		}
		b.at(500 * time.Millisecond) // by now two runs have waited for too long
		if st := b.worker.Status(); len(st.Executing) != 4 || len(st.Held) != 4 {
			t.Errorf("status %+v", st)
		}
		b.at(3 * time.Second)
		reps, _ := b.reports()
		gave := 0
		for _, r := range reps {
			if r.GiveBack != nil {
				gave++
			}
		}
		if begun, ended := b.runs(); begun != 4 || ended != 4 || gave != 2 || b.credits().Free != 4 || b.credits().Ahead != 0 {
			t.Errorf("%d begun, %d ended, %d given back, credits %+v", begun, ended, gave, b.credits())
		}
	})
}

// TestAhead: a worker that runs short attempts takes more tasks than it has slots. It stops as soon as they are not
// short.
func TestAhead(t *testing.T) {
	var long atomic.Bool
	g := func(ctx context.Context, a runtime.Attempt, h runtime.Host) runtime.Outcome {
		if long.Load() || a.Behavior == 1 {
			return lasts(time.Second)(ctx, a, h)
		}
		return lasts(time.Millisecond)(ctx, a, h)
	}
	inBubble(t, g, func(b *bench) {
		long.Store(false)
		token := uint64(0)
		send := func(n int, index int32) {
			var as []stream.Assignment
			for range n {
				token++
				as = append(as, b.assignment(token, func(a *stream.Assignment) { a.Policy.Index = index }))
			}
			b.send(stream.Frame{Assign: as})
		}
		credits := func(what string, free, ahead, each int64) {
			t.Helper()
			if c := b.credits(); c.Free != free || c.Ahead != ahead || c.Each != each {
				t.Errorf("%s: credits %+v, want %d, %d, %d", what, c, free, ahead, each)
			}
		}
		const each = int64(aheadTime / time.Millisecond)
		send(shortStreak-1, 0)
		b.at(30 * time.Millisecond)
		credits("too few attempts", 4, 0, 0)
		send(1, 0)
		b.at(50 * time.Millisecond)
		credits("short", 4, 4*each, each)
		if got := b.paces(); !reflect.DeepEqual(got, []stream.Pace{{Behavior: stream.Behavior{Module: digest}, Short: true}}) {
			t.Errorf("paces %+v", got)
		}
		send(24, 0)
		b.at(50*time.Millisecond + 100*time.Microsecond)
		credits("24 have come", 0, 4*each-20, each)
		b.at(100 * time.Millisecond)
		credits("they are done", 4, 4*each, each)
		send(1, 1)
		b.at(101 * time.Millisecond)
		credits("another behavior has a slot", 3, 3*each, each)
		b.at(1200 * time.Millisecond)
		credits("it is done", 4, 4*each, each)

		long.Store(true)
		send(30, 0)
		b.at(1240 * time.Millisecond)
		credits("30 that are long", 0, 4*each-26, each)
		b.at(1400 * time.Millisecond) // the runs have waited for too long
		credits("the slots are stuck", 0, 0, each)
		if st := b.worker.Status(); len(st.Executing) != 4 || len(st.Held) != 4 {
			t.Errorf("status %+v", st)
		}
		b.at(3 * time.Second)
		if begun, ended := b.runs(); begun != shortStreak+24+1+4 || ended != begun {
			t.Errorf("%d begun, %d ended", begun, ended)
		}
		if c := b.credits(); c.Free != 4 {
			t.Errorf("credits %+v", c)
		}
		if got := b.paces(); len(got) != 2 || got[1].Short {
			t.Errorf("paces %+v", got)
		}
	})
}

func TestPace(t *testing.T) {
	var p pace
	a, b := p.of(stream.Behavior{Module: "m"}), p.of(stream.Behavior{Module: "m", Index: 1})
	note := func(b *behaviorPace, n int, took time.Duration) {
		for range n {
			p.note(b, took)
		}
	}
	want := func(each int, short ...bool) {
		t.Helper()
		if got := []bool{a.short.Load(), b.short.Load()}; p.each() != each || !slices.Equal(got, short) {
			t.Errorf("%d for each slot, short %v, want %d, %v", p.each(), got, each, short)
		}
	}
	var told toldPace
	news := func(want ...stream.Pace) {
		t.Helper()
		if got := p.news(&told); !slices.Equal(got, want) {
			t.Errorf("news %+v, want %+v", got, want)
		}
	}
	want(0, false, false)
	note(a, shortStreak-1, 0) // a coarse clock measures 0
	want(0, false, false)
	news()
	note(a, 1, 0)
	want(maxAhead, true, false)
	news(stream.Pace{Behavior: stream.Behavior{Module: "m"}, Short: true})
	news()
	note(b, 1000, 6*time.Millisecond) // too long to become short
	want(maxAhead, true, false)
	note(a, 100, 2*time.Millisecond)
	want(4, true, false)
	note(a, 100, 6*time.Millisecond) // short enough to remain short
	want(1, true, false)
	note(a, 1, shortTime) // one long run is enough
	want(1, false, false)
	news(stream.Pace{Behavior: stream.Behavior{Module: "m"}})
	note(a, shortStreak-1, 0)
	want(1, false, false)
	note(a, 1, 0)
	want(1, true, false)
	note(a, 100, 10*time.Millisecond)
	want(0, false, false)
	if p.of(stream.Behavior{Module: "m"}) != a {
		t.Error("another pace for the same behavior")
	}
}

func TestAttempt(t *testing.T) {
	var got runtime.Attempt
	g := func(_ context.Context, a runtime.Attempt, _ runtime.Host) runtime.Outcome {
		got = a
		return runtime.Outcome{Kind: runtime.Succeeded}
	}
	inBubble(t, g, func(b *bench) {
		b.assign(7, func(a *stream.Assignment) {
			a.Task.Version, a.Task.Attempt, a.Task.Failures = "v", 3, 2
			a.Task.Params = task.Payload{Encoding: task.JSON, Data: []byte("{}")}
			a.Task.Checkpoint = task.Payload{Encoding: task.Bytes}
			a.Task.Labels = []task.Label{{Name: "a", Value: "b"}}
			a.Policy.Index, a.Policy.HeartbeatTimeout, a.Policy.ResultRequired = 2, 1500, true
			a.Policy.Limits.Fuel = 99
		})
		b.at(time.Second)
		l := task.DefaultPolicy().Limits
		var info abi.TaskInfo
		if err := json.Unmarshal(got.InfoJSON(), &info); err != nil {
			t.Fatal(err)
		}
		wantInfo := abi.TaskInfo{Namespace: "default", ID: "task", Behavior: "b", Version: "v", Attempt: 3, MaxAttempts: 1, Failures: 2, Token: 7, Worker: "w1", Labels: map[string]string{"a": "b"}}
		if !reflect.DeepEqual(info, wantInfo) {
			t.Errorf("info %+v", info)
		}
		got.Info, got.MakeInfo = nil, nil
		want := runtime.Attempt{
			Behavior: 2, Params: []byte("{}"), Checkpoint: []byte{}, MemoryBytes: l.MemoryBytes, ResultBytes: l.ResultBytes,
			CheckpointBytes: l.CheckpointBytes, LogBytes: l.LogBytes, Fuel: 99, RunTimeout: time.Hour, HeartbeatTimeout: 1500 * time.Millisecond, ResultRequired: true,
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("attempt %+v\nwant    %+v", got, want)
		}
	})
}

func TestOutcomes(t *testing.T) {
	p := task.DefaultPolicy()
	fail, retry := p, p
	fail.OnTrap, fail.OnTimeout, fail.OnExhausted = task.OnErrorFail, task.OnErrorFail, task.OnErrorFail
	retry.OnTrap, retry.OnTimeout, retry.OnExhausted = task.OnErrorRetry, task.OnErrorRetry, task.OnErrorRetry
	required := p
	required.ResultRequired = true
	schema := p
	schema.ResultSchema = []byte(`{"type":"object","properties":{"a":{"type":"integer"}}}`)
	failed := func(c runtime.Class) runtime.Outcome {
		return runtime.Outcome{Kind: runtime.Failed, Code: "x", Class: c}
	}
	for _, c := range []struct {
		name   string
		policy task.Policy
		out    runtime.Outcome
		want   string
	}{
		{"json", p, runtime.Outcome{Kind: runtime.Succeeded, HasResult: true, Result: []byte(`{"a":1}`)}, `json {"a":1}`},
		{"bytes", p, runtime.Outcome{Kind: runtime.Succeeded, HasResult: true, Result: []byte("{a")}, "bytes {a"},
		{"json that is not UTF-8", p, runtime.Outcome{Kind: runtime.Succeeded, HasResult: true, Result: []byte("\"\xff\"")}, "bytes \"\xff\""},
		{"empty", p, runtime.Outcome{Kind: runtime.Succeeded, HasResult: true}, "bytes "},
		{"nothing", p, runtime.Outcome{Kind: runtime.Succeeded}, "json null"},
		{"nothing where required", required, runtime.Outcome{Kind: runtime.Succeeded}, "NO_RESULT retry"},
		{"too large", p, runtime.Outcome{Kind: runtime.Succeeded, HasResult: true, Result: make([]byte, p.Limits.ResultBytes+1)}, "HANDLER_ERROR"},
		{"as the schema wants it", schema, runtime.Outcome{Kind: runtime.Succeeded, HasResult: true, Result: []byte(`{"a":1}`)}, `json {"a":1}`},
		{"against the schema", schema, runtime.Outcome{Kind: runtime.Succeeded, HasResult: true, Result: []byte(`{"a":"1"}`)}, "HANDLER_ERROR"},
		{"nothing, against the schema", schema, runtime.Outcome{Kind: runtime.Succeeded}, "HANDLER_ERROR"},
		{"bytes, against the schema", schema, runtime.Outcome{Kind: runtime.Succeeded, HasResult: true, Result: []byte("{a")}, "HANDLER_ERROR"},
		{"guest, final", p, failed(runtime.ClassGuest), "x"},
		{"guest, retryable", p, runtime.Outcome{Kind: runtime.Failed, Class: runtime.ClassGuest, Retryable: true}, "HANDLER_ERROR retry"},
		{"trap", p, failed(runtime.ClassTrap), "x retry"},
		{"trap, fail", fail, failed(runtime.ClassTrap), "x"},
		{"timeout", p, failed(runtime.ClassTimeout), "x retry"},
		{"timeout, fail", fail, failed(runtime.ClassTimeout), "x"},
		{"exhausted", p, failed(runtime.ClassExhausted), "x"},
		{"exhausted, retry", retry, failed(runtime.ClassExhausted), "x retry"},
		{"cancelled", p, runtime.Outcome{Kind: runtime.Cancelled}, "CANCELLED"},
		{"killed by a cancel", p, runtime.Outcome{Kind: runtime.Killed, Cause: runtime.ErrKilledCancel}, "CANCELLED"},
		{"killed by a stop", p, runtime.Outcome{Kind: runtime.Killed, Cause: runtime.ErrKilledStop}, "give back"},
		{"yield", p, runtime.Outcome{Kind: runtime.Yielded}, "snooze 0"},
		{"yield until", p, runtime.Outcome{Kind: runtime.Yielded, NextTime: 5}, "snooze 5"},
		{"yield until before time", p, runtime.Outcome{Kind: runtime.Yielded, NextTime: -5}, "snooze 0"},
		{"success, again", p, runtime.Outcome{Kind: runtime.Succeeded, NextTime: 9}, "json null again 9"},
		{"failure, again", p, runtime.Outcome{Kind: runtime.Failed, Code: "x", Retryable: true, NextTime: 9}, "x retry again 9"},
		{"again before time", p, runtime.Outcome{Kind: runtime.Succeeded, NextTime: -9}, "json null"},
		{"unknown", p, runtime.Outcome{}, "HANDLER_ERROR"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &session{w: &Worker{}}
			r := &run{s: s, ctx: t.Context(), a: stream.Assignment{Policy: &c.policy}, token: 7, seq: 9}
			c.out.Fuel, c.out.PeakMemory = 42, task.PageBytes+1
			r.settle(&c.out)
			rep := r.outcome(&c.out, nil)
			if got := describe(rep); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if _, fuel, pages := ending(rep); fuel != 42 || pages != 2 {
				t.Errorf("fuel %d, %d pages", fuel, pages)
			}
		})
	}
	// The leader would refuse an outcome with more fuel or memory than any attempt can have used.
	for used, want := range map[int64]int64{-1: 0, task.MaxFuel: task.MaxFuel, task.MaxFuel + 1: task.MaxFuel} {
		r := &run{s: &session{w: &Worker{}}, a: stream.Assignment{Policy: &p}}
		if _, fuel, pages := ending(r.outcome(&runtime.Outcome{Kind: runtime.Yielded, Fuel: used, PeakMemory: used}, nil)); fuel != want || pages != want/task.PageBytes {
			t.Errorf("%d units and bytes used: fuel %d, %d pages; want %d", used, fuel, pages, want)
		}
	}
}

func describe(r stream.Report) string {
	switch {
	case r.GiveBack != nil:
		return "give back"
	case r.Snooze != nil:
		return fmt.Sprintf("snooze %d", r.Snooze.At)
	case r.Finish.Again != 0:
		f := *r.Finish
		f.Again = 0
		return fmt.Sprintf("%s again %d", describe(stream.Report{Finish: &f}), r.Finish.Again)
	case r.Finish.Error == nil:
		return map[task.Encoding]string{task.JSON: "json ", task.Bytes: "bytes "}[r.Finish.Result.Encoding] + string(r.Finish.Result.Data)
	case r.Finish.Error.Retryable:
		return r.Finish.Error.Code + " retry"
	default:
		return r.Finish.Error.Code
	}
}

// TestErrorTextIsBoundedUTF8: the leader's decoder would refuse text that is not UTF-8, and so would every node's log
// after it.
func TestErrorTextIsBoundedUTF8(t *testing.T) {
	r := &run{s: &session{w: &Worker{}}, a: stream.Assignment{Policy: new(task.DefaultPolicy())}}
	out := &runtime.Outcome{Kind: runtime.Failed, Message: strings.Repeat("é", task.MaxMessage) + "\xff", Details: []byte("d\xff")}
	e := r.outcome(out, nil).Finish.Error
	if !utf8.ValidString(e.Message) || len(e.Message) > task.MaxMessage {
		t.Errorf("message of %d bytes, valid %v", len(e.Message), utf8.ValidString(e.Message))
	}
	if e.Details.Encoding != task.Bytes {
		t.Errorf("details %+v", e.Details)
	}
	out.Details = make([]byte, task.DefaultPolicy().Limits.ResultBytes+1)
	if e := r.outcome(out, nil).Finish.Error; e.Details.Encoding != task.None || !utf8.ValidString(e.Message) {
		t.Errorf("details of %d bytes", len(e.Details.Data))
	}
}

// TestPartingProgress: a guest's last progress travels with its end, unless the progress is stored. This includes
// progress that was queued and has no answer, because the end makes its report pointless (SPEC J4).
func TestPartingProgress(t *testing.T) {
	for name, c := range map[string]struct {
		changed, beating bool
		want             string
	}{"stored": {false, false, ""}, "not told": {true, false, `{"done":7,"total":9}`}, "not answered": {false, true, `{"done":7,"total":9}`}} {
		for _, out := range []runtime.Outcome{{Kind: runtime.Succeeded}, {Kind: runtime.Failed}, {Kind: runtime.Yielded}} {
			r := &run{s: &session{w: &Worker{}}, a: stream.Assignment{Policy: new(task.DefaultPolicy())}}
			r.progress, r.changed, r.beating = progress{done: 7, total: 9}, c.changed, c.beating
			rep := r.outcome(&out, nil)
			var p *task.Payload
			if rep.Finish != nil {
				p = rep.Finish.Progress
			} else {
				p = rep.Snooze.Progress
			}
			got := ""
			if p != nil {
				got = string(p.Data)
			}
			if got != c.want {
				t.Errorf("%s, %v: %q", name, out.Kind, got)
			}
		}
	}
}
