package task

// RecordRun stores the record of the run with this token (SPEC M4). The machine fills in what the log knows itself: the
// run, its worker, when it started, and the time if FinishedAt is not 0.
type RecordRun struct {
	Token uint64         `cbor:"1,keyasint"`
	Run   MaintenanceRun `cbor:"2,keyasint"`
}

// MaxObjectCounts bounds MaintenanceRun.Objects.
const MaxObjectCounts = 1_000

const (
	maxRunMessage = 4 << 10 // bytes of MaintenanceRun.Message
	maxRunName    = 128     // bytes of a kind or namespace in it
)

func (c RecordRun) apply(m *Machine) Result {
	if !m.maintenanceRun(c.Token) {
		return halt()
	}
	if r, ok := c.Run.check(); !ok {
		return r
	}
	t := m.task(m.find(MaintenanceKey()))
	next := c.Run
	next.Run, next.Token, next.Worker, next.StartedAt = t.Attempt, c.Token, t.Lease.Worker, t.StartedAt
	next.Ended, next.By = "", 0
	if next.FinishedAt != 0 {
		next.FinishedAt = max(m.now, 1)
	}
	m.putRun(m.runIndex(c.Token), &next)
	return Result{Changed: true}
}

// check refuses what the proposer should have seen.
func (r *MaintenanceRun) check() (Result, bool) {
	switch {
	case r.Success && r.FinishedAt == 0:
		return invalid("run.success", "a run that has not finished is no success"), false
	case len(r.Message) > maxRunMessage:
		return invalid("run.message", "the message of a run is at most 4096 bytes"), false
	case len(r.Objects) > MaxObjectCounts:
		return invalid("run.objects", "a run counts at most 1000 kinds and namespaces"), false
	case min(r.Filter.Items, r.Filter.Bits, r.Filter.Hashes, r.Filter.PPB) < 0:
		return invalid("run.filter", "a number is negative"), false
	}
	for i := range r.Objects {
		o := &r.Objects[i]
		switch {
		case len(o.Kind) > maxRunName || len(o.Namespace) > maxRunName:
			return invalid("run.objects", "a kind or namespace is at most 128 bytes"), false
		case min(o.Scanned, o.Retained, o.Newer, o.Deleted) < 0:
			return invalid("run.objects", "a number is negative"), false
		}
	}
	return Result{}, true
}
