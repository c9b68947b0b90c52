package raftstore

import (
	"errors"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// TestStoppedMachineIsNotWrittenDown: the state after an entry that could not be applied is worth nothing. A snapshot
// of it would bring it back at the next start (SPEC C4).
func TestStoppedMachineIsNotWrittenDown(t *testing.T) {
	f := &fsm{machine: task.NewMachine()}
	if _, err := f.Snapshot(); err != nil {
		t.Fatal(err)
	}
	f.stopped = true
	if _, err := f.Snapshot(); !errors.Is(err, errStopped) {
		t.Errorf("a snapshot of a stopped machine: %v", err)
	}
}
