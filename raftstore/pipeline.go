package raftstore

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// AppendEntriesPipeline implements raft.Transport with a pipeline that always takes finished requests off the library's.
//
// In the library both channels of a pipeline are unbuffered with the default of 2 requests in flight. When a follower
// refuses a request the reader of answers ends; if the sender picks one more request before it notices, the sender waits
// for the decoder, the decoder for the reader, and nobody closes the pipeline: that follower never gets another entry
// from this leader, although heartbeats go on, and raft.Shutdown hangs (grafana/pyroscope #5518, probably raft #612;
// TestPartitionedLeader meets it). Disabling pipelines cures it as well, at the price of overlapping nothing.
func (t transport) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	p, err := t.NetworkTransport.AppendEntriesPipeline(id, target)
	if err != nil {
		return nil, err
	}
	return newDrained(p), nil
}

// maxSilence is how long a pipeline leaves out requests that say nothing new.
const maxSilence = 20 * time.Millisecond

// drained also leaves out what says nothing new. The library tells followers of a lone commit by a request without
// entries, which it sends once per CommitTimeout for as long as nothing else is sent: a short one makes followers quick,
// and an idle cluster busy. What was left out is answered by nobody, so it is no contact with the follower either
// (leader lease); within maxSilence there is one that is sent.
type drained struct {
	raft.AppendPipeline
	said said // by who sends: raft has one goroutine for that
	out  chan raft.AppendFuture
	done chan struct{}
	once sync.Once
}

func newDrained(p raft.AppendPipeline) *drained {
	d := &drained{AppendPipeline: p, out: make(chan raft.AppendFuture), done: make(chan struct{})}
	go d.run()
	return d
}

// said is what the last request that was sent told the follower, and when.
type said struct {
	term, commit, prevIndex, prevTerm uint64
	at                                time.Time
	future                            raft.AppendFuture
}

// AppendEntries implements raft.AppendPipeline. Of a request that is left out the future of the one that said the same is
// returned; the library looks at neither.
func (d *drained) AppendEntries(req *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	this := said{term: req.Term, commit: req.LeaderCommitIndex, prevIndex: req.PrevLogEntry, prevTerm: req.PrevLogTerm, at: time.Now()}
	if n := len(req.Entries); n > 0 {
		this.prevIndex, this.prevTerm = req.Entries[n-1].Index, req.Entries[n-1].Term // what an empty one says next
	} else if last := d.said; last.future != nil && this.at.Sub(last.at) < maxSilence &&
		this.term == last.term && this.commit == last.commit && this.prevIndex == last.prevIndex && this.prevTerm == last.prevTerm {
		return last.future, nil
	}
	var err error
	if this.future, err = d.AppendPipeline.AppendEntries(req, resp); err == nil {
		d.said = this
	}
	return this.future, err
}

// run hands finished requests on, in order. The queue stays short: who sends notices within a request or two that
// nobody reads, and closes.
func (d *drained) run() {
	var queue []raft.AppendFuture
	for {
		var out chan raft.AppendFuture
		var head raft.AppendFuture
		if len(queue) > 0 {
			out, head = d.out, queue[0]
		}
		select {
		case f := <-d.AppendPipeline.Consumer():
			queue = append(queue, f)
		case out <- head:
			queue = queue[1:]
		case <-d.done:
			return
		}
	}
}

// Consumer implements raft.AppendPipeline.
func (d *drained) Consumer() <-chan raft.AppendFuture { return d.out }

// Close implements raft.AppendPipeline.
func (d *drained) Close() error {
	d.once.Do(func() { close(d.done) })
	return d.AppendPipeline.Close()
}
