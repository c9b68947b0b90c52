package guard

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// yields keeps a node whose disk is slow from leading, as long as others can lead (SPEC C10). The library notices its disk only when it writes, and
// heartbeats do not write. So followers would go on to follow a leader whose disk hangs, and would elect a node again whose writes take seconds.
type yields struct {
	slow    func() bool          // the disk is slow
	contact func() time.Duration // for how long no leader was heard of
	mute    atomic.Uint64        // the leader of this term sends nothing more; 0: no term
}

// othersFirst is for how long after the end of a leader a node with a slow disk leaves an election to others. After that
// there may be nobody else.
const othersFirst = 6 * time.Second

var errYields = errors.New("raftstore: the disk of this node is slow, and others shall lead")

// leads returns an error if the leader of term must send nothing more.
func (y *yields) leads(term uint64) error {
	if y.mute.Load() == term && y.slow() {
		return errYields
	}
	return nil
}

// stands returns an error if this node must not stand for election now.
func (y *yields) stands() error {
	if y.slow() && y.contact() < othersFirst {
		return errYields
	}
	return nil
}

// Mute lets this node send nothing more as the leader of a term while its disk is slow. Its followers elect another, as
// if its host had vanished. It is for a leader whose main goroutine waits for the disk, and cannot hand over.
func (r *Raft) Mute(term uint64) { r.trans.yields.mute.Store(term) }

// sinceContact returns for how long no leader was heard of.
func (r *Raft) sinceContact() time.Duration {
	lib := r.opened.Load()
	if lib == nil {
		return othersFirst
	}
	return time.Since(lib.LastContact())
}

// RequestPreVote implements raft.WithPreVote.
func (t transport) RequestPreVote(id raft.ServerID, target raft.ServerAddress, req *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	if err := t.yields.stands(); err != nil {
		return err
	}
	return t.NetworkTransport.RequestPreVote(id, target, req, resp)
}

// RequestVote implements raft.Transport.
func (t transport) RequestVote(id raft.ServerID, target raft.ServerAddress, req *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	if err := t.yields.stands(); err != nil {
		return err
	}
	err := t.NetworkTransport.RequestVote(id, target, req, resp)
	if err == nil && resp.Granted {
		t.layer.holders.note(string(target), req.Term, 0)
	}
	return err
}
