package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/audit"
)

// told collects what the log is told, and when.
type told struct {
	fail atomic.Bool

	mu  sync.Mutex
	all []task.Refusal
	at  []time.Time
}

func (l *told) note(_ context.Context, some []task.Refusal) bool {
	if l.fail.Load() {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range some {
		l.all, l.at = append(l.all, x), append(l.at, time.Now())
	}
	return false
}

func (l *told) count() (n int64) {
	all, _ := l.now()
	for _, x := range all {
		n += x.Count
	}
	return n
}

// now is what the log was told so far, and when.
func (l *told) now() ([]task.Refusal, []time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all), slices.Clone(l.at)
}

// known is how many kinds of refusals a counter knows now.
func known(r *Refusals) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.kinds)
}

// running starts a counter in a bubble.
func running(t *testing.T, fn func(r *Refusals, l *told)) {
	synctest.Test(t, func(t *testing.T) {
		r, l := NewRefusals(), &told{}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.Run(ctx, l.note) }()
		fn(r, l)
		cancel()
		<-done
	})
}

// TestRefusals: a kind of refusals is told within a second, and then once a minute with all that were counted meanwhile (SPEC A8).
func TestRefusals(t *testing.T) {
	running(t, func(r *Refusals, l *told) {
		x := auth.Refusal{Token: 2, From: strings.Repeat("a", 100), Route: "GET /v1/tasks", Namespace: "lab"}
		r.Count(x)
		r.Count(auth.Refusal{Route: "GET /v1/tasks"}) // of nobody with a number
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		all, _ := l.now()
		if len(all) != 1 || all[0] != (task.Refusal{Token: 2, From: x.From[:audit.MaxFrom], Route: x.Route, Namespace: "lab", Count: 1}) {
			t.Fatalf("%+v", all)
		}
		for range 300 { // for five minutes
			r.Count(x)
			time.Sleep(time.Second)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		all, at := l.now()
		if l.count() != 301 || len(all) < 6 || len(all) > 7 {
			t.Errorf("%d told, %d in all", len(all), l.count())
		}
		for i := 1; i < len(at); i++ {
			if at[i].Sub(at[i-1]) < time.Minute {
				t.Errorf("told at %v and at %v", at[i-1], at[i])
			}
		}
		if known(r) != 0 {
			t.Errorf("%d kinds are kept for nothing", known(r))
		}
	})
}

// TestRefusalsAreBounded: whatever comes, ten kinds a second are told, and memory is bounded; what cannot be told is told later (SPEC A8).
func TestRefusalsAreBounded(t *testing.T) {
	running(t, func(r *Refusals, l *told) {
		const kinds = 5000
		for n := range kinds {
			r.Count(auth.Refusal{Token: uint64(2 + n%3), Route: "GET /v1/tasks", Namespace: fmt.Sprint(n)})
		}
		if known(r) > maxKinds+3 {
			t.Fatalf("%d kinds", known(r))
		}
		synctest.Wait()
		l.fail.Store(true)
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		l.fail.Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		all, _ := l.now()
		if len(all) < 90 || len(all) > 110 || all[0].Route != otherKind || all[0].Count < 1000 {
			t.Errorf("%d told in 10 s, first %+v", len(all), all[0])
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if l.count() != kinds {
			t.Errorf("%d told of %d", l.count(), kinds)
		}
		for n := range 3 * maxKinds {
			r.Count(auth.Refusal{Token: uint64(2 + n), Route: "r"})
		}
		if known(r) > 2*maxKinds {
			t.Errorf("%d kinds of as many tokens", known(r))
		}
	})
}
