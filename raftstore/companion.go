package raftstore

import "github.com/taskrt/taskrt/task"

// Companion is asked, on the leader, for commands that go into the same log entry as others, behind them: an assignment
// goes with its submit (SPEC T1). entry is what the entry holds so far. It must not be kept or changed. At most room
// commands may be added. done is called once, by any goroutine, with the outcome of the commands. Neither function may
// block, because every proposal waits for it. A companion's command has no Origin and is never sent again.
type Companion func(entry []task.Proposal, room int) (cmds []task.Command, done func([]task.Result, error))

// maxCompanions is how many commands an entry takes beyond the commands of its group.
const maxCompanions = 256

// Accompany makes c the Companion that is asked from now on. With nil nobody is asked.
func (s *Store) Accompany(c Companion) {
	if c == nil {
		s.batch.companion.Store(nil)
		return
	}
	s.batch.companion.Store(&c)
}

// accompany lets the companion add commands to an entry that was packed. Only send calls it.
func (b *batcher) accompany(e *entry) {
	ask := b.companion.Load()
	if ask == nil {
		return
	}
	cmds, done := (*ask)(e.proposals, maxCompanions)
	if len(cmds) == 0 {
		return
	}
	ps, bodies, err := unnumbered(cmds)
	if err != nil {
		done(nil, err)
		return
	}
	c := newCall(ps, bodies, func(c *call) { done(c.results, c.err) })
	c.next = len(ps)
	e.bytes += c.bytes
	e.parts = append(e.parts, part{c, 0, len(ps)})
	e.proposals = append(e.proposals, ps...)
}
