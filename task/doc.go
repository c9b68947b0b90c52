// Package task is the replicated state machine of taskrt: tasks, leases, sessions, retries, behaviors, and the planning
// of assignments. It is pure: no I/O, no clock, no goroutine, no randomness, no floats, nothing outside the standard
// library. The same log gives the same state on every node, byte for byte (SPEC C4).
//
// A shell (package raftstore) feeds it log entries through Machine.Apply and carries out what comes back: a Result per command for the proposer,
// Events for waiters and the leader loop. Between two entries it reads the machine and, if it leads, asks Plan what to assign and NextTick when to
// propose a Tick. Freeze gives an immutable version for a snapshot and Restore builds a machine from one. Read DESIGN.md first.
package task

//go:generate go run ../internal/genfields -root ..
