package node

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/task"
)

// leaderBed is a leader loop over a machine of one session, whose clock a test can move as a standstill of the process
// does: the clock goes on, timers fire late.
type leaderBed struct {
	mu      sync.Mutex
	machine *task.Machine
	index   uint64
	start   time.Time
	stood   time.Duration
	ticks   []time.Duration // lease time of each Tick
}

func (b *leaderBed) Mono() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.monoLocked()
}

func (b *leaderBed) monoLocked() time.Duration { return time.Hour + time.Since(b.start) + b.stood }
func (b *leaderBed) Wall() time.Time           { return time.Now() }
func (b *leaderBed) Leader() (id, addr string) { return "n1", "n1" }

func (b *leaderBed) Stamps() (task.Time, task.LeaseTime, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return task.Time(time.Now().UnixMilli()), task.LeaseTime(b.monoLocked().Milliseconds()), true
}

func (b *leaderBed) Local(f func(*task.Machine)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b.machine)
}

func (b *leaderBed) ProposeLocal(_ context.Context, cmds ...task.Command) ([]task.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ps := make([]task.Proposal, len(cmds))
	for i, c := range cmds {
		ps[i].Command = c
		if _, ok := c.(task.Tick); ok {
			b.ticks = append(b.ticks, b.monoLocked()-time.Hour)
		}
	}
	b.index++
	h := task.Header{Index: b.index, Term: 1, Now: task.Time(time.Now().UnixMilli()), LeaseNow: task.LeaseTime(b.monoLocked().Milliseconds())}
	rs, _ := b.machine.Apply(h, ps)
	return rs, nil
}

func (b *leaderBed) ticked() []time.Duration {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ticks
}

func (b *leaderBed) alive() bool {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.machine.Session(1) != nil
}

// withLoop runs a term whose only session expires 10 s after its beginning.
func withLoop(t *testing.T, f func(t *testing.T, b *leaderBed, tm *term)) {
	synctest.Test(t, func(t *testing.T) {
		b := &leaderBed{machine: task.NewMachine(), start: time.Now()}
		if _, err := b.ProposeLocal(t.Context(), task.OpenSession{Worker: "w1", Slots: 1, TTL: 10_000, Proof: []byte("p")}); err != nil {
			t.Fatal(err)
		}
		h := newHub(hubConfig{id: "n1", store: b, subscribe: (&script{}).subscribe, clock: b, logger: slog.New(slog.DiscardHandler)})
		h.begin(1)
		f(t, b, h.current())
		h.end()
		h.close()
	})
}

func TestTickAtExpiry(t *testing.T) {
	withLoop(t, func(t *testing.T, b *leaderBed, _ *term) {
		time.Sleep(9999 * time.Millisecond)
		if got := b.ticked(); len(got) != 0 {
			t.Fatalf("too early: %v", got)
		}
		time.Sleep(time.Millisecond)
		if got := b.ticked(); len(got) != 1 || got[0] != 10*time.Second {
			t.Fatalf("ticks %v, want one at 10 s", got)
		}
		if b.alive() {
			t.Error("the session has not ended")
		}
		time.Sleep(time.Hour)
		if got := b.ticked(); len(got) != 1 {
			t.Errorf("an idle leader ticks: %v", got)
		}
	})
}

func TestRenewalMovesTheTick(t *testing.T) {
	withLoop(t, func(t *testing.T, b *leaderBed, tm *term) {
		for range 5 {
			time.Sleep(6 * time.Second)
			if _, err := tm.sessions.do(t.Context(), task.RenewSession{Session: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if !b.alive() {
			t.Fatal("expired although renewed")
		}
		time.Sleep(11 * time.Second)
		if b.alive() {
			t.Error("still there after its TTL")
		}
	})
}

func TestStandstillHoldsBackExpiry(t *testing.T) {
	withLoop(t, func(t *testing.T, b *leaderBed, tm *term) {
		time.Sleep(5 * time.Second)
		b.mu.Lock()
		b.stood = 6 * time.Second // now it is 11 s, and the timer for 10 s has not fired
		b.mu.Unlock()
		tm.loop.do(func() {}) // whatever arrives first
		time.Sleep(holdTick - 50*time.Millisecond)
		if got := b.ticked(); len(got) != 0 {
			t.Fatalf("expired at once after a standstill: %v", got)
		}
		if _, err := tm.sessions.do(t.Context(), task.RenewSession{Session: 1}); err != nil { // it had waited in a buffer
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if !b.alive() {
			t.Error("the renewal came too late")
		}
		time.Sleep(10 * time.Second)
		if b.alive() {
			t.Error("held back for ever")
		}
	})
}
