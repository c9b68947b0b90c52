package worker

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/worker/stream"
)

const nativeName = "native:sweep"

func withNative(g guest) func(*Config) {
	return func(c *Config) { c.Native = map[string]Guest{nativeName: g} }
}

func ofNative(a *stream.Assignment) { a.Module = stream.Module{Digest: nativeName} }

// TestNative: a built-in behavior is ready from Hello on. It runs without a module, under the session and its slots.
func TestNative(t *testing.T) {
	inBubble(t, lasts(time.Second), func(b *bench) {
		hellos, _ := b.hellos()
		if len(hellos) != 1 || !reflect.DeepEqual(hellos[0].Ready, []string{nativeName}) {
			t.Fatalf("hellos %+v", hellos)
		}
		b.assign(7, ofNative)
		b.at(time.Second)
		if st := b.worker.Status(); !reflect.DeepEqual(st.Executing, []uint64{7}) || b.lastCredits() != 3 {
			t.Errorf("status %+v, credits %d", st, b.lastCredits())
		}
		b.at(4 * time.Second)
		b.span()
		if f := b.finish(); f.Token != 7 || string(f.Result.Data) != `"done"` || b.loaded() != 0 {
			t.Errorf("finish %+v, %d loads", f, b.loaded())
		}
	}, withNative(lasts(2*time.Second)))
}

// TestOnlyNative: a worker without a Runner is ready for built-in behaviors. It gives back a module's task.
func TestOnlyNative(t *testing.T) {
	alone := func(c *Config) { c.Modules, c.Runner = nil, nil }
	inBubble(t, nil, func(b *bench) {
		b.send(prepare(digest))
		b.assign(7, ofNative)
		b.assign(8)
		b.at(5 * time.Second)
		b.span()
		finished, given := uint64(0), uint64(0)
		reps, _ := b.reports()
		for _, r := range reps {
			if r.Finish != nil {
				finished += r.Finish.Token
			}
			if r.GiveBack != nil {
				given += r.GiveBack.Token
			}
		}
		if len(reps) != 2 || finished != 7 || given != 8 {
			t.Errorf("reports %+v", reps)
		}
	}, withNative(lasts(2*time.Second)), alone)
	cfg := Config{ID: "w", Dir: "d", Dial: &hub{}}
	if err := cfg.Validate(); err == nil {
		t.Error("it could run nothing")
	}
	if cfg.Runner = (&bench{}); cfg.Validate() == nil {
		t.Error("a Runner without Modules")
	}
}

// TestNativeIsFenced: the context of a built-in behavior ends with the session, at a halt, and at a shutdown. The
// shutdown gives back the task (SPEC L3, L5, R3).
func TestNativeIsFenced(t *testing.T) {
	causes := make(chan error, 1)
	endless := guest(func(ctx context.Context, _ runtime.Attempt, _ runtime.Host) runtime.Outcome {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return killed(ctx)
	})
	t.Run("session lost", func(t *testing.T) {
		inBubble(t, nil, func(b *bench) {
			b.assign(7, ofNative)
			b.set(func() { b.mute = true })
			b.at(ttl * 80 / 100)
			if b.span(); len(b.overran()) != 0 {
				t.Errorf("overruns %+v", b.overran())
			}
			<-causes
			b.set(func() { b.mute = false })
		}, withNative(endless))
	})
	t.Run("halt", func(t *testing.T) {
		inBubble(t, nil, func(b *bench) {
			b.assign(7, ofNative)
			b.at(500 * time.Millisecond)
			b.send(stream.Frame{Halt: []uint64{7}})
			b.at(time.Second)
			b.span()
			<-causes
			if reps, _ := b.reports(); len(reps) != 0 {
				t.Errorf("reports %+v", reps)
			}
		}, withNative(endless))
	})
	t.Run("shutdown", func(t *testing.T) {
		inBubble(t, nil, func(b *bench) {
			b.assign(7, ofNative)
			b.stop()
			b.at(20 * time.Second)
			<-causes
			if reps, _ := b.reports(); len(reps) != 1 || reps[0].GiveBack == nil {
				t.Errorf("reports %+v", reps)
			}
		}, withNative(endless))
	})
}

// TestNotBuiltIn: an assignment of a behavior that is not built in here is given back. Nobody is asked for its bytes.
func TestNotBuiltIn(t *testing.T) {
	inBubble(t, lasts(time.Second), func(b *bench) {
		b.send(prepare(nativeName))
		b.assign(7, ofNative)
		b.at(5 * time.Second)
		if reps, _ := b.reports(); len(reps) != 1 || reps[0].GiveBack == nil || b.loaded() != 0 {
			t.Errorf("reports %+v, %d loads", reps, b.loaded())
		}
	})
	for name, native := range map[string]map[string]Guest{"digest": {digest: lasts(0)}, "nil": {nativeName: nil}} {
		if err := (Config{ID: "w", Dir: "d", Dial: &hub{}, Modules: &bench{}, Runner: &bench{}, Native: native}).Validate(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
