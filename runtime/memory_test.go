package runtime

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestBudgetIsFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &budget{limit: 100}
		if err := b.wait(t.Context(), 60); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []int64
		for _, n := range []int64{50, 10} {
			go func() {
				if err := b.wait(t.Context(), n); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, n)
			}()
			synctest.Wait()
		}
		mu.Lock()
		if len(order) != 0 || b.used != 60 {
			t.Errorf("%v were let in before their turn, %d used", order, b.used)
		}
		mu.Unlock()
		if !b.take(40) || b.take(1) {
			t.Error("those who run may take what is free, and no more")
		}
		b.give(100)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(order) != 2 || b.used != 60 {
			t.Errorf("let in %v, %d used", order, b.used)
		}
	})
}

func TestBudgetWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &budget{limit: 100, used: 100}
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		got := make(chan error)
		go func() { got <- b.wait(ctx, 90) }()
		synctest.Wait()
		behind := make(chan error)
		go func() { behind <- b.wait(t.Context(), 10) }()
		synctest.Wait()
		b.give(10) // enough for the second, who must wait for the first
		synctest.Wait()
		cancel(why)
		if err := <-got; !errors.Is(err, why) {
			t.Errorf("got %v", err)
		}
		if err := <-behind; err != nil || b.used != 100 || len(b.waiting) != 0 {
			t.Errorf("the next in line: %v, %d used, %d waiting", err, b.used, len(b.waiting))
		}
		if err := b.wait(t.Context(), 101); !errors.Is(err, errOverBudget) {
			t.Errorf("more than there will ever be: %v", err)
		}
	})
}

func TestLinearMemory(t *testing.T) {
	b := &budget{limit: 5 << 16}
	m, err := newLinearMemory(t.Context(), b, 1<<16, 3<<16, 0)
	if err != nil {
		t.Fatal(err)
	}
	one := m.Reallocate(1 << 16)
	one[7] = 42
	two := m.Reallocate(2 << 16)
	if len(two) != 2<<16 || two[7] != 42 || &one[0] != &two[0] || two[1<<16] != 0 || b.used != 2<<16 {
		t.Errorf("%d bytes, budget %d", len(two), b.used)
	}
	if m.Reallocate(4<<16) != nil || m.refused != overLimit || m.peak != 2<<16 || b.used != 2<<16 {
		t.Errorf("refused %d, peak %d, budget %d", m.refused, m.peak, b.used)
	}
	other, err := newLinearMemory(t.Context(), b, 3<<16, 3<<16, 0)
	if err != nil {
		t.Fatal(err)
	}
	if m.Reallocate(3<<16) != nil || m.refused != overBudget {
		t.Errorf("refused %d", m.refused)
	}
	m.Free()
	m.Free()
	other.Free()
	if b.used != 0 {
		t.Errorf("budget %d", b.used)
	}
}

// Two guests that need the same memory run one after the other.
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

// Memory that others have taken is no fault of the guest: the failure says so, and is retryable.
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
