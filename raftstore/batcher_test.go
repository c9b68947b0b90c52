package raftstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

func (r *heldRaft) applyEntry(data []byte) raft.ApplyFuture {
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

// sizes returns how many commands each entry in flight has.
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
		rs[i].Message = p.Command.(task.Cancel).Key.ID
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
		cfg := Config{QueueCommands: 10_000, QueueBytes: 8 << 20}
		var wg sync.WaitGroup
		b := batchTest{raft: &heldRaft{}}
		b.batcher = newBatcher(&cfg, b.raft, &gate{})
		ctx, cancel := context.WithCancel(t.Context())
		b.open(&termState{term: 1})
		wg.Go(func() { b.run(ctx, newStamper(SystemClock(), 0, 0)) })
		f(t, b)
		for len(b.raft.sizes()) > 0 {
			b.raft.answer(nil)
			synctest.Wait()
		}
		b.close(nil)
		cancel()
		wg.Wait()
	})
}

// put queues n commands as one call; the channel gets its end.
func (b batchTest) put(t *testing.T, n int, size int) (*call, chan *call) {
	t.Helper()
	ps := make([]task.Proposal, n)
	for i := range ps {
		ps[i].Command = task.Cancel{Key: task.Key{ID: fmt.Sprint(i)}}
	}
	done := make(chan *call, 1)
	c := newCall(ps, func(c *call) { done <- c })
	if size > 0 {
		for i := range c.sizes {
			c.sizes[i] = size
		}
	}
	if err := b.submit(c); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return c, done
}

func equal(a []int, b ...int) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// TestGroupCommit: the rule of facts 3.1.
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
			t.Fatalf("no more than %d entries in flight, and another when one is done: %v", maxInFlight, s)
		}
	})
}

// TestEntryBytes: an entry is bounded in bytes, a single large command still goes.
func TestEntryBytes(t *testing.T) {
	inBatcher(t, func(t *testing.T, b batchTest) {
		b.put(t, 1, 0)
		b.put(t, 3, 200<<10)
		if s := b.raft.sizes(); !equal(s, 1, 2, 1) {
			t.Fatalf("3 commands of 200 KiB: %v", s)
		}
		b.put(t, 1, 2<<20)
		if s := b.raft.sizes(); !equal(s, 1, 2, 1, 1) {
			t.Fatalf("one command of 2 MiB: %v", s)
		}
		c := newCall([]task.Proposal{{Command: task.Tick{}}}, nil)
		c.sizes[0] = maxCommandBytes + 1
		if err := b.submit(c); !errors.Is(err, ErrTooLarge) {
			t.Fatal(err)
		}
	})
}

// TestCallOverEntries: one call in several entries gets its results in order, and the worst of their ends.
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

// TestWithdraw: what is in no entry yet can be taken back; what is, cannot.
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
		half, _ := b.put(t, maxCommands+1, 0) // one command is in no entry yet
		if b.withdraw(half) {
			t.Fatal("withdrew a call of which a part is in flight")
		}
		for len(b.raft.sizes()) > 0 {
			b.raft.answer(nil)
			synctest.Wait()
		}
		if s := b.raft.sizes(); len(s) > 0 || len(done) > 0 || b.commands != 0 || b.bytes != 0 {
			t.Fatalf("withdrawn, yet %v is in flight, %d commands and %d bytes wait", s, b.commands, b.bytes)
		}
	})
}

// TestQueueOfDeposedLeader: what waits is answered "not proposed" at once, what is in flight by raft.
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
		if err := b.submit(newCall([]task.Proposal{{Command: task.Tick{}}}, nil)); !errors.Is(err, ErrNotLeader) {
			t.Fatal(err)
		}
		b.raft.answer(raft.ErrLeadershipLost)
		if c := <-inFlight; !errors.Is(c.err, ErrOutcomeUnknown) {
			t.Fatal(c.err)
		}
	})
}

// TestQueueBounds: by count and by bytes; an empty queue takes anything.
func TestQueueBounds(t *testing.T) {
	inBatcher(t, func(t *testing.T, b batchTest) {
		b.put(t, 1, 0)
		b.maxCommands, b.maxBytes = 5, 1<<30
		b.put(t, 5, 0)
		one := func(size int) *call {
			c := newCall([]task.Proposal{{Command: task.Cancel{}}}, func(*call) {})
			c.sizes[0] = size
			return c
		}
		if err := b.submit(one(1)); !errors.Is(err, ErrOverloaded) {
			t.Fatal(err)
		}
		b.maxCommands, b.maxBytes = 1<<30, b.bytes+10
		if err := b.submit(one(11)); !errors.Is(err, ErrOverloaded) {
			t.Fatal(err)
		}
		if err := b.submit(one(10)); err != nil {
			t.Fatal(err)
		}
	})
}

