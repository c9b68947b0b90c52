package raftstore

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/raftstore/change"
	"github.com/taskrt/taskrt/raftstore/guard"
	"github.com/taskrt/taskrt/raftstore/members"
)

// The errors of Propose, ProposeLocal and Read. They come wrapped: use errors.Is.
var (
	// ErrNoLeader says that no leader was found until the context ended. Nothing was proposed.
	ErrNoLeader = change.ErrNoLeader
	// ErrNotLeader is returned by ProposeLocal and Transfer on a node that does not lead. Nothing was proposed.
	ErrNotLeader = change.ErrNotLeader
	// ErrOutcomeUnknown says that something was sent, and no answer came before the context ended (SPEC H4: 503
	// outcome_unknown). The command may have been applied, or may still be, at most once.
	ErrOutcomeUnknown = errors.New("raftstore: outcome unknown")
	// ErrOverloaded says that too much waits at the leader. Nothing was proposed (SPEC H3: 429).
	ErrOverloaded = errors.New("raftstore: overloaded")
	// ErrStalled is an ErrOverloaded for another reason. Not much waits, but nothing that the leader has sent has come
	// back for Config.QueueAge: a disk hangs, or a majority is away. Nothing was proposed.
	ErrStalled = fmt.Errorf("%w: the log does not move", ErrOverloaded)
	// ErrBehind says that until the context ended this node had not applied the index that was waited for.
	ErrBehind = errors.New("raftstore: this node is behind")
	// ErrTooLarge says that a single command is larger than a log entry may be. Nothing was proposed.
	ErrTooLarge = errors.New("raftstore: command too large")
	// ErrClosed says that the store was closed. Nothing was proposed.
	ErrClosed = errors.New("raftstore: closed")
	// ErrStopped says that the store has stopped itself, see Config.OnFatal. It wraps the reason.
	ErrStopped = errors.New("raftstore: stopped")
)

// The reasons that OnFatal is called with, wrapped.
var (
	ErrDiverged    = errors.New("raftstore: state differs from the majority's")
	ErrBadEntry    = errors.New("raftstore: log entry cannot be applied")
	ErrDiskFailed  = guard.ErrDiskFailed
	ErrDiskStalled = guard.ErrDiskStalled
	ErrDuplicateID = members.ErrDuplicateID
	ErrRemoved     = members.ErrRemoved
	ErrSuperseded  = members.ErrSuperseded
)

// classify says, from raft's answer to an Apply, whether the entry may be in a log
// (docs/architecture.md#errors-of-apply).
func classify(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return ErrNotLeader
	}
	// These are ErrLeadershipLost, ErrRaftShutdown, ErrAbortedByRestore, an error of the log store, and whatever comes
	// with a later version of the library.
	return ErrOutcomeUnknown
}
