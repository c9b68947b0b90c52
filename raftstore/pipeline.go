package raftstore

import (
	"sync"

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

type drained struct {
	raft.AppendPipeline
	out  chan raft.AppendFuture
	done chan struct{}
	once sync.Once
}

func newDrained(p raft.AppendPipeline) *drained {
	d := &drained{AppendPipeline: p, out: make(chan raft.AppendFuture), done: make(chan struct{})}
	go d.run()
	return d
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
