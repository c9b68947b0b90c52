package raftstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// heldRaft keeps entries in flight until the test answers them.
type heldRaft struct {
	mu   sync.Mutex
	held []*heldEntry
}

type heldEntry struct {
	proposals []task.Proposal
	done      chan error
}

func (r *heldRaft) Enter() bool { return true }
func (r *heldRaft) Leave()      {}

func (r *heldRaft) Apply(data []byte, _ time.Duration) raft.ApplyFuture {
	_, ps, err := wire.DecodeEntry(data)
	if err != nil {
		panic(err)
	}
	e := &heldEntry{ps, make(chan error, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = append(r.held, e)
	return heldFuture{e}
}

// sizes returns the number of commands of each entry in flight.
func (r *heldRaft) sizes() (ns []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.held {
		ns = append(ns, len(e.proposals))
	}
	return ns
}

func (r *heldRaft) answer(err error) {
	r.mu.Lock()
	e := r.held[0]
	r.held = r.held[1:]
	r.mu.Unlock()
	e.done <- err
}

type heldFuture struct{ *heldEntry }

func (f heldFuture) Error() error  { return <-f.done }
func (f heldFuture) Index() uint64 { return 0 }
func (f heldFuture) Response() any {
	rs := make([]task.Result, len(f.proposals))
	for i, p := range f.proposals {
		switch c := p.Command.(type) {
		case task.Cancel:
			rs[i].Message = c.Key.ID
		case task.Submit:
			rs[i].Message = c.ID
		}
	}
	return rs
}

type batchTest struct {
	*batcher
	raft *heldRaft
}

// inBatcher runs f with a batcher that leads.
func inBatcher(t *testing.T, f func(t *testing.T, b batchTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{QueueCommands: 10_000, QueueBytes: 8 << 20, QueueWait: 250 * time.Millisecond, QueueAge: 2 * time.Second}
		var wg sync.WaitGroup
		b := batchTest{raft: &heldRaft{}}
		b.batcher = newBatcher(&cfg, b.raft)
		ctx, cancel := context.WithCancel(t.Context())
		b.open(&termState{term: 1})
		wg.Go(func() { b.run(ctx, newStamper(SystemClock(), 0, 0)) })
		defer func() { // even when the test has failed: the batcher's timer would run for ever in the bubble
			for len(b.raft.sizes()) > 0 {
				b.raft.answer(nil)
				synctest.Wait()
			}
			b.close(nil)
			cancel()
			wg.Wait()
		}()
		f(t, b)
	})
}

// put queues n commands as one call. The channel gets the call at its end.
func (b batchTest) put(t *testing.T, n int, size int) (*call, chan *call) {
	t.Helper()
	done := make(chan *call, 1)
	c := callOf(t, n, size, func(i int, pad string) task.Command {
		return task.Cancel{Key: task.Key{Namespace: pad, ID: fmt.Sprint(i)}}
	}, func(c *call) { done <- c })
	if err := b.submit(c); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return c, done
}

// callOf returns a call of n commands that weigh size bytes each, with padding if need be. By default a command is so
// small that an entry takes all of a group.
func callOf(t *testing.T, n, size int, command func(i int, pad string) task.Command, notify func(*call)) *call {
	t.Helper()
	size = cmp.Or(size, maxEntryBytes/maxCommands)
	cmds := make([]task.Command, n)
	pad := 0
	for i := range cmds {
		for tries := 0; ; tries++ {
			cmds[i] = command(i, strings.Repeat("x", pad))
			short := size - packed(t, cmds[i]).Size(0)
			if short == 0 {
				break
			}
			if pad += short; pad < 0 || tries == 5 {
				t.Fatalf("no command weighs %d bytes", size)
			}
		}
	}
	return newCall(proposalsOf(cmds), packed(t, cmds...), notify)
}

func proposalsOf(cmds []task.Command) []task.Proposal {
	ps := make([]task.Proposal, len(cmds))
	for i, c := range cmds {
		ps[i].Command = c
	}
	return ps
}

// packed encodes any number of commands.
func packed(t testing.TB, cmds ...task.Command) wire.Bodies {
	t.Helper()
	bodies, err := wire.Pack(cmds, func(int, int) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return bodies
}

func equal(a []int, b ...int) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// TestGroupCommit tests the rule of docs/architecture.md#group-commit.
func TestGroupCommit(t *testing.T) {
	inBatcher(t, func(t *testing.T, b batchTest) {
		b.put(t, 1, 0)
		if s := b.raft.sizes(); !equal(s, 1) {
			t.Fatalf("nothing in flight, not sent at once: %v", s)
		}
		b.put(t, 255, 0)
		if s := b.raft.sizes(); !equal(s, 1) {
			t.Fatalf("255 commands sent beside one in flight: %v", s)
		}
		b.put(t, 1, 0)
		if s := b.raft.sizes(); !equal(s, 1, 256) {
			t.Fatalf("256 commands not sent: %v", s)
		}
		b.put(t, 1, enoughBytes)
		if s := b.raft.sizes(); !equal(s, 1, 256, 1) {
			t.Fatalf("64 KiB not sent: %v", s)
		}
		b.put(t, 2000, 0)
		if s := b.raft.sizes(); !equal(s, 1, 256, 1, maxCommands) {
			t.Fatalf("%v", s)
		}
		b.raft.answer(nil)
		synctest.Wait()
		if s := b.raft.sizes(); !equal(s, 256, 1, maxCommands, 2000-maxCommands) {
			t.Fatalf("no more than %d groups in flight, and another when one is done: %v", maxInFlight, s)
		}
	})
}

// TestEntryBytes: groups and entries have a bound in bytes, and a single large command still goes.
func TestEntryBytes(t *testing.T) {
	inBatcher(t, func(t *testing.T, b batchTest) {
		b.put(t, 1, 0)
		b.put(t, 3, 200<<10)
		if s := b.raft.sizes(); !equal(s, 1, 1, 1, 1) || b.inFlight != 3 {
			t.Fatalf("3 commands of 200 KiB: %v in %d groups", s, b.inFlight)
		}
		b.put(t, 1, 2<<20)
		if s := b.raft.sizes(); !equal(s, 1, 1, 1, 1, 1) || b.inFlight != 4 {
			t.Fatalf("one command of 2 MiB: %v in %d groups", s, b.inFlight)
		}
		c := callOf(t, 1, maxCommandBytes+1, func(_ int, pad string) task.Command { return task.Cancel{Key: task.Key{Namespace: pad}} }, nil)
		if err := b.submit(c); !errors.Is(err, ErrTooLarge) {
			t.Fatal(err)
		}
	})
}

// TestGroupOfEntries: a large group is several entries that are on the way together. It counts as one group in flight
// until its last entry is answered.
func TestGroupOfEntries(t *testing.T) {
	inBatcher(t, func(t *testing.T, b batchTest) {
		c, done := b.put(t, 250, maxEntryBytes/100)
		_, other := b.put(t, 10, maxEntryBytes/100) // it waits behind, in a group of its own
		if s := b.raft.sizes(); !equal(s, 100, 100, 50) || b.inFlight != 1 {
			t.Fatalf("%v in %d groups", s, b.inFlight)
		}
		for i := range 3 {
			if len(done) > 0 || b.inFlight != 1 || b.lanes[urgentLane].commands != 10 {
				t.Fatalf("after %d of 3 entries: answered %d, %d groups in flight, %d commands wait", i, len(done), b.inFlight, b.lanes[urgentLane].commands)
			}
			b.raft.answer(nil)
			synctest.Wait()
		}
		if s := b.raft.sizes(); len(done) != 1 || c.err != nil || !equal(s, 10) {
			t.Fatalf("answered %d with %v, then %v", len(done), c.err, s)
		}
		for i, r := range c.results {
			if r.Message != fmt.Sprint(i) {
				t.Fatalf("result %d is of command %s", i, r.Message)
			}
		}
		b.raft.answer(nil)
		synctest.Wait()
		if b.inFlight != 0 || b.lanes[urgentLane].bytes != 0 || len(b.lanes[urgentLane].calls) != 0 || len(other) != 1 {
			t.Fatalf("at the end: %d in flight, %d bytes, %d calls, answered %d", b.inFlight, b.lanes[urgentLane].bytes, len(b.lanes[urgentLane].calls), len(other))
		}
	})
}

// TestCallOverEntries: a call in several entries gets its results in order, and it ends with the worst end of the
// entries.
func TestCallOverEntries(t *testing.T) {
	for _, tc := range []struct {
		name string
		ends []error
		want error
	}{
		{"all applied", []error{nil, nil, nil}, nil},
		{"none proposed", []error{raft.ErrNotLeader, raft.ErrLeadershipTransferInProgress, raft.ErrEnqueueTimeout}, ErrNotLeader},
		{"some applied", []error{nil, raft.ErrNotLeader, raft.ErrNotLeader}, ErrOutcomeUnknown},
		{"the last one applied", []error{raft.ErrNotLeader, raft.ErrNotLeader, nil}, ErrOutcomeUnknown},
		{"leadership lost", []error{raft.ErrLeadershipLost, nil, nil}, ErrOutcomeUnknown},
		{"shut down", []error{raft.ErrRaftShutdown, raft.ErrRaftShutdown, raft.ErrRaftShutdown}, ErrOutcomeUnknown},
		{"disk", []error{errInjected, nil, nil}, ErrOutcomeUnknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBatcher(t, func(t *testing.T, b batchTest) {
				_, done := b.put(t, 2*maxCommands+10, 0)
				for _, err := range tc.ends {
					synctest.Wait()
					b.raft.answer(err)
					synctest.Wait()
				}
				c := <-done
				if !errors.Is(c.err, tc.want) || (c.err == nil) != (tc.want == nil) {
					t.Fatalf("%v, want %v", c.err, tc.want)
				}
				if tc.want == nil {
					for i, r := range c.results {
						if r.Message != fmt.Sprint(i) {
							t.Fatalf("result %d is of command %s", i, r.Message)
						}
					}
				}
			})
		})
	}
}

// TestWithdraw: a call that is in no entry yet can be taken back. Any other call cannot.
func TestWithdraw(t *testing.T) {
	inBatcher(t, func(t *testing.T, b batchTest) {
		sent, _ := b.put(t, 1, 0)
		waiting, done := b.put(t, 3, 0)
		if b.withdraw(sent) {
			t.Fatal("withdrew what is in flight")
		}
		if !b.withdraw(waiting) || b.withdraw(waiting) {
			t.Fatal("did not withdraw what waits exactly once")
		}
		half, _ := b.put(t, maxCommands+1, 0) // no entry has its last command yet
		if b.withdraw(half) {
			t.Fatal("withdrew a call of which a part is in flight")
		}
		for len(b.raft.sizes()) > 0 {
			b.raft.answer(nil)
			synctest.Wait()
		}
		if s := b.raft.sizes(); len(s) > 0 || len(done) > 0 || b.lanes[urgentLane].commands != 0 || b.lanes[urgentLane].bytes != 0 {
			t.Fatalf("withdrawn, yet %v is in flight, %d commands and %d bytes wait", s, b.lanes[urgentLane].commands, b.lanes[urgentLane].bytes)
		}
	})
}

// TestQueueOfDeposedLeader: a waiting call is answered "not proposed" at once. Raft answers a call that is in flight.
func TestQueueOfDeposedLeader(t *testing.T) {
	inBatcher(t, func(t *testing.T, b batchTest) {
		_, inFlight := b.put(t, 1, 0)
		_, waiting := b.put(t, 3, 0)
		b.close(&termState{term: 0}) // a late end of a former term
		if len(waiting) > 0 {
			t.Fatal("a former term's end closed this one's queue")
		}
		b.close(b.term)
		if c := <-waiting; !errors.Is(c.err, ErrNotLeader) {
			t.Fatal(c.err)
		}
		if len(inFlight) > 0 {
			t.Fatal("answered before raft did")
		}
		if err := b.submit(newCall([]task.Proposal{{Command: task.Tick{}}}, packed(t, task.Tick{}), nil)); !errors.Is(err, ErrNotLeader) {
			t.Fatal(err)
		}
		b.raft.answer(raft.ErrLeadershipLost)
		if c := <-inFlight; !errors.Is(c.err, ErrOutcomeUnknown) {
			t.Fatal(c.err)
		}
	})
}

// TestQueueBounds: the queue has bounds by count and by bytes. An empty queue takes anything.
func TestQueueBounds(t *testing.T) {
	inBatcher(t, func(t *testing.T, b batchTest) {
		b.put(t, 1, 0)
		b.maxCommands, b.maxBytes = 5, 1<<30
		b.put(t, 5, 0)
		one := func(size int) *call {
			return callOf(t, 1, size, func(_ int, pad string) task.Command { return task.Cancel{Key: task.Key{Namespace: pad}} }, func(*call) {})
		}
		if err := b.submit(one(100)); !errors.Is(err, ErrOverloaded) {
			t.Fatal(err)
		}
		b.maxCommands, b.maxBytes = 1<<30, b.lanes[urgentLane].bytes+100
		if err := b.submit(one(101)); !errors.Is(err, ErrOverloaded) {
			t.Fatal(err)
		}
		if err := b.submit(one(100)); err != nil {
			t.Fatal(err)
		}
	})
}

// TestUnwritableCommand: a command that no log entry can hold is refused at once. It takes neither other commands of
// its call nor other calls with it.
func TestUnwritableCommand(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		s := c.start(c.add("n1", nil), 1)
		c.leader()
		c.activate(s)
		large := submit("large", task.Fail) // an entry by itself
		large.Params = task.Payload{Encoding: task.Bytes, Data: make([]byte, maxEntryBytes-1<<10)}
		before := s.raft.LastIndex()
		_, err := s.Propose(ctxFor(t, time.Minute), large, task.DropBlobs{Digests: make([]string, 70_000)})
		if !errors.Is(err, ErrTooLarge) || s.raft.LastIndex() != before || c.has(s, "large") {
			t.Fatalf("%v, %d entries", err, s.raft.LastIndex()-before)
		}
		c.propose(s, large)
	})
}
