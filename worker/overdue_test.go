package worker

import (
	"context"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// short makes a lease that is given now. The leader sees its end at 1 s + 2 s + TTL.
func (b *bench) short(a *stream.Assignment) {
	a.Task.Lease.Given = task.LeaseTime(time.Since(b.start).Milliseconds()) + 1
	a.Policy.RunTimeout, a.Policy.CancelGrace = 1000, 2000
}

func TestGuestThatOutlivesItsKillIsAnOverrun(t *testing.T) {
	var release chan struct{}
	var killedAt atomic.Int64 // milliseconds after the guest's start
	stubborn := func(ctx context.Context, _ runtime.Attempt, _ runtime.Host) runtime.Outcome {
		start := time.Now()
		<-ctx.Done() // the runtime kills a real guest at run_timeout; this guest hears only of the worker's own end
		killedAt.Store(time.Since(start).Milliseconds())
		<-release
		return runtime.Outcome{Kind: runtime.Failed, Class: runtime.ClassTimeout, Code: task.CodeTimeout}
	}
	inBubble(t, stubborn, func(b *bench) {
		release = make(chan struct{})
		b.at(time.Second) // the session goes on being renewed
		b.assign(7, b.short)
		end := time.Second + 3*time.Second + ttl
		b.at(end - ttl*30/100 - ttl*tickPercent/100)
		if at := killedAt.Load(); at != 0 {
			t.Errorf("stopped after %d ms", at)
		}
		b.at(end - ttl*20/100)
		if killedAt.Load() == 0 {
			t.Error("not stopped near the end of the lease")
		}
		if o := b.overran(); len(o) != 0 {
			t.Errorf("too early: %+v", o)
		}
		b.at(end - ttl*5/100)
		if o := b.overran(); len(o) != 1 || !reflect.DeepEqual(o[0].Tokens, []uint64{7}) || o[0].Session != 1 {
			t.Errorf("overruns %+v", o)
		}
		b.at(end + ttl)
		if o := b.overran(); len(o) != 1 {
			t.Errorf("told again: %+v", o)
		}
		close(release)
		b.at(end + 2*ttl)
		if b.sessions() != 1 {
			t.Errorf("%d sessions", b.sessions())
		}
	})
}

func TestRunThatBeganLateIsStoppedInTime(t *testing.T) {
	inBubble(t, lasts(time.Hour), func(b *bench) {
		b.at(2 * ttl)
		b.assign(7, b.short, func(a *stream.Assignment) {
			a.Task.Lease.Given -= task.LeaseTime(ttl.Milliseconds()) // it was pushed late
		})
		b.at(2*ttl + 3*time.Second)
		s := b.span()
		left := 2*ttl + 3*time.Second - time.Duration(s.Ended)
		if left < ttl*overdueExit/100 {
			t.Errorf("stopped %v before the leader gives the task away", left)
		}
		if len(b.overran()) != 0 {
			t.Errorf("overruns %+v", b.overran())
		}
	})
}

// TestNoLeaseClockNoOverrun: a leader of the former version sends no lease clock. The worker ends no lease because of
// it.
func TestNoLeaseClockNoOverrun(t *testing.T) {
	inBubble(t, lasts(time.Minute), func(b *bench) {
		b.assign(7, b.short, func(a *stream.Assignment) { a.Task.Lease.Given = 0 })
		b.at(time.Minute + time.Second)
		if f := b.finish(); f.Error != nil {
			t.Errorf("finish %+v", f)
		}
	})
}
