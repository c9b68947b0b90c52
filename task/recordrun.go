package task

// RecordRun stores the record of the run with this token (SPEC M4). The machine fills in what the log knows itself: the
// run, its worker, when it started, and the time if FinishedAt is not 0.
type RecordRun struct {
	Token uint64         `cbor:"1,keyasint"`
	Run   MaintenanceRun `cbor:"2,keyasint" field:"list=Objects"`
}

func (c RecordRun) apply(m *Machine) Result {
	if !m.maintenanceRun(c.Token) {
		return halt()
	}
	if field, why := c.Run.Wrong(); field != "" {
		return invalid(field, why)
	}
	t := m.task(m.find(MaintenanceKey()))
	next := c.Run
	next.Run, next.Token, next.Worker, next.StartedAt = t.Attempt, c.Token, t.Lease.Worker, int64(t.StartedAt)
	next.Ended, next.By = "", 0
	if next.FinishedAt != 0 {
		next.FinishedAt = max(int64(m.now), 1)
	}
	m.runs.Put(m.runs.Of(c.Token), &next)
	return Result{Changed: true}
}
