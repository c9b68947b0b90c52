package lead

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/node/nodetest"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// leaderBed is a leader loop over a machine of one session. A test can move the loop's clock as a standstill of the
// process does: the clock goes on, and timers fire late.
type leaderBed struct {
	mu      sync.Mutex
	machine *task.Machine
	index   uint64
	start   time.Time
	stood   time.Duration
	jumped  time.Duration   // how far the wall clock has jumped
	ticks   []time.Duration // the lease time of each Tick
	given   []task.Result   // the results of Assigns
	looks   int             // the number of calls of Stamps
	feed    nodetest.Script // the events that a test sends

	companion raftstore.Companion // the companion of a test's submits
}

func (b *leaderBed) subscribe() Subscription { return b.feed.Subscribe() }

func (b *leaderBed) Accompany(c raftstore.Companion) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.companion = c
}

func (b *leaderBed) Mono() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.monoLocked()
}

func (b *leaderBed) monoLocked() time.Duration { return time.Hour + time.Since(b.start) + b.stood }
func (b *leaderBed) now() task.Time            { return task.Time(time.Now().Add(b.jumped).UnixMilli()) }
func (b *leaderBed) Wall() time.Time           { return time.Now() }
func (b *leaderBed) Leader() (id, addr string) { return "n1", "n1" }

func (b *leaderBed) Stamps() (task.Time, task.LeaseTime, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.looks++; b.looks > 10_000 {
		panic("the loop spins")
	}
	return b.now(), task.LeaseTime(b.monoLocked().Milliseconds()), true
}

func (b *leaderBed) Local(f func(*task.Machine)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b.machine)
}

func (b *leaderBed) ProposeLocal(_ context.Context, cmds ...task.Command) ([]task.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rs, _ := b.applyLocked(cmds)
	return rs, nil
}

// applyLocked applies an entry with these commands.
func (b *leaderBed) applyLocked(cmds []task.Command) ([]task.Result, []task.Event) {
	ps := make([]task.Proposal, len(cmds))
	for i, c := range cmds {
		ps[i].Command = c
		if _, ok := c.(task.Tick); ok {
			b.ticks = append(b.ticks, b.monoLocked()-time.Hour)
		}
	}
	b.index++
	h := task.Header{Index: b.index, Term: 1, Now: b.now(), LeaseNow: task.LeaseTime(b.monoLocked().Milliseconds())}
	rs, evs := b.machine.Apply(h, ps)
	for i, c := range cmds {
		if _, ok := c.(task.Assign); ok {
			b.given = append(b.given, rs[i])
		}
	}
	return rs, evs
}

func (b *leaderBed) ticked() []time.Duration {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ticks
}

func (b *leaderBed) assigned() []task.Result {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.given
}

func (b *leaderBed) alive() bool {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.machine.Session(1) != nil
}

