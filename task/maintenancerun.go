package task

import (
	"slices"
	"strings"
)

// Each run has a record (SPEC M4). It begins when the run is leased, and ends when the run's lease ends, whatever the
// run says in between. So no run is without a record, and no run that is over looks as if it went on.

// MaintenanceRun is the record of a run (SPEC M4). Values are immutable.
//
//fields:hash record Run
type MaintenanceRun struct {
	Run        int64         `cbor:"1,keyasint"` // the attempt's number
	Token      uint64        `cbor:"2,keyasint"`
	Worker     string        `cbor:"3,keyasint"`
	DryRun     bool          `cbor:"4,keyasint,omitempty"`
	StartedAt  Time          `cbor:"5,keyasint"`
	FinishedAt Time          `cbor:"6,keyasint,omitempty"` // 0: it runs, or ended without an outcome: see Ended
	Success    bool          `cbor:"7,keyasint,omitempty"`
	Message    string        `cbor:"8,keyasint,omitempty"`
	Before     Time          `cbor:"9,keyasint,omitempty"`  // nothing newer is deleted (SPEC M3)
	Objects    []ObjectCount `cbor:"10,keyasint,omitempty"` // by kind and namespace
	Filter     FilterStats   `cbor:"11,keyasint,omitempty"`
	Ended      string        `cbor:"12,keyasint,omitempty"` // it ended without finishing: lost, given_back, snoozed, superseded, removed
	By         int64         `cbor:"13,keyasint,omitempty"` // Ended: the run that took its place; 0: none has yet
}

// ObjectCount is what a run did with the objects of one kind in one namespace, or in the cluster for "".
type ObjectCount struct {
	Kind      string `cbor:"1,keyasint"`
	Namespace string `cbor:"2,keyasint,omitempty"`
	Scanned   int64  `cbor:"3,keyasint,omitempty"`
	Retained  int64  `cbor:"4,keyasint,omitempty"`
	Newer     int64  `cbor:"5,keyasint,omitempty"`
	Deleted   int64  `cbor:"6,keyasint,omitempty"`
}

// FilterStats describes the Bloom filter of a run. It gives the size of the next filter (SPEC M3).
type FilterStats struct {
	Items  int64 `cbor:"1,keyasint,omitempty"` // objects marked
	Bits   int64 `cbor:"2,keyasint,omitempty"`
	Hashes int64 `cbor:"3,keyasint,omitempty"`
	PPB    int64 `cbor:"4,keyasint,omitempty"` // estimated false positives per billion when marking had ended
}

// MaxRuns is how many runs are remembered (SPEC M4).
const MaxRuns = 50

const (
	endedSuperseded = "superseded"
	endedRemoved    = "removed" // the task was removed
)

// MaintenanceRuns returns the records of runs, the newest first.
func (m *Machine) MaintenanceRuns() []*MaintenanceRun {
	runs := slices.Clone(m.runs)
	slices.Reverse(runs)
	return runs
}

// maintenanceRun reports whether token belongs to the run of maintenance that is going on. Every command that deletes for a run asks this first, and
// answers halt if it does not. So a run that was superseded or thought dead deletes nothing (SPEC M1, M3).
func (m *Machine) maintenanceRun(token uint64) bool {
	return token != 0 && m.leased(MaintenanceKey(), token) != nil
}

// followRun keeps the records in step with the maintenance task. t replaces prev, and is nil if the task is removed.
// With an outcome the params of a StartMaintenance have served.
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
		m.beginRun(t)
	case waitsForTakeOver(prev) && !waitsForTakeOver(t):
		m.supersedeRun()
	}
	if t != nil && concluded(prev, t) {
		t.Params, t.ConcurrencyKey = Payload{}, ""
	}
	if t != nil && t.Final() {
		m.nextRun(t)
	}
}

// nextRun lets the schedule go on when its task would end with a run that was cancelled, or would never begin. Only a pause stops it (SPEC M1).
func (m *Machine) nextRun(t *Task) {
	b := m.behaviors[behaviorName{t.Namespace, t.Behavior}]
	if v := m.version(b, ""); b.live() != nil && v != nil {
		if next := v.Policy.repeatAt(m.now); next != 0 {
			again(t, next, 0)
		}
	}
}

// tally counts in the record of a run what it deletes, at once. So the record shows it, whatever becomes of the run. At
// its end the run tells all that it counted, including the members' disks.
func (m *Machine) tally(token uint64, kind, namespace string, deleted int64) {
	i := m.runIndex(token)
	if deleted == 0 || i == len(m.runs) {
		return
	}
	next := *m.runs[i]
	next.Objects = slices.Clone(next.Objects)
	at := slices.IndexFunc(next.Objects, func(o ObjectCount) bool { return o.Kind == kind && o.Namespace == namespace })
	if at < 0 && len(next.Objects) >= MaxObjectCounts {
		return
	}
	if at < 0 {
		at = len(next.Objects)
		next.Objects = append(next.Objects, ObjectCount{Kind: kind, Namespace: namespace})
	}
	next.Objects[at].Deleted += deleted
	m.putRun(i, &next)
}

