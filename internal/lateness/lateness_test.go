package lateness

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestMeter: what a tick comes late counts, also before it has come; the worst is forgotten after half a minute.
func TestMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Meter{}
		at := func(what string, total, worst time.Duration) {
			t.Helper()
			if gotTotal, gotWorst := m.Total(), m.Worst(); gotTotal != total || gotWorst != worst {
				t.Errorf("%s: late by %v, at most %v; want %v, %v", what, gotTotal, gotWorst, total, worst)
			}
		}
		<-time.After(time.Minute)
		at("before it runs", 0, 0)
		m.expect(time.Now())
		<-time.After(period)
		m.tick(time.Now())
		at("in time", 0, 0)
		<-time.After(period + noise)
		m.tick(time.Now())
		at("by what timers are late", 0, 0)
		<-time.After(period + 3*time.Second)
		at("overdue", 3*time.Second, 3*time.Second)
		m.tick(time.Now())
		at("late", 3*time.Second, 3*time.Second)
		<-time.After(period + time.Second)
		m.tick(time.Now())
		at("late again", 4*time.Second, 3*time.Second)
		for end := time.Now().Add(recent - 7*time.Second); time.Now().Before(end); m.tick(time.Now()) {
			<-time.After(period)
		}
		at("after 24 s", 4*time.Second, 3*time.Second)
		for end := time.Now().Add(8 * time.Second); time.Now().Before(end); m.tick(time.Now()) {
			<-time.After(period)
		}
		at("after half a minute", 4*time.Second, 0)
		<-time.After(time.Hour + period)
		at("stopped for an hour", time.Hour+4*time.Second, time.Hour)
		m.tick(time.Now())
		at("after the hour", time.Hour+4*time.Second, time.Hour)
	})
}

// TestRun: a Meter that runs finds nothing in virtual time, and measures nothing when it has ended.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Meter{}
		ctx, cancel := context.WithCancel(t.Context())
		go m.Run(ctx)
		<-time.After(time.Minute)
		if m.Total() != 0 || m.Worst() != 0 {
			t.Errorf("late by %v", m.Total())
		}
		cancel()
		synctest.Wait()
		<-time.After(time.Minute)
		if m.Total() != 0 {
			t.Errorf("late by %v after its end", m.Total())
		}
	})
}

// TestThread: a thread that computes beside others on one processor waits for it, and the kernel says so.
func TestThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, ok := Current().Delay(); !ok {
		t.Skip("SKIPPED, NOT SHOWN: this system does not tell how long a thread waits for a processor")
	}
	me := Current()
	done := make(chan time.Duration)
	go func() { // another thread can ask
		d, _ := me.Delay()
		done <- d
	}()
	before := <-done
	var stop atomic.Bool
	defer stop.Store(true)
	for range 4 * runtime.NumCPU() {
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			for !stop.Load() {
				continue
			}
		}()
	}
	for end := time.Now().Add(time.Minute); ; {
		if now, _ := me.Delay(); now > before {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the thread has waited for nothing")
		}
		runtime.Gosched()
	}
}
