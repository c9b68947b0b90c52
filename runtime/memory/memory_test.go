package memory

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

func TestBudgetIsFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100, func() {})
		if err := b.Wait(t.Context(), 60); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []int64
		for _, n := range []int64{50, 10} {
			go func() {
				if err := b.Wait(t.Context(), n); err != nil {
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
		if !b.Take(40) || b.Take(1) {
			t.Error("those who run may take what is free, and no more")
		}
		b.Give(100)
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
		b := NewBudget(100, func() {})
		b.used = 100
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		got := make(chan error)
		go func() { got <- b.Wait(ctx, 90) }()
		synctest.Wait()
		behind := make(chan error)
		go func() { behind <- b.Wait(t.Context(), 10) }()
		synctest.Wait()
		b.Give(10) // enough for the second, who must wait for the first
		synctest.Wait()
		cancel(why)
		if err := <-got; !errors.Is(err, why) {
			t.Errorf("got %v", err)
		}
		if err := <-behind; err != nil || b.used != 100 || len(b.waiting) != 0 {
			t.Errorf("the next in line: %v, %d used, %d waiting", err, b.used, len(b.waiting))
		}
		if err := b.Wait(t.Context(), 101); !errors.Is(err, ErrOverBudget) {
			t.Errorf("more than there will ever be: %v", err)
		}
	})
}

func TestMemory(t *testing.T) {
	b := NewBudget(5<<16, func() {})
	m, err := New(t.Context(), b, Config{Initial: 1 << 16, Limit: 3 << 16, Reserve: 3 << 16, More: b.Take})
	if err != nil {
		t.Fatal(err)
	}
	one := m.Reallocate(1 << 16)
	one[7] = 42
	two := m.Reallocate(2 << 16)
	if len(two) != 2<<16 || two[7] != 42 || &one[0] != &two[0] || two[1<<16] != 0 || b.used != 2<<16 {
		t.Errorf("%d bytes, budget %d", len(two), b.used)
	}
	if m.Reallocate(4<<16) != nil || m.refused != OverLimit || m.peak != 2<<16 || b.used != 2<<16 {
		t.Errorf("refused %d, peak %d, budget %d", m.refused, m.peak, b.used)
	}
	other, err := New(t.Context(), b, Config{Initial: 3 << 16, Limit: 3 << 16, Reserve: 3 << 16, More: b.Take})
	if err != nil {
		t.Fatal(err)
	}
	if m.Reallocate(3<<16) != nil || m.refused != OverBudget {
		t.Errorf("refused %d", m.refused)
	}
	m.Free()
	m.Free()
	other.Free()
	if b.used != 0 {
		t.Errorf("budget %d", b.used)
	}
}