// withLoop runs a term whose only session expires 10 s after the beginning.
func withLoop(t *testing.T, f func(t *testing.T, b *leaderBed, tm *term)) {
	synctest.Test(t, func(t *testing.T) {
		b := &leaderBed{machine: task.NewMachine(), start: time.Now()}
		if _, err := b.ProposeLocal(t.Context(), task.OpenSession{Worker: "w1", Slots: 1, TTL: 10_000, Proof: []byte("p")}); err != nil {
			t.Fatal(err)
		}
		h := New(Config{ID: "n1", Store: b, Subscribe: b.subscribe, Clock: b, Logger: slog.New(slog.DiscardHandler)})
		h.begin(1)
		f(t, b, h.current())
		h.end()
		h.Close()
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
		tm.loop.do(func() {}) // stands for the first arrival
		time.Sleep(holdTick - 50*time.Millisecond)
		if got := b.ticked(); len(got) != 0 {
			t.Fatalf("expired at once after a standstill: %v", got)
		}
		if _, err := tm.sessions.do(t.Context(), task.RenewSession{Session: 1}); err != nil { // the renewal had waited in a buffer
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

// withDelayed runs a term with a task and a worker that is ready for it. The function due says when the task is due.
func withDelayed(t *testing.T, due func(now task.Time) task.Time, f func(t *testing.T, b *leaderBed, tm *term)) {
	withWorker(t, due, func(t *testing.T, b *leaderBed, tm *term, _ net.Conn) { f(t, b, tm) })
}

// withWorker is withDelayed, and it also hands f the worker's end of the stream.
func withWorker(t *testing.T, due func(now task.Time) task.Time, f func(t *testing.T, b *leaderBed, tm *term, far net.Conn)) {
	withLoop(t, func(t *testing.T, b *leaderBed, tm *term) {
		near, far := net.Pipe()
		conn, err := stream.New(near, stream.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		defer far.Close()
		w := newWorkerStream(tm, conn, 1, &stream.Hello{Credits: 1, Ready: []string{"m"}})
		_, err = b.ProposeLocal(t.Context(),
			task.Activate{Namespace: "default", Module: task.Module{Digest: "m", Version: "v"}, Behaviors: []task.Activated{{Name: "b-1", Policy: task.DefaultPolicy()}}},
			task.Submit{Namespace: "default", ID: "x01", Behavior: "b-1", NotBefore: due(b.now()), Priority: 4})
		if err != nil {
			t.Fatal(err)
		}
		tm.loop.do(func() { tm.loop.streams[1], tm.loop.dirty = w, true })
		synctest.Wait()
		if given := b.assigned(); len(given) > 0 {
			t.Fatalf("started too early: %v", given)
		}
		f(t, b, tm, far)
	})
}

// TestCancelFollowsItsAssignment: a worker ignores a cancel of a token that it does not know. So the assignment goes
// first, even when the loop finds both at once.
func TestCancelFollowsItsAssignment(t *testing.T) {
	for _, kind := range []task.EventKind{task.TaskCancelling, task.TaskRemoved} {
		withWorker(t, func(now task.Time) task.Time { return now + 1000 }, func(t *testing.T, b *leaderBed, tm *term, far net.Conn) {
			time.Sleep(2 * time.Second)
			synctest.Wait()
			var leases []*task.Task
			b.Local(func(m *task.Machine) { leases = m.Leases(1) })
			if len(leases) != 1 {
				t.Fatal("not assigned")
			}
			x := leases[0]
			b.feed.Send(task.Event{Kind: task.TaskAssigned, Task: x, Lease: x.Lease}, task.Event{Kind: kind, Task: x, Lease: x.Lease})
			worker, err := stream.New(far, stream.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer worker.Close()
			first, err := worker.Recv()
			if err != nil || len(first.Assign) != 1 {
				t.Fatalf("first frame %+v, %v", first, err)
			}
			if second, err := worker.Recv(); err != nil || len(second.Cancel)+len(second.Halt) != 1 {
				t.Errorf("second frame %+v, %v", second, err)
			}
		})
	}
}

func TestTaskThatARenewalMadeDueIsFound(t *testing.T) {
	withDelayed(t, func(now task.Time) task.Time { return now + 3_600_000 }, func(t *testing.T, b *leaderBed, tm *term) {
		b.mu.Lock()
		b.jumped = time.Hour
		b.mu.Unlock()
		// The first entry after the jump is a renewal. It has no events, and it leaves nothing for a Tick to do.
		if _, err := tm.sessions.do(t.Context(), task.RenewSession{Session: 1}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * wallLook)
		if given := b.assigned(); len(given) != 1 || given[0].Code != task.OK {
			t.Errorf("assigned %v, want the one due task", given)
		}
	})
}

func TestTaskOfTheFarFutureCostsNothing(t *testing.T) {
	for _, due := range []task.Time{1<<63 - 1, 253_402_300_799_000 /* the year 9999 */} {
		withDelayed(t, func(task.Time) task.Time { return due }, func(t *testing.T, b *leaderBed, tm *term) {
			for range 10 {
				if _, err := tm.sessions.do(t.Context(), task.RenewSession{Session: 1}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.looks > 1_000 {
				t.Errorf("looked at the clock %d times in 50 s", b.looks)
			}
		})
	}
}

// TestLateHelloEndsNothing: a worker has given up a connection, and its Hello waits in the connection's buffer. The
// worker has opened a session since, and its guests execute. The late Hello must not end this session (SPEC L1, L6).
func TestLateHelloEndsNothing(t *testing.T) {
	withLoop(t, func(t *testing.T, b *leaderBed, tm *term) {
		tm.hub.cfg.TTL = 10 * time.Second
		hello := func(n uint64) (*task.Session, error) {
			return tm.admit(&stream.Hello{Worker: "w2", Slots: 1, Proof: []byte("p"), N: n})
		}
		s, err := hello(2)
		if err != nil {
			t.Fatal(err)
		}
		if late, err := hello(1); err == nil {
			t.Errorf("the late Hello opened session %d", late.ID)
		}
		b.Local(func(m *task.Machine) {
			if m.Session(s.ID) == nil {
				t.Error("the late Hello ended the session")
			}
		})
		if _, err := hello(3); err != nil {
			t.Errorf("a restart: %v", err)
		}
	})
}

func TestHelloThatCannotBe(t *testing.T) {
	long := strings.Repeat("x", maxHelloText+1)
	withLoop(t, func(t *testing.T, b *leaderBed, tm *term) {
		entries := func() uint64 {
			synctest.Wait() // the term has seeded its first commands
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.index
		}
		index := entries()
		for name, h := range map[string]stream.Hello{
			"no worker":      {Slots: 1, Proof: []byte("p")},
			"no proof":       {Worker: "w", Slots: 1},
			"negative slots": {Worker: "w", Slots: -1, Proof: []byte("p")},
			"long worker":    {Worker: long, Slots: 1, Proof: []byte("p")},
			"long node":      {Worker: "w", Node: long, Slots: 1, Proof: []byte("p")},
			"long proof":     {Worker: "w", Slots: 1, Proof: []byte(long)},
		} {
			var r *refusal
			if _, err := tm.admit(&h); !errors.As(err, &r) || r.Code != string(task.InvalidCommand) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if entries() != index {
			t.Error("a refused hello cost a log entry")
		}
	})
}
