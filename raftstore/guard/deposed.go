package guard

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"
)

// errDeposed answers a leader that sends entries which it cannot have from its own term.
var errDeposed = errors.New("raftstore: sent by a leader that was deposed")

// deposed returns an error for a request with entries whose term is later than its sender's. If a leader is deposed while it waits to send again, it
// reads its log once more, and by then the log has entries of the next leader. The library sends these under the former term. A follower that has
// heard of no other leader would take them and keep the former term. At its next start its log and snapshots would be ahead of its term, as if the
// term had been lost (begin).
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

// refuse answers a request with an error, and reads the rest of the request off the connection.
func refuse(rpc raft.RPC, err error) {
	switch rpc.Command.(type) {
	case *raft.AppendEntriesRequest:
		rpc.Respond(&raft.AppendEntriesResponse{}, err)
	case *raft.InstallSnapshotRequest:
		_, _ = io.Copy(io.Discard, rpc.Reader) // if it breaks off, the connection does, too
		rpc.Respond(&raft.InstallSnapshotResponse{}, err)
	}
}
