package worker

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

func TestRenewsEveryThirdOfTheTTL(t *testing.T) {
	inBubble(t, lasts(20*time.Second), func(b *bench) {
		b.assign(7)
		b.at(10 * time.Second)
		renews, at := b.renews()
		if want := []time.Duration{3 * time.Second, 6 * time.Second, 9 * time.Second}; !reflect.DeepEqual(at, want) {
			t.Errorf("renewals at %v, want %v", at, want)
		}
		for i, r := range renews {
			if r.N != uint64(i+1) || r.Acked != 1 || !reflect.DeepEqual(r.Held, []uint64{7}) {
				t.Errorf("renewal %d: %+v", i, r)
			}
		}
		b.at(25 * time.Second)
		if f := b.finish(); f.Error != nil || string(f.Result.Data) != `"done"` || f.Result.Encoding != task.JSON || f.Token != 7 || f.Seq != 1 {
			t.Errorf("finish %+v", f)
		}
	})
}

func TestShortLossKeepsGuests(t *testing.T) {
	inBubble(t, lasts(15*time.Second), func(b *bench) {
		b.assign(7)
		b.at(5 * time.Second)
		b.cut()
		b.at(8 * time.Second) // the margin from the renewal at 3 s ends at 9.3 s
		b.heal()
		b.at(20 * time.Second)
		hellos, _ := b.hellos()
		if len(hellos) != 2 {
			t.Fatalf("%d hellos", len(hellos))
		}
		if h := hellos[1]; h.Session != 1 || h.Acked != 1 || !reflect.DeepEqual(h.Held, []uint64{7}) || h.Credits != 3 || !reflect.DeepEqual(h.Ready, []string{digest}) {
			t.Errorf("second hello %+v", h)
		}
		if s := b.span(); s.Ended != int64(15*time.Second) {
			t.Errorf("run %+v", s)
		}
		b.finish()
	})
}

func TestLongLossStopsGuestsInTheMargin(t *testing.T) {
	// The guest needs 300 ms to die. The next session must wait for it.
	slow := func(ctx context.Context, _ runtime.Attempt, _ runtime.Host) runtime.Outcome {
		<-ctx.Done()
		time.Sleep(300 * time.Millisecond)
		return killed(ctx)
	}
	inBubble(t, slow, func(b *bench) {
		b.assign(7)
		b.at(4 * time.Second)
		b.cut() // the last acknowledged renewal was sent at 3 s
		b.at(9 * time.Second)
		b.heal()
		b.set(func() { b.mute = true }) // connections work, and nobody answers
		b.at(12 * time.Second)
		b.set(func() { b.mute = false })
		b.at(20 * time.Second)

		s := b.span()
		stopped := time.Duration(s.Ended) - 300*time.Millisecond
		if stop := 3*time.Second + ttl*70/100; stopped < stop || stopped > stop+ttl*5/100 {
			t.Errorf("guest stopped at %v, margin is %v", stopped, stop)
		}
		if last := 3*time.Second + ttl*85/100; time.Duration(s.Ended) > last {
			t.Errorf("guest executed until %v, later than %v", time.Duration(s.Ended), last)
		}
		hellos, at := b.hellos()
		for i, h := range hellos {
			switch {
			case i > 0 && h.Session == 0 && at[i] < time.Duration(s.Ended):
				t.Errorf("new session at %v, guest executed until %v", at[i], time.Duration(s.Ended))
			case h.Session != 0 && at[i] >= 3*time.Second+ttl*75/100:
				t.Errorf("old session resumed at %v", at[i])
			}
		}
		if b.sessions() != 2 {
			t.Errorf("%d sessions opened", b.sessions())
		}
		if reps, _ := b.reports(); len(reps) != 0 {
			t.Errorf("reports of a lost session: %+v", reps)
		}
		if len(b.overran()) != 0 {
			t.Errorf("overruns %+v", b.overran())
		}
	})
}

