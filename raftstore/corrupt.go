package raftstore

import "github.com/taskrt/taskrt/task"

// CorruptForTest damages a record in this node's memory; see task.Machine. Tests of whole clusters use it to make a
// replica wrong (SPEC C4).
func (s *Store) CorruptForTest(key task.Key) bool {
	s.fsm.mu.Lock()
	defer s.fsm.mu.Unlock()
	return s.fsm.machine.CorruptForTest(key)
}
