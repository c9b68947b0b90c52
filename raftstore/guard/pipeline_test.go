package guard

import (
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// TestDrainedPipeline: the wrapper takes finished requests although nobody reads them. It hands them on in order, and
// it ends.
func TestDrainedPipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := &fakePipeline{c: make(chan raft.AppendFuture)}
		p := newPipeline(in, &commits{}, unbounded, always, func(*raft.AppendEntriesRequest, *raft.AppendEntriesResponse) {})
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

// TestPipelineTellsCommits: a pipeline tells each commit once, and it tells no commit beyond the entries that it has
// sent.
func TestPipelineTellsCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := &fakePipeline{c: make(chan raft.AppendFuture)}
		c := &commits{pause: time.Millisecond, lone: time.Millisecond}
		p := newPipeline(in, c, unbounded, always, func(*raft.AppendEntriesRequest, *raft.AppendEntriesResponse) {})
		other := &fakePipeline{c: make(chan raft.AppendFuture)}
		q := newPipeline(other, c, unbounded, always, func(*raft.AppendEntriesRequest, *raft.AppendEntriesResponse) {})
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
		send(21, 7, 8, 9) // the pause is not over
		time.Sleep(2 * c.pause)
		want("entries go on, and tell of no more than they reach to", 4, 5, 5, 7, 9)
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

// TestLoneCommitsAreToldAtOnce: a pipeline waits for entries that tell of a commit only while some are under way.
func TestLoneCommitsAreToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := &fakePipeline{c: make(chan raft.AppendFuture)}
		c := &commits{pause: time.Millisecond}
		p := newPipeline(in, c, unbounded, always, func(*raft.AppendEntriesRequest, *raft.AppendEntriesResponse) {})
		defer p.Close()
		send := func(prev uint64, entries ...*raft.Log) {
			t.Helper()
			if _, err := p.AppendEntries(&raft.AppendEntriesRequest{Term: 3, PrevLogEntry: prev, Entries: entries}, &raft.AppendEntriesResponse{}); err != nil {
				t.Fatal(err)
			}
		}
		told := func(what string, want ...uint64) {
			t.Helper()
			synctest.Wait()
			p.one <- struct{}{} // nothing is sent meanwhile
			defer func() { <-p.one }()
			var got []uint64
			for _, r := range in.sent {
				if len(r.Entries) == 0 {
					got = append(got, r.LeaderCommitIndex)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: commits %v were told, want %v", what, got, want)
			}
		}
		send(0, &raft.Log{Index: 1, Term: 3})
		c.reached(1)
		told("all that was sent is committed", 1)
		send(1, &raft.Log{Index: 2, Term: 3}, &raft.Log{Index: 3, Term: 3})
		c.reached(2)
		told("an entry is under way", 1)
		time.Sleep(c.pause)
		told("no entry has told of it", 1, 2)
		c.reached(3)
		told("nothing is under way any more", 1, 2, 3)
		c.reached(4)
		told("the others have an entry that was not sent here", 1, 2, 3)
		send(3, &raft.Log{Index: 4, Term: 3})
		told("it is sent, and committed already", 1, 2, 3, 4)
	})
}

func unbounded() uint64 { return math.MaxUint64 }

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

func (*fakeFuture) Error() error                          { return nil }
func (*fakeFuture) Request() *raft.AppendEntriesRequest   { return nil }
func (*fakeFuture) Response() *raft.AppendEntriesResponse { return nil }

// always lets a leader send.
func always(uint64) error { return nil }