// TestMarginCountsFromTheQuestion: the margin counts from the moment before Hello was sent, not from its answer.
func TestMarginCountsFromTheQuestion(t *testing.T) {
	inBubble(t, lasts(time.Minute), func(b *bench) {
		b.cut()
		b.worker.current().lose(errors.New("test"))
		b.set(func() { b.delay, b.down = time.Second, false })
		b.at(3 * time.Second)
		hellos, at := b.hellos()
		sent := at[len(hellos)-1]
		b.assign(7)
		b.cut()
		b.at(15 * time.Second)
		if s := b.span(); time.Duration(s.Ended) < sent+ttl*70/100 || time.Duration(s.Ended) > sent+ttl*75/100+time.Millisecond {
			t.Errorf("hello sent at %v, guest executed until %v", sent, time.Duration(s.Ended))
		}
	})
}

func TestGuestThatDoesNotStopIsAnOverrun(t *testing.T) {
	release := make(chan struct{})
	stubborn := func(ctx context.Context, _ runtime.Attempt, _ runtime.Host) runtime.Outcome {
		<-release
		return runtime.Outcome{Kind: runtime.Succeeded}
	}
	inBubble(t, stubborn, func(b *bench) {
		release = make(chan struct{})
		b.assign(7)
		b.cut()
		b.heal()
		b.set(func() { b.mute = true })
		b.at(ttl*85/100 - time.Millisecond)
		if len(b.overran()) != 0 {
			t.Errorf("too early: %+v", b.overran())
		}
		b.at(ttl * 90 / 100)
		if len(b.overran()) != 1 || !reflect.DeepEqual(b.overran()[0].Tokens, []uint64{7}) || b.overran()[0].Session != 1 {
			t.Errorf("overruns %+v", b.overran())
		}
		b.set(func() { b.mute = false })
		b.at(20 * time.Second)
		if b.sessions() != 1 {
			t.Error("a new session while a guest of the old one executes")
		}
		close(release)
		b.at(25 * time.Second)
		if b.sessions() != 2 {
			t.Errorf("%d sessions", b.sessions())
		}
		if reps, _ := b.reports(); len(reps) != 0 {
			t.Errorf("reports %+v", reps)
		}
	})
}

// TestBoottimeJumpFencesBeforeAnyHostCall: a machine was suspended through the margin. Its timers have not moved, and
// its guests go on where they were. The first call of each guest sees the fence.
func TestBoottimeJumpFencesBeforeAnyHostCall(t *testing.T) {
	resume := make(chan struct{})
	type seen struct {
		beat, signals abi.Signals
		checkpoint    error
	}
	results := make(chan seen, 1)
	g := func(order string) guest {
		return func(ctx context.Context, _ runtime.Attempt, h runtime.Host) runtime.Outcome {
			<-resume
			var s seen
			switch order {
			case "beat":
				s.beat = h.Beat(1, 2, nil)
			case "signals":
				s.signals = h.Signals()
			case "checkpoint":
				s.checkpoint = h.Checkpoint(ctx, []byte("x"))
			}
			results <- s
			return runtime.Outcome{Kind: runtime.Succeeded}
		}
	}
	for _, first := range []string{"beat", "signals", "checkpoint", "return"} {
		t.Run(first, func(t *testing.T) {
			inBubble(t, g(first), func(b *bench) {
				resume, results = make(chan struct{}), make(chan seen, 1)
				b.assign(7)
				b.at(4 * time.Second)
				b.clock.jump.Store(int64(ttl))
				close(resume)
				synctest.Wait() // no time passes, so no ticker has run
				s := <-results
				switch {
				case first == "beat" && s.beat&abi.SignalLeaseLost == 0:
					t.Errorf("beat returned %v", s.beat)
				case first == "signals" && s.signals&abi.SignalLeaseLost == 0:
					t.Errorf("signals returned %v", s.signals)
				case first == "checkpoint" && !errors.Is(s.checkpoint, runtime.ErrLeaseLost):
					t.Errorf("checkpoint returned %v", s.checkpoint)
				}
				b.at(5 * time.Second)
				if reps, _ := b.reports(); len(reps) != 0 {
					t.Errorf("reports after the margin: %+v", reps)
				}
				if b.sessions() != 2 {
					t.Errorf("%d sessions", b.sessions())
				}
				if len(b.overran()) != 0 {
					t.Errorf("overruns %+v", b.overran())
				}
			})
		})
	}
}

