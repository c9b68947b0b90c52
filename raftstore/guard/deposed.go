package guard

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"
)

// errDeposed is what a leader is told that sends what it cannot have from its own term.
var errDeposed = errors.New("raftstore: sent by a leader that was deposed")

// deposed returns an error for a request with entries of a later term than the leader's that sends it. A leader that is deposed while it waits to
// send again looks into its log once more, and by then its log has entries of the next leader. The library sends them under the former term. A
// follower that has heard of no other would take them, and keep the former term: at its next start its log and snapshots would be ahead of its
// term, as if its term had been lost (begin).
func deposed(command any) error {
	var term, sent uint64
	switch req := command.(type) {
	case *raft.AppendEntriesRequest:
		term, sent = req.Term, req.PrevLogTerm
		if n := len(req.Entries); n > 0 { // terms never fall along a log
			sent = req.Entries[n-1].Term
		}
	case *raft.InstallSnapshotRequest:
		term, sent = req.Term, req.LastLogTerm
	}
	if sent > term {
		return fmt.Errorf("%w: it has entries of term %d, and sends them in term %d", errDeposed, sent, term)
	}
	return nil
}

// refuse answers a request with an error, and takes what comes with it off the connection.
func refuse(rpc raft.RPC, err error) {
	switch rpc.Command.(type) {
	case *raft.AppendEntriesRequest:
		rpc.Respond(&raft.AppendEntriesResponse{}, err)
	case *raft.InstallSnapshotRequest:
		_, _ = io.Copy(io.Discard, rpc.Reader) // if it breaks off, the connection does, too
		rpc.Respond(&raft.InstallSnapshotResponse{}, err)
	}
}
