package task

import (
	"slices"
	"strings"

	"github.com/taskrt/taskrt/task/upkeep"
)

// Each run has a record (SPEC M4). It begins when the run is leased, and ends when the run's lease ends, whatever the
// run says in between. So no run is without a record, and no run that is over looks as if it went on.

// MaintenanceRun is the record of a run (SPEC M4).
type MaintenanceRun = upkeep.Run

// ObjectCount is what a run did with the objects of one kind.
type ObjectCount = upkeep.Object

// FilterStats describes the Bloom filter of a run.
type FilterStats = upkeep.Filter

// Bounds of runs: how many are remembered, and of MaintenanceRun.Objects (SPEC M4).
const (
	MaxRuns         = upkeep.Max
	MaxObjectCounts = upkeep.MaxObjects
)

// MaintenanceRuns returns the records of runs, the newest first.
func (m *Machine) MaintenanceRuns() []*MaintenanceRun {
	all := m.runs.All()
	slices.Reverse(all)
	return all
}

// maintenanceRun reports whether token belongs to the run of maintenance that is going on. Every command that deletes for a run asks this first, and
// answers halt if it does not. So a run that was superseded or thought dead deletes nothing (SPEC M1, M3).
func (m *Machine) maintenanceRun(token uint64) bool {
	return token != 0 && m.leased(MaintenanceKey(), token) != nil
}

// followRun keeps the records in step with the maintenance task. t replaces prev, and is nil if the task is removed. An outcome ends the use of the
// params of a StartMaintenance, so they go.
func (m *Machine) followRun(prev, t *Task) {
	if prev.ID != MaintenanceTask || prev.Namespace != SystemNamespace {
		return
	}
	if prev.Lease != nil && (t == nil || t.Lease == nil) {
		m.endRun(prev.Lease.Token, t)
	}
	switch {
	case t == nil:
	case prev.Lease == nil && t.Lease != nil:
		m.runs.Begin(&MaintenanceRun{Run: t.Attempt, Token: t.Lease.Token, Worker: t.Lease.Worker, StartedAt: int64(t.StartedAt)})
	case waitsForTakeOver(prev) && !waitsForTakeOver(t):
		m.runs.Supersede()
	}
	if t != nil && concluded(prev, t) {
		t.Params, t.ConcurrencyKey = Payload{}, ""
	}
	if t != nil && t.Final() {
		m.nextRun(t)
	}
}

// nextRun makes the maintenance task due again by its schedule when it would be final, as after a cancel. Only a pause stops the schedule (SPEC M1).
func (m *Machine) nextRun(t *Task) {
	b := m.behaviors[behaviorName{t.Namespace, t.Behavior}]
	if v := m.version(b, ""); b.live() != nil && v != nil {
		if next := v.Policy.repeatAt(m.now); next != 0 {
			again(t, next, 0)
		}
	}
}

// concluded reports whether t is final, or has an outcome that prev, the record before it, did not have.
func concluded(prev, t *Task) bool {
	outcome := func(t *Task) bool { return t.Status == Success || t.Status == Failure }
	return t.Final() || outcome(t) && !outcome(prev)
}

// endRun ends the record of the run if it has no end. t is the task after the run, or nil.
func (m *Machine) endRun(token uint64, t *Task) {
	i := m.runs.Of(token)
	if i == m.runs.Len() || m.runs.Rows()[i].Over() {
		return
	}
	next := *m.runs.Rows()[i]
	switch {
	case t == nil:
		next.Ended = upkeep.Removed
	case t.Status == Created || t.History[len(t.History)-1].Outcome == outcomeLost:
		next.Ended = strings.ToLower(t.History[len(t.History)-1].Outcome)
	default:
		next.FinishedAt, next.Success = max(int64(m.now), 1), t.Status == Success
		if e := t.Error; e != nil {
			next.Message = e.Code + ": " + e.Message
			next.Message = strings.ToValidUTF8(next.Message[:min(len(next.Message), upkeep.MaxMessage)], "")
		}
	}
	m.runs.Put(i, &next)
}

// maintenance verifies the records of runs.
func (c *checker) maintenance() {
	m, leased := c.m, uint64(0)
	if r := m.find(MaintenanceKey()); r != nil && m.task(r).Lease != nil {
		leased = m.task(r).Lease.Token
	}
	err := m.runs.Check(leased)
	c.expect(err == nil, "M4: %v", err)
}