// TestLateAnswerDoesNotRevive: an answer that comes after the margin revives nothing.
func TestLateAnswerDoesNotRevive(t *testing.T) {
	inBubble(t, lasts(time.Minute), func(b *bench) {
		b.assign(7)
		b.at(3*time.Second - time.Millisecond)
		b.set(func() { b.mute = true })
		b.at(3*time.Second + time.Millisecond) // renewal 1 was sent and is not answered
		b.clock.jump.Store(int64(ttl * 7 / 10))
		b.send(stream.Frame{Renewed: &stream.Renewed{N: 1}})
		if begun, ended := b.runs(); begun != 1 || ended != 1 {
			t.Errorf("%d begun, %d ended", begun, ended)
		}
	})
}

// TestHungLeaderIsLeft: a leader that hangs is left after a sixth of the TTL.
func TestHungLeaderIsLeft(t *testing.T) {
	inBubble(t, lasts(12*time.Second), func(b *bench) {
		b.assign(7)
		b.at(2 * time.Second)
		b.set(func() { b.mute = true })
		b.at(3*time.Second + ttl/6 - time.Millisecond)
		b.set(func() { b.mute = false }) // a leader answers the next Hello
		b.at(13 * time.Second)
		hellos, at := b.hellos()
		if len(hellos) != 2 || hellos[1].Session != 1 || at[1] > 3*time.Second+ttl/6+100*time.Millisecond {
			t.Errorf("hellos at %v: %+v", at, hellos)
		}
		b.span()
		b.finish()
	})
}

// TestHellosAreNumbered: the numbers of Hellos rise. They tell a Hello that was held up from the Hellos that came after
// it (SPEC L6).
func TestHellosAreNumbered(t *testing.T) {
	inBubble(t, lasts(12*time.Second), func(b *bench) {
		for i := range 3 {
			b.at(time.Duration(i+1) * time.Second)
			b.current().Close()
		}
		b.at(5 * time.Second)
		b.send(stream.Frame{NotFound: true}) // the numbers rise over sessions, too
		b.at(8 * time.Second)
		hellos, _ := b.hellos()
		if len(hellos) < 5 {
			t.Fatalf("%d hellos", len(hellos))
		}
		last := uint64(1) << helloBits
		for i, h := range hellos {
			if h.N <= last {
				t.Errorf("hello %d has number %d after %d", i, h.N, last)
			}
			last = h.N
		}
	})
}

func TestLeaderThatLostTheSession(t *testing.T) {
	for name, f := range map[string]func(*bench){
		"pushed": func(b *bench) { b.send(stream.Frame{NotFound: true}) },
		"refused": func(b *bench) {
			b.set(func() {
				b.hello = func(h *stream.Hello) *stream.Frame {
					if h.Session != 1 {
						return nil
					}
					return &stream.Frame{Refused: &stream.Refused{Code: string(task.SessionNotFound)}}
				}
			})
			b.current().Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, lasts(time.Minute), func(b *bench) {
				b.assign(7)
				b.at(time.Second)
				f(b)
				b.at(2 * time.Second)
				b.span()
				if b.sessions() != 2 {
					t.Errorf("%d sessions", b.sessions())
				}
				if reps, _ := b.reports(); len(reps) != 0 {
					t.Errorf("reports %+v", reps)
				}
				b.assign(8)
				b.at(3 * time.Second)
				if st := b.worker.Status(); st.Session != 2 || !reflect.DeepEqual(st.Executing, []uint64{8}) || !st.Connected || st.Leader != "n1" {
					t.Errorf("status %+v", st)
				}
			})
		})
	}
}