// TestDrainedPipeline: the wrapper takes finished requests although nobody reads them, hands them on in order, and ends.
func TestDrainedPipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := &fakePipeline{c: make(chan raft.AppendFuture)}
		p := newPipeline(in, &commits{})
		fs := make([]*fakeFuture, 3)
		for i := range fs {
			fs[i] = &fakeFuture{n: i}
			select {
			case in.c <- fs[i]:
			case <-time.After(time.Minute):
				t.Fatalf("request %d was not taken", i)
			}
		}
		for i := range fs {
			if f := <-p.Consumer(); f != raft.AppendFuture(fs[i]) {
				t.Fatalf("request %d out of order", i)
			}
		}
		in.c <- fs[0]
		for range 2 {
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if in.closed == 0 {
			t.Fatal("the library's pipeline was not closed")
		}
	})
}

// TestPipelineTellsCommits: once, and only of what it has sent.
func TestPipelineTellsCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := &fakePipeline{c: make(chan raft.AppendFuture)}
		c := &commits{pause: time.Millisecond}
		p := newPipeline(in, c)
		other := &fakePipeline{c: make(chan raft.AppendFuture)}
		q := newPipeline(other, c)
		committed := func(index uint64) {
			c.reached(index)
			time.Sleep(2 * c.pause)
			synctest.Wait()
		}
		send := func(commit, prev uint64, entries ...uint64) {
			t.Helper()
			req := &raft.AppendEntriesRequest{Term: 3, LeaderCommitIndex: commit, PrevLogEntry: prev, PrevLogTerm: 2}
			for _, i := range entries {
				req.Entries = append(req.Entries, &raft.Log{Index: i, Term: 3})
			}
			if _, err := p.AppendEntries(req, &raft.AppendEntriesResponse{}); err != nil {
				t.Fatal(err)
			}
		}
		want := func(what string, commits ...uint64) {
			t.Helper()
			var got []uint64
			for _, r := range in.sent {
				got = append(got, r.LeaderCommitIndex)
			}
			if !slices.Equal(got, commits) {
				t.Fatalf("%s: commits %v were told, want %v", what, got, commits)
			}
		}
		committed(4)
		want("nothing was sent yet")
		send(4, 5)
		committed(5)
		want("a lone commit", 4, 5)
		if r := in.sent[1]; r.Term != 3 || r.PrevLogEntry != 5 || r.PrevLogTerm != 2 || r.Entries != nil {
			t.Fatalf("%+v", r)
		}
		committed(5)
		want("it is told once", 4, 5)
		send(5, 5, 6, 7)
		committed(20)
		want("only what was sent is told of", 4, 5, 5, 7)
		if r := in.sent[3]; r.PrevLogEntry != 7 || r.PrevLogTerm != 3 || r.Entries != nil {
			t.Fatalf("%+v", r)
		}
		c.reached(21)
		send(21, 7, 8, 9) // before the pause is over
		time.Sleep(2 * c.pause)
		want("entries go on, and tell of more than was sent", 4, 5, 5, 7, 21)
		if len(other.sent) != 0 {
			t.Fatal("a pipeline without requests has sent something")
		}
		in.err = errors.New("broken")
		if _, err := p.AppendEntries(&raft.AppendEntriesRequest{}, nil); err == nil {
			t.Fatal("an error was kept")
		}
		p.Close()
		q.Close()
		if len(c.pipelines) != 0 {
			t.Fatal("a closed pipeline is told of commits")
		}
	})
}

type fakePipeline struct {
	raft.AppendPipeline
	c      chan raft.AppendFuture
	closed int
	sent   []*raft.AppendEntriesRequest
	err    error
}

func (p *fakePipeline) AppendEntries(r *raft.AppendEntriesRequest, _ *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	if p.err != nil {
		return nil, p.err
	}
	p.sent = append(p.sent, r)
	return &fakeFuture{n: len(p.sent)}, nil
}

func (p *fakePipeline) Consumer() <-chan raft.AppendFuture { return p.c }
func (p *fakePipeline) Close() error                       { p.closed++; return nil }

type fakeFuture struct {
	raft.AppendFuture
	n int
}
