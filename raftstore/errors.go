package raftstore

import (
	"errors"

	"github.com/hashicorp/raft"
)

// Errors of Propose, ProposeLocal and Read. They are wrapped: use errors.Is.
var (
	// ErrNoLeader: until the context ended no leader was found. Nothing was proposed.
	ErrNoLeader = errors.New("raftstore: no leader")
	// ErrNotLeader: ProposeLocal or Transfer on a node that does not lead. Nothing was proposed.
	ErrNotLeader = errors.New("raftstore: this node does not lead")
	// ErrOutcomeUnknown: something was sent, and no answer came before the context ended (SPEC H4: 503
	// outcome_unknown). The command may have been applied, or may still be, at most once.
	ErrOutcomeUnknown = errors.New("raftstore: outcome unknown")
	// ErrOverloaded: the leader's queue is full. Nothing was proposed (SPEC H3: 429).
	ErrOverloaded = errors.New("raftstore: overloaded")
	// ErrTooLarge: a single command is larger than a log entry may be. Nothing was proposed.
	ErrTooLarge = errors.New("raftstore: command too large")
	// ErrClosed: the store was closed. Nothing was proposed.
	ErrClosed = errors.New("raftstore: closed")
	// ErrStopped: the store has stopped itself, see Config.OnFatal; it wraps the reason.
	ErrStopped = errors.New("raftstore: stopped")
)

// Reasons that OnFatal is called with, wrapped.
var (
	ErrDiverged    = errors.New("raftstore: state differs from the majority's")
	ErrBadEntry    = errors.New("raftstore: log entry cannot be applied")
	ErrDiskFailed  = errors.New("raftstore: disk failed")
	ErrDiskStalled = errors.New("raftstore: disk stalled")
	ErrDuplicateID = errors.New("raftstore: node ID is in use by another node")
)

// classify tells from raft's answer to an Apply whether the entry may be in a log (facts 1.3).
func classify(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return ErrNotLeader
	}
	// ErrLeadershipLost, ErrRaftShutdown, ErrAbortedByRestore, an error of the log store, and whatever comes with a
	// later version of the library.
	return ErrOutcomeUnknown
}
