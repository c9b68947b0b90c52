package guard

import (
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// returns tells when a follower that did not answer does so again.
//
// After each failed request the library waits twice as long before the next, up to 10 s, and nothing shortens this wait. So a node that is back may
// wait for its first entry as long as it was away. Heartbeats have waits of their own and reach it within 0.7 s. So a failed request is reported as
// failed only when another try is worth it.
type returns struct {
	done  <-chan struct{}                               // closed when the transport is closed
	worth func(of raft.ServerAddress, term uint64) bool // this node leads in this term, and the follower is a member

	mu   sync.Mutex
	next map[raft.ServerAddress]chan struct{} // closed when this follower is heard of
}

// lookAgain is how often a wait looks whether it still makes sense.
const lookAgain = time.Second

// heard notes that a follower has answered.
func (r *returns) heard(from raft.ServerAddress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.next[from]; c != nil {
		close(c)
		delete(r.next, from)
	}
}

// wait returns true once the follower is heard of. It returns false when waiting for the follower in this term makes no sense any longer.
func (r *returns) wait(of raft.ServerAddress, term uint64) bool {
	r.mu.Lock()
	c := r.next[of]
	if c == nil {
		c = make(chan struct{})
		if r.next == nil {
			r.next = map[raft.ServerAddress]chan struct{}{}
		}
		r.next[of] = c
	}
	r.mu.Unlock()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for r.worth(of, term) {
		select {
		case <-c:
			return true
		case <-r.done:
			return false
		case <-again.C:
		}
	}
	return false
}

// AppendEntries implements raft.Transport.
func (t transport) AppendEntries(id raft.ServerID, target raft.ServerAddress, req *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	send := func() error {
		if err := t.yields.leads(req.Term); err != nil {
			return err
		}
		told := withoutMore(req, t.durable())
		err := t.NetworkTransport.AppendEntries(id, target, &told, resp)
		if err == nil {
			t.returns.heard(target)
			t.layer.holders.answered(target, &told, resp)
		}
		return err
	}
	err := send()
	if err != nil && !heartbeat(req) && t.returns.wait(target, req.Term) {
		err = send()
	}
	return err
}

// heartbeat reports whether req is a heartbeat, which the library sends from a goroutine of its own.
func heartbeat(req *raft.AppendEntriesRequest) bool {
	return len(req.Entries) == 0 && req.PrevLogEntry == 0 && req.LeaderCommitIndex == 0
}

// InstallSnapshot implements raft.Transport.
func (t transport) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, req *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	if err := t.yields.leads(req.Term); err != nil {
		return err
	}
	err := t.NetworkTransport.InstallSnapshot(id, target, req, resp, data)
	if err != nil {
		if c, ok := data.(io.Closer); ok {
			c.Close() // the snapshot's file: it may be removed while the follower is away. The library closes it a second time
		}
		t.returns.wait(target, req.Term) // the library begins anew
	}
	return err
}