// The kinds of objects that commands of a run delete, as ObjectCount names them.
const (
	ObjectTask      = "task"
	ObjectOperation = "operation"
	ObjectBlob      = "blob"
	ObjectVersion   = "version"
	ObjectBehavior  = "behavior"
	ObjectPurged    = "purged" // records of namespaces in PURGING, of all kinds
)

// concluded reports whether t has an outcome that the record before it, prev, had not, or does not run again by itself.
func concluded(prev, t *Task) bool {
	outcome := func(t *Task) bool { return t.Status == Success || t.Status == Failure }
	return t.Final() || outcome(t) && !outcome(prev)
}

// beginRun makes the record of the run that t was leased for. The run takes the place of former runs that ended without an outcome.
func (m *Machine) beginRun(t *Task) {
	for i, r := range m.runs {
		if r.Ended != "" && r.By == 0 {
			next := *r
			next.By = t.Attempt
			m.putRun(i, &next)
		}
	}
	for len(m.runs) >= MaxRuns {
		m.sum -= hashRun(m.runs[0])
		m.runs = slices.Delete(m.runs, 0, 1)
	}
	m.putRun(len(m.runs), &MaintenanceRun{Run: t.Attempt, Token: t.Lease.Token, Worker: t.Lease.Worker, StartedAt: t.StartedAt})
}

// endRun ends the record of the run if it has no end. t is the task after the run, or nil.
func (m *Machine) endRun(token uint64, t *Task) {
	i := m.runIndex(token)
	if i == len(m.runs) || m.runs[i].over() {
		return
	}
	next := *m.runs[i]
	switch {
	case t == nil:
		next.Ended = endedRemoved
	case t.Status == Created || t.History[len(t.History)-1].Outcome == outcomeLost:
		next.Ended = strings.ToLower(t.History[len(t.History)-1].Outcome)
	default:
		next.FinishedAt, next.Success = max(m.now, 1), t.Status == Success
		if e := t.Error; e != nil {
			next.Message = e.Code + ": " + e.Message
			next.Message = strings.ToValidUTF8(next.Message[:min(len(next.Message), maxRunMessage)], "")
		}
	}
	m.putRun(i, &next)
}

// supersedeRun is endRun for a run that was lost and is not to be taken over any more.
func (m *Machine) supersedeRun() {
	if i := len(m.runs) - 1; i >= 0 && m.runs[i].Ended != "" {
		next := *m.runs[i]
		next.Ended = endedSuperseded
		m.putRun(i, &next)
	}
}

// over reports whether the run has ended, in whatever way.
func (r *MaintenanceRun) over() bool { return r.FinishedAt != 0 || r.Ended != "" }

// runIndex returns the place of the record of the token's run, or the place behind all records.
func (m *Machine) runIndex(token uint64) int {
	if i := slices.IndexFunc(m.runs, func(r *MaintenanceRun) bool { return r.Token == token }); i >= 0 {
		return i
	}
	return len(m.runs)
}

// putRun makes r the record at a place, which may be the place behind all records.
func (m *Machine) putRun(i int, r *MaintenanceRun) {
	if i == len(m.runs) {
		m.runs = append(m.runs, nil)
	} else {
		m.sum -= hashRun(m.runs[i])
	}
	m.runs[i] = r
	m.sum += hashRun(r)
}

// maintenance verifies the records of runs.
func (c *checker) maintenance() {
	m, leased := c.m, uint64(0)
	if r := m.find(MaintenanceKey()); r != nil && m.task(r).Lease != nil {
		leased = m.task(r).Lease.Token
	}
	c.expect(len(m.runs) <= MaxRuns, "M4: %d runs", len(m.runs))
	c.expect(leased == 0 || m.runIndex(leased) == len(m.runs)-1, "M4: the run that goes on has no record, or not the last")
	last := uint64(0)
	for _, r := range m.runs {
		c.sum += hashRun(r)
		c.expect(r.Token > last, "M4: runs out of order at %d", r.Run)
		c.expect(r.over() || r.Token == leased, "M4: run %d looks as if it went on", r.Run)
		c.expect((r.FinishedAt == 0 || r.Ended == "") && (r.Ended != "" || r.By == 0), "M4: run %d ended in two ways", r.Run)
		_, ok := r.check()
		c.expect(ok, "M4: run %d: %+v", r.Run, r)
		last = r.Token
	}
}
