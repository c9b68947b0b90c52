package worker

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// shutdown begins the shutdown and returns how long it took.
func (b *bench) shutdown() time.Duration {
	b.t.Helper()
	start := time.Now()
	b.stop()
	err := <-b.ended
	if err != nil {
		b.t.Errorf("Run: %v", err)
	}
	b.ended <- nil // inBubble takes it
	return time.Since(start)
}

func TestIdleShutdownIsImmediate(t *testing.T) {
	inBubble(t, lasts(time.Second), func(b *bench) {
		if d := b.shutdown(); d != 0 {
			t.Errorf("took %v", d)
		}
		if b.byes() != 1 {
			t.Errorf("%d byes", b.byes())
		}
	})
}

func TestShutdownLetsGuestsEnd(t *testing.T) {
	drains := func(ctx context.Context, _ runtime.Attempt, h runtime.Host) runtime.Outcome {
		for h.Signals()&abi.SignalDraining == 0 {
			if !idle.For(ctx, 100*time.Millisecond) {
				return killed(ctx)
			}
		}
		if err := h.Checkpoint(ctx, []byte("half")); err != nil {
			return runtime.Outcome{Kind: runtime.Failed, Message: err.Error()}
		}
		return runtime.Outcome{Kind: runtime.Yielded}
	}
	inBubble(t, drains, func(b *bench) {
		b.assign(7)
		b.at(time.Second)
		if d := b.shutdown(); d > time.Second {
			t.Errorf("took %v", d)
		}
		reps, _ := b.reports()
		if len(reps) != 2 || reps[0].Beat == nil || string(reps[0].Beat.Checkpoint.Data) != "half" || reps[1].GiveBack == nil {
			t.Errorf("reports %+v", reps)
		}
		if b.byes() != 1 || b.lastCredits() != 0 {
			t.Errorf("%d byes, credits %d", b.byes(), b.lastCredits())
		}
	})
}

func TestShutdownGivesBackWhatDoesNotEnd(t *testing.T) {
	inBubble(t, lasts(time.Hour), func(b *bench) {
		b.assign(7)
		b.at(time.Second)
		go func() {
			time.Sleep(time.Second)
			b.current().Send(stream.Frame{Assign: []stream.Assignment{b.assignment(8)}}) // it was under way
		}()
		if d := b.shutdown(); d != 5*time.Second {
			t.Errorf("took %v, the drain time is 5 s", d)
		}
		b.span()
		reps, at := b.reports()
		tokens := []uint64{}
		for _, r := range reps {
			if r.GiveBack == nil {
				t.Errorf("report %+v", r)
				continue
			}
			tokens = append(tokens, r.GiveBack.Token)
		}
		if !reflect.DeepEqual(tokens, []uint64{8, 7}) || at[0] != 2*time.Second || at[1] != 6*time.Second {
			t.Errorf("gave back %v at %v", tokens, at)
		}
		if b.byes() != 1 {
			t.Errorf("%d byes", b.byes())
		}
	})
}

func TestShutdownWithoutALeaderIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(*bench)
		max  time.Duration
	}{
		"gone":    {func(b *bench) { b.cut() }, 5*time.Second + 3*2*time.Second},
		"hanging": {func(b *bench) { b.set(func() { b.mute = true }) }, 5*time.Second + 3*2*time.Second},
		"gone for long": {func(b *bench) {
			b.cut()
			b.at(20 * time.Second)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, lasts(time.Hour), func(b *bench) {
				b.assign(7)
				b.at(time.Second)
				c.lose(b)
				if d := b.shutdown(); d > c.max {
					t.Errorf("took %v, at most %v", d, c.max)
				}
				b.span()
			})
		})
	}
}

func TestShutdownWithAGuestThatDoesNotStop(t *testing.T) {
	var release chan struct{}
	stubborn := func(context.Context, runtime.Attempt, runtime.Host) runtime.Outcome {
		<-release
		return runtime.Outcome{Kind: runtime.Succeeded}
	}
	inBubble(t, stubborn, func(b *bench) {
		release = make(chan struct{})
		b.assign(7)
		b.at(time.Second)
		b.stop()
		select {
		case err := <-b.ended:
			if !errors.Is(err, ErrStuck) {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("Run waits for a guest that does not stop")
			close(release)
			return
		}
		if _, err := openDir(b.worker.cfg.Dir); !errors.Is(err, ErrDirInUse) {
			t.Errorf("the directory was unlocked: %v", err)
		}
		if b.byes() != 0 {
			t.Error("said Bye, which gives the task to others")
		}
		if reps, _ := b.reports(); len(reps) != 0 {
			t.Errorf("reports %+v", reps)
		}
		close(release)
		synctest.Wait()
		b.worker.dir.close()
		b.ended <- nil
	})
}

func TestCancelWhileDraining(t *testing.T) {
	inBubble(t, lasts(time.Hour), func(b *bench) {
		b.assign(7, func(a *stream.Assignment) { a.Policy.CancelGrace = 1000 })
		b.at(time.Second)
		go func() {
			time.Sleep(time.Second)
			b.current().Send(stream.Frame{Cancel: []uint64{7}})
		}()
		if d := b.shutdown(); d != 2*time.Second {
			t.Errorf("took %v", d)
		}
		if f := b.finish(); code(f) != task.CodeCancelled {
			t.Errorf("finish %+v", f)
		}
	})
}

func TestRunTwice(t *testing.T) {
	inBubble(t, lasts(time.Second), func(b *bench) {
		if err := b.worker.Run(b.t.Context()); err == nil {
			t.Error("a second Run")
		}
	})
}
