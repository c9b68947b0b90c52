package task

import "fmt"

// FirstLevel is the feature level that a cluster begins with. KnownLevel is the highest that this build knows (SPEC C9): a
// cluster is raised to it, one by one, once all of its members know it. What Apply does for a log below a level never changes.
const (
	FirstLevel uint64 = 1
	KnownLevel uint64 = 3
)

// RaiseLevel raises the cluster's feature level (SPEC C9). The leader proposes it when every member has known the level
// for long enough. The level is never lowered. If the cluster has it already, nothing changes.
type RaiseLevel struct {
	Level uint64 `cbor:"1,keyasint"`
}

// apply panics on a level that this build does not know. Later entries of the log may mean things that this build
// cannot carry out. So the node must stop, as for an unknown command (SPEC C4).
func (c RaiseLevel) apply(m *Machine) Result {
	switch {
	case c.Level <= m.level:
		return Result{}
	case c.Level > m.known:
		panic(fmt.Sprintf("task: entry %d raises the feature level to %d, and this build knows %d: start a newer one", m.index, c.Level, m.known))
	case c.Level != m.level+1:
		return invalid("level", "a level is raised by one at a time")
	}
	m.level = c.Level
	return Result{Changed: true}
}

// LevelOf returns the feature level that a command needs. Builds know the command and all of its set fields since this level. A proposer asks. Apply
// asks again, so that all replicas refuse in the same way a command that was proposed nevertheless.
//
// A command that came with a later level, or that has a field that came with a later level, has a method level. A field of a record that came with a
// level contributes nothing to a digest while it is absent. So raising a level hashes nothing anew (DESIGN.md, "The digest").
func LevelOf(c Command) uint64 {
	if l, ok := c.(leveled); ok {
		return l.level()
	}
	return FirstLevel
}

// TraceLevel is the feature level that brought traces.
const TraceLevel = 3

// MemoryLevel is the feature level that brought the memory of attempts (SPEC U1).
const MemoryLevel = 3

// levelOf returns the level of a command that brings a creator, a trace and an attempt's memory.
func levelOf(creator uint64, trace string, pages int64) uint64 {
	switch {
	case trace != "" || pages != 0:
		return TraceLevel
	case creator != 0:
		return AccessLevel
	}
	return FirstLevel
}

func (c Finish) level() uint64   { return levelOf(0, "", c.Pages) }
func (c Snooze) level() uint64   { return levelOf(0, "", c.Pages) }
func (c GiveBack) level() uint64 { return levelOf(0, "", c.Pages) }

// leveled is a command that not every level knows.
type leveled interface{ level() uint64 }

// Level returns the cluster's feature level.
func (m *Machine) Level() uint64 { return m.level }

// WithKnownLevel makes the machine one of a build that knows no higher level. Tests use it for clusters of several builds. It is not part of the state.
func WithKnownLevel(level uint64) Option { return func(m *Machine) { m.known = level } }
