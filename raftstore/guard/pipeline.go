package guard

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// AppendEntriesPipeline implements raft.Transport. Its pipelines tell followers of commits, and never get stuck.
func (t transport) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	p, err := t.NetworkTransport.AppendEntriesPipeline(id, target)
	if err != nil {
		return nil, err
	}
	return newPipeline(p, t.commits, t.durable, t.yields.leads, func(req *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) {
		t.layer.holders.answered(target, req, resp)
	}), nil
}

// commits tells the pipelines of a leader how far its log is committed.
type commits struct {
	pause time.Duration // Config.CommitPause
	lone  time.Duration // Config.LoneCommitPause

	mu        sync.Mutex
	index     uint64
	pipelines map[*pipeline]struct{}
}

// reached is called with every committed entry, before it is applied. It does not block.
func (c *commits) reached(index uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index = max(c.index, index)
	for p := range c.pipelines { // order-free: each has its own follower
		wake(p.reached)
	}
}

func (c *commits) get() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.index
}

func (c *commits) add(p *pipeline) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pipelines == nil {
		c.pipelines = map[*pipeline]struct{}{}
	}
	c.pipelines[p] = struct{}{}
}

func (c *commits) remove(p *pipeline) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pipelines, p)
}

// pipeline is the library's, with two differences.
//
// It always takes finished requests off the library's pipeline. In the library both channels of a pipeline are
// unbuffered, with the default of 2 requests in flight. When a follower refuses a request the reader of answers ends.
// If the sender picks one more request before it notices, the sender waits for the decoder, the decoder waits for the
// reader, and nobody closes the pipeline. Then that follower never gets another entry from this leader, although
// heartbeats go on, and raft.Shutdown hangs (grafana/pyroscope #5518, probably raft #612; TestPartitionedLeader meets
// it). To disable pipelines cures it as well, but then nothing overlaps.
//
// It tells its follower of a commit when there is one. The library does so with the next entries, or else after
// CommitTimeout: a short one keeps an idle leader busy, a long one lets followers lag behind.
type pipeline struct {
	raft.AppendPipeline
	commits  *commits
	durable  func() uint64 // see parallelLog
	leads    func(term uint64) error
	answered func(*raft.AppendEntriesRequest, *raft.AppendEntriesResponse) // told of each answer
	reached  chan struct{}                                                 // capacity 1: commits has a higher index
	out      chan raft.AppendFuture
	done     chan struct{}
	once     sync.Once

	one  chan struct{}             // one request at a time; a channel, because synctest does not take waiting for a mutex for idle
	last raft.AppendEntriesRequest // what the follower was told last; its entries are left out, and it begins after them
	any  bool                      // there has been a request
}

func newPipeline(p raft.AppendPipeline, c *commits, durable func() uint64, leads func(term uint64) error, answered func(*raft.AppendEntriesRequest, *raft.AppendEntriesResponse)) *pipeline {
	d := &pipeline{
		AppendPipeline: p, commits: c, durable: durable, leads: leads, answered: answered,
		reached: make(chan struct{}, 1), one: make(chan struct{}, 1), out: make(chan raft.AppendFuture), done: make(chan struct{}),
	}
	c.add(d)
	go d.drain()
	go d.tell()
	return d
}

// AppendEntries implements raft.AppendPipeline.
func (d *pipeline) AppendEntries(req *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	d.one <- struct{}{}
	defer func() { <-d.one }()
	if err := d.leads(req.Term); err != nil {
		return nil, err
	}
	told := withoutMore(req, d.durable())
	f, err := d.AppendPipeline.AppendEntries(&told, resp)
	if err != nil {
		return nil, err
	}
	known := d.last.LeaderCommitIndex // it may be more than what the library knew when it made the request
	d.last, d.any = told, true
	d.last.Entries, d.last.LeaderCommitIndex = nil, max(known, told.LeaderCommitIndex)
	if n := len(req.Entries); n > 0 {
		d.last.PrevLogEntry, d.last.PrevLogTerm = req.Entries[n-1].Index, req.Entries[n-1].Term
	}
	if d.due() > d.last.LeaderCommitIndex { // other followers were faster: these entries were committed before this follower got them
		wake(d.reached)
	}
	return f, nil
}

// due returns up to where the follower may be told that its log is committed. The follower believes that all of its log up to the index is committed.
// So it is told of no index beyond what this pipeline has sent: entries that it has behind this may come from another leader.
func (d *pipeline) due() uint64 { return min(d.commits.get(), d.last.PrevLogEntry) }

// tell tells the follower of commits that no entries have told it of. While entries are under way it waits a little, because the next ones will tell.
// (A timer of microseconds takes a millisecond in a process that is otherwise idle.) When everything that was sent is committed, it tells at once:
// the follower's callers wait for nothing else.
func (d *pipeline) tell() {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-d.reached:
		case <-d.done:
			return
		}
		if wait := d.patience(); wait > 0 {
			pause.Reset(wait)
			select {
			case <-pause.C:
			case <-d.done:
				return
			}
		}
		if !d.tellCommit() {
			return // the library finds out by itself
		}
	}
}

// patience is how long to wait for entries that tell of a commit.
func (d *pipeline) patience() time.Duration {
	d.one <- struct{}{}
	defer func() { <-d.one }()
	if d.commits.get() < d.last.PrevLogEntry {
		return d.commits.pause
	}
	return d.commits.lone
}

// tellCommit sends what the library sends after CommitTimeout. The library gets the answer, and takes it for the answer
// to a request of its own.
func (d *pipeline) tellCommit() bool {
	d.one <- struct{}{}
	defer func() { <-d.one }()
	commit := d.due()
	if err := d.leads(d.last.Term); err != nil {
		return false
	}
	if !d.any || commit <= d.last.LeaderCommitIndex {
		return true
	}
	req := d.last
	req.LeaderCommitIndex = commit
	if _, err := d.AppendPipeline.AppendEntries(&req, &raft.AppendEntriesResponse{}); err != nil {
		return false
	}
	d.last.LeaderCommitIndex = commit
	return true
}

// drain hands finished requests on, in order. The queue stays short: the sender notices within a request or two that
// nobody reads, and closes the pipeline.
func (d *pipeline) drain() {
	var queue []raft.AppendFuture
	for {
		var out chan raft.AppendFuture
		var head raft.AppendFuture
		if len(queue) > 0 {
			out, head = d.out, queue[0]
		}
		select {
		case f := <-d.AppendPipeline.Consumer():
			if f.Error() == nil { // it is finished
				d.answered(f.Request(), f.Response())
			}
			queue = append(queue, f)
		case out <- head:
			queue = queue[1:]
		case <-d.done:
			return
		}
	}
}

// Consumer implements raft.AppendPipeline.
func (d *pipeline) Consumer() <-chan raft.AppendFuture { return d.out }

// Close implements raft.AppendPipeline.
func (d *pipeline) Close() error {
	d.once.Do(func() {
		d.commits.remove(d)
		close(d.done)
	})
	return d.AppendPipeline.Close()
}