// TestAbsurdTTLIsRefused: a TTL that overflows a time.Duration is refused like a TTL that is too short. No timer is
// made of it.
func TestAbsurdTTLIsRefused(t *testing.T) {
	for _, ttl := range []task.Millis{-1, 0, 1 << 62} {
		inBubble(t, lasts(time.Second), func(b *bench) {
			b.worker.current().lose(errors.New("test"))
			b.set(func() {
				b.hello = func(h *stream.Hello) *stream.Frame {
					return &stream.Frame{Welcome: &stream.Welcome{Session: 2, TTL: ttl, Leader: "n1"}}
				}
			})
			b.current().Close()
			b.at(2 * time.Second)
			if st := b.worker.Status(); st.Session != 0 {
				t.Errorf("TTL %d: status %+v", ttl, st)
			}
		})
	}
}

func TestWorkerInUseIsWaitedFor(t *testing.T) {
	inBubble(t, lasts(time.Second), func(b *bench) {
		b.cut()
		b.worker.current().lose(errors.New("test"))
		b.set(func() {
			b.down = false
			b.hello = func(h *stream.Hello) *stream.Frame {
				if time.Since(b.start) > 10*time.Second {
					return nil
				}
				return &stream.Frame{Refused: &stream.Refused{Code: string(task.WorkerInUse)}}
			}
		})
		b.at(12 * time.Second)
		if b.worker.Status().Session != 2 {
			t.Errorf("status %+v", b.worker.Status())
		}
		if hellos, _ := b.hellos(); len(hellos) > 22 {
			t.Errorf("%d hellos in 10 s", len(hellos))
		}
		if n := strings.Count(b.log.String(), "has this worker ID"); n != 1 {
			t.Errorf("logged %d times", n)
		}
	})
}

// TestNobodyThereIsLogged: a worker that finds no cluster logs why, and it does not fill its log with this.
func TestNobodyThereIsLogged(t *testing.T) {
	inBubble(t, lasts(time.Second), func(b *bench) {
		complaints := func() int { return strings.Count(b.log.String(), "cannot reach a leader") }
		b.cut()
		for _, c := range []struct {
			at       time.Duration
			min, max int
		}{{2 * time.Second, 0, 0}, {6 * time.Second, 1, 1}, {time.Minute, 3, 6}, {time.Hour, 12, 16}, {4 * time.Hour, 28, 36}} {
			b.at(c.at)
			if n := complaints(); n < c.min || n > c.max {
				t.Errorf("%d complaints within %v, want %d to %d", n, c.at, c.min, c.max)
			}
		}
		if !strings.Contains(b.log.String(), "hub is down") {
			t.Error("the log does not say why")
		}
		// Another loss of contact is logged again.
		before := complaints()
		b.heal()
		b.at(4*time.Hour + time.Minute)
		b.cut()
		b.at(4*time.Hour + time.Minute + 6*time.Second)
		if n := complaints(); n != before+1 {
			t.Errorf("%d more complaints, want 1", n-before)
		}
	})
}

func TestRedirect(t *testing.T) {
	inBubble(t, lasts(time.Second), func(b *bench) {
		b.set(func() {
			b.hello = func(h *stream.Hello) *stream.Frame {
				if len(b.redirect) > 0 {
					return nil
				}
				return &stream.Frame{Refused: &stream.Refused{Code: stream.NotLeader, Leader: "host:1"}}
			}
		})
		b.current().Close()
		b.at(time.Second)
		if !reflect.DeepEqual(b.redirects(), []string{"host:1"}) || !b.worker.Status().Connected {
			t.Errorf("redirected to %v, status %+v", b.redirects(), b.worker.Status())
		}
	})
}
