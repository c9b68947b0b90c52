package jobs

import "fmt"

// Refusal says why a change of a job is not made; the zero Refusal: it is made. Code is "" if Field is wrong.
type Refusal struct{ Code, Field, Why string }

// Codes of refusals.
const (
	CodeNotFound = "job_not_found"
	CodeMoved    = "job_moved" // the job has ended, or is elsewhere
	CodeTooMany  = "too_many_jobs"
)

func moved() Refusal { return Refusal{Code: CodeMoved, Why: "the job has ended, or is elsewhere"} }

// Start says whether a job can start.
func (t *Table) Start(x *Job) (no Refusal) {
	if no.Field, no.Why = x.Wrong(); no.Field == "" && t.Active() >= MaxActive {
		return Refusal{Code: CodeTooMany, Why: fmt.Sprintf("%d bulk jobs are under way: wait until one has ended, or cancel one", MaxActive)}
	}
	return no
}

// Select returns a job after its tasks have been selected. They were selected in the state at index, and the entry at says so.
func (t *Table) Select(number, index, at uint64, count int64, blobs []string, now int64) (next *Job, no Refusal) {
	x := t.Of(number)
	if x == nil || x.State != Selecting {
		return nil, moved()
	}
	if no.Field, no.Why = WrongSelection(count, blobs); no.Field != "" {
		return nil, no
	}
	if index < x.Index || index >= at {
		return nil, Refusal{Field: "index", Why: "is that of the job's start, or a later one, before this entry's"}
	}
	own := *x
	own.State, own.Selected, own.SelectedAt, own.Blobs = Acting, count, index, blobs
	if count == 0 {
		return own.End(Done, "", "", now), Refusal{}
	}
	return &own, Refusal{}
}

// Step returns a job after its next tasks have had their turn, one after the other. A step from another place than the job's does nothing, so no task
// has two turns, even if leaders change. A step ends before a task whose turn has to come later.
func (t *Table) Step(number uint64, from int64, tasks []uint64, now int64, turn func(task uint64) Outcome) (next *Job, no Refusal) {
	x, n := t.Of(number), int64(len(tasks))
	switch {
	case x == nil || x.State != Acting || x.Position != from:
		return nil, moved()
	case n == 0 || n > MaxStep || n > x.Selected-x.Position:
		return nil, Refusal{Field: "tasks", Why: "a step has 1 to 256 tasks, and no more than are left"}
	}
	own := *x
	for _, created := range tasks {
		o := turn(created)
		if o == Later {
			break
		}
		own.Counts.Note(o)
		own.Position++
	}
	if own.Position == own.Selected {
		return own.End(Done, "", "", now), Refusal{}
	}
	return &own, Refusal{}
}

// End returns a job after it ended before its time: cancelled, or failed for the reason in code. It returns nil if the job has ended already.
func (t *Table) End(number uint64, code, message string, now int64) (next *Job, no Refusal) {
	if no.Field, no.Why = WrongEnd(code, message); no.Field != "" {
		return nil, no
	}
	x := t.Of(number)
	switch {
	case x == nil:
		return nil, Refusal{Code: CodeNotFound, Why: "no bulk job has this number"}
	case x.Ended():
		return nil, Refusal{}
	case code != "":
		return x.End(Failed, code, message, now), Refusal{}
	}
	return x.End(Cancelled, "", "", now), Refusal{}
}
