// Package task is the replicated state machine of taskrt: tasks, leases, sessions, retries, behaviors, and the planning of assignments. It is
// pure: it has no I/O, clock, goroutine, randomness or float, and imports only the standard library and its own subpackages. The same log gives the
// same state on every node, byte for byte (SPEC C4).
//
// A shell (package raftstore) gives log entries to Machine.Apply, and carries out what Apply returns: a Result per command, for the proposer, and
// Events, for waiters and for the leader's loop. Between two entries the shell reads the machine. If its node leads, it asks Plan what to
// assign, and NextTick when to propose a Tick. Freeze returns an immutable version for a snapshot. Restore builds a machine from one. Read DESIGN.md first.
package task

//go:generate go run ../internal/genfields -root ..
