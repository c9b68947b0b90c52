package task

import "slices"

// StartMaintenance makes the maintenance task due now with these params (SPEC M1). While a run is unfinished it is refused, unless Supersede is that
// run: then the run's lease ends at once. The next run is Result.Task.Attempt + 1. The params are for that run, and for runs that take it over when
// it is lost. They are gone with its outcome, and repeats have none.
type StartMaintenance struct {
	Params    Payload `cbor:"1,keyasint,omitempty"`
	Supersede int64   `cbor:"2,keyasint,omitempty"`
}

func (c StartMaintenance) apply(m *Machine) Result {
	if c.Supersede < 0 {
		return invalid("supersede", "a run is a positive number")
	}
	r := m.find(MaintenanceKey())
	if r == nil {
		return noTask()
	}
	t := m.task(r)
	unfinished := UnfinishedRun(t)
	switch {
	case c.Supersede != 0 && c.Supersede != unfinished:
		return Result{Code: RunNotFound, Field: "supersede_run", Message: "the run to supersede is not the unfinished one", Task: t}
	case c.Supersede == 0 && unfinished > t.Attempt && sameParams(c.Params, t.Params):
		return Result{Task: t}
	case c.Supersede == 0 && unfinished != 0:
		return Result{Code: MaintenanceRunning, Message: "a run of maintenance is not finished", Task: t}
	}
	if refusal, ok := m.admit("params", &c.Params); !ok {
		return refusal
	}
	return Result{Task: m.startRun(r, c.Params), Changed: true}
}

// UnfinishedRun returns the unfinished run of the maintenance task: a run that is leased, a run that was lost or given
// back and waits to be taken over, or a run that was asked for with params and has not begun. 0: there is none.
func UnfinishedRun(t *Task) int64 {
	switch {
	case t.Status == Running || waitsForTakeOver(t):
		return t.Attempt
	case t.NotBefore != 0 && t.Params.Encoding != None:
		return t.Attempt + 1
	}
	return 0
}

// waitsForTakeOver reports whether the last run of t ended without an outcome.
func waitsForTakeOver(t *Task) bool {
	if t.Status != Created || len(t.History) == 0 {
		return false
	}
	switch t.History[len(t.History)-1].Outcome {
	case outcomeLost, outcomeSuspect, outcomeGivenBack, outcomeSnoozed:
		return true
	}
	return false
}

// startRun makes the task due now in a new cycle. An unfinished run is superseded: its worker is told to halt.
func (m *Machine) startRun(r *row, params Payload) *Task {
	t := m.task(r)
	n := *t
	switch {
	case t.Lease != nil:
		n = *m.ended(t, outcomeSuperseded, used{}, 0)
		n.Status, n.Resubmit = Created, 0
	case waitsForTakeOver(t):
		n.History = slices.Clone(t.History)
		n.History[len(n.History)-1].Outcome = outcomeSuperseded
	}
	again(&n, max(m.now, 1), 0)
	n.LostCount, n.Params, n.ConcurrencyKey = 0, params, ""
	m.put(r, &n)
	if t.Lease != nil {
		m.emit(Event{Kind: LeaseEnded, Task: &n, Lease: t.Lease})
	}
	return &n
}
