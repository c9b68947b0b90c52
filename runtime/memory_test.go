package runtime

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestRunWaitsForMemory: two guests that need the same memory run one after the other.
func TestRunWaitsForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, Config{MemoryBudget: 1 << 16})
		m := load(t, e, guestFile(t, "wait")) // one page
		begin := time.Now()
		ended := make(chan time.Duration)
		for range 2 {
			go func() {
				out := m.Run(t.Context(), Attempt{Params: []byte("1000")}, &fakeHost{})
				if out.Kind != Succeeded || out.PeakMemory != 1<<16 {
					t.Errorf("got %+v", out)
				}
				ended <- time.Since(begin)
			}()
		}
		if a, b := <-ended, <-ended; a != time.Second || b != 2*time.Second {
			t.Errorf("ended after %v and %v", a, b)
		}

		// Waiting counts as run time.
		go func() {
			m.Run(t.Context(), Attempt{Params: []byte("10000")}, &fakeHost{})
			ended <- 0
		}()
		synctest.Wait()
		out := m.Run(t.Context(), Attempt{Params: []byte("1"), RunTimeout: time.Second}, &fakeHost{})
		if out.Code != CodeTimeout || out.Started != 0 {
			t.Errorf("got %+v", out)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(ErrKilledStop) })
		if out = m.Run(ctx, Attempt{}, &fakeHost{}); out.Kind != Killed || !errors.Is(out.Cause, ErrKilledStop) {
			t.Errorf("got %+v", out)
		}
		<-ended
	})
}

// TestBudgetRefusesGrow: a guest is not to blame for memory that others have taken: the failure says so, and is
// retryable.
func TestBudgetRefusesGrow(t *testing.T) {
	e := newEngine(t, Config{MemoryBudget: 2 << 20})
	out := load(t, e, guestFile(t, "grow")).Run(t.Context(), Attempt{MemoryBytes: 4 << 20}, &fakeHost{})
	if out.Code != CodeOutOfMemory || out.Class != ClassGuest || !out.Retryable || out.PeakMemory != 2<<20 {
		t.Errorf("got %+v", out)
	}
	tooBig := wasmSpec{memory: []byte{0, 40}, exports: []wasmExport{succeed}}.build()
	out = load(t, e, tooBig).Run(t.Context(), Attempt{MemoryBytes: 4 << 20}, &fakeHost{})
	if out.Code != CodeOutOfMemory || !out.Retryable || out.Started != 0 {
		t.Errorf("got %+v", out)
	}
	if used := usedByGuests(e); used != 0 {
		t.Errorf("budget %d", used)
	}
}
