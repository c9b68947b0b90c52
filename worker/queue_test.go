package worker

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/worker/stream"
)

// assignAll assigns tokens 1 to n at once, one second after the start. The module is ready then.
func (b *bench) assignAll(n uint64) {
	if _, err := b.worker.modules.get(b.t.Context(), stream.Module{Digest: digest}); err != nil {
		b.t.Fatal(err)
	}
	b.at(time.Second)
	var as []stream.Assignment
	for token := range n {
		as = append(as, b.assignment(token+1))
	}
	b.send(stream.Frame{Assign: as})
}

// TestQueueKeepsItsOrder: runs get slots in the order in which they came. At no time more runs execute than there are
// slots.
func TestQueueKeepsItsOrder(t *testing.T) {
	inBubble(t, lasts(10*time.Millisecond), func(b *bench) {
		b.assignAll(22)
		b.at(1005 * time.Millisecond)
		if begun, ended := b.runs(); begun != 4 || ended != 0 {
			t.Errorf("%d begun, %d ended", begun, ended)
		}
		b.at(2 * time.Second)
		b.bmu.Lock()
		defer b.bmu.Unlock()
		spans := slices.SortedFunc(slices.Values(b.spans), func(a, b Run) int { return cmp.Compare(a.Token, b.Token) })
		if len(spans) != 22 {
			t.Fatalf("%d have run", len(spans))
		}
		for i, s := range spans {
			if want := spans[0].Started + int64(i/4)*int64(10*time.Millisecond); s.Started != want {
				t.Errorf("token %d began %v late", s.Token, time.Duration(s.Started-want))
			}
		}
	})
}

// TestQueueIsLeft: a run that waits for a slot is stopped. It no longer waits, and the runs behind it go on.
func TestQueueIsLeft(t *testing.T) {
	held := func(b *bench, what string, want ...uint64) {
		t.Helper()
		if st := b.worker.Status(); !slices.Equal(st.Held, want) {
			t.Errorf("%s: held %v, want %v", what, st.Held, want)
		}
	}
	g := func(ctx context.Context, _ runtime.Attempt, _ runtime.Host) runtime.Outcome { // it takes its time, even when it is stopped
		idle.For(context.WithoutCancel(ctx), 50*time.Millisecond)
		return runtime.Outcome{Kind: runtime.Succeeded}
	}
	t.Run("halt and cancel", func(t *testing.T) {
		inBubble(t, g, func(b *bench) {
			b.assignAll(8)
			b.send(stream.Frame{Halt: []uint64{5}})
			b.send(stream.Frame{Cancel: []uint64{6}})
			b.at(1001 * time.Millisecond)
			held(b, "at once", 1, 2, 3, 4, 7, 8)
			if reps, _ := b.reports(); len(reps) != 1 || reps[0].Finish == nil || reps[0].Finish.Token != 6 || reps[0].Finish.Error == nil {
				t.Errorf("reports %+v", reps)
			}
			b.at(2 * time.Second)
			if begun, ended := b.runs(); begun != 6 || ended != 6 {
				t.Errorf("%d begun, %d ended", begun, ended)
			}
			held(b, "in the end")
		})
	})
	t.Run("session over", func(t *testing.T) {
		inBubble(t, g, func(b *bench) {
			b.assignAll(8)
			b.at(1001 * time.Millisecond)
			b.send(stream.Frame{NotFound: true})
			b.at(1002 * time.Millisecond)
			held(b, "at once", 1, 2, 3, 4)
			if reps, _ := b.reports(); len(reps) != 0 {
				t.Errorf("reports %+v", reps)
			}
			b.at(2 * time.Second)
			if begun, ended := b.runs(); begun != 4 || ended != 4 || b.sessions() != 2 {
				t.Errorf("%d begun, %d ended, %d sessions", begun, ended, b.sessions())
			}
		})
	})
	t.Run("shutdown", func(t *testing.T) {
		inBubble(t, lasts(time.Hour), func(b *bench) {
			b.worker.cfg.DrainTime = aheadPatience / 2
			b.assignAll(8)
			b.at(1001 * time.Millisecond)
			if d := b.shutdown(); d != aheadPatience/2 {
				t.Errorf("took %v", d)
			}
			reps, _ := b.reports()
			gave := map[uint64]bool{}
			for _, r := range reps {
				if r.GiveBack != nil {
					gave[r.GiveBack.Token] = true
				}
			}
			if len(gave) != 8 {
				t.Errorf("given back %v", gave)
			}
		})
	})
}

// TestQueueForgets: runs that left before their turn do not stay in memory when their turn would have come.
func TestQueueForgets(t *testing.T) {
	l := newQueue(0) // nobody gets a slot
	l.armed = true
	for range 3 {
		var runs []*run
		for range 1000 {
			r := &run{}
			l.join(r)
			runs = append(runs, r)
		}
		for _, r := range runs[:999] {
			if !l.leave(r) || l.leave(r) {
				t.Fatal("left twice, or not at all")
			}
		}
		if r := l.headLocked(); r != runs[999] || l.length != 1 || len(l.runs)-l.first != 1 || len(l.runs) > 1000 {
			t.Fatalf("head %p, %d of %d from %d", r, l.length, len(l.runs), l.first)
		}
		l.popLocked(runs[999])
		if len(l.runs) != 0 || l.first != 0 || l.headLocked() != nil {
			t.Fatalf("%d from %d", len(l.runs), l.first)
		}
	}
}
