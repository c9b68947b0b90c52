package jobs

import (
	"fmt"

	"github.com/taskrt/taskrt/task/match"
)

// Wrong says what is wrong with a job that somebody starts: the field, and why. It returns "" for both if nothing is.
func (x *Job) Wrong() (field, why string) {
	_, wrong := match.Parse(x.Spec)
	again := x.Action == Retry || x.Action == Resubmit
	switch {
	case x.Action < Cancel || x.Action > Remove:
		return "action", "is 1 cancel, 2 retry, 3 resubmit or 4 remove"
	case wrong != "":
		return "filter", wrong
	case x.Rate < 1 || x.Rate > MaxRate:
		return "rate", "is 1 to 100000 tasks per second"
	case len(x.Version) > maxText || (x.Version != "" || x.Keep) && x.Action != Retry:
		return "version", "only a retry takes a version, of at most 256 bytes, and keeps a checkpoint"
	case x.Delay < 0 || x.Delay != 0 && !again:
		return "delay", "only a retry and a resubmit take a delay, which is not negative"
	}
	return "", ""
}

// WrongSelection says what is wrong with what was selected for a job; "" if nothing is.
func WrongSelection(count int64, blobs []string) (field, why string) {
	switch {
	case count < 0 || count > MaxTasks:
		return "count", "a job has at most 10000000 tasks"
	case int64(len(blobs)) != (count+PerBlob-1)/PerBlob:
		return "blobs", "each holds 1048576 numbers, the last one the rest"
	}
	return "", ""
}

// WrongEnd says what is wrong with how a job ends; "" if nothing is.
func WrongEnd(code, message string) (field, why string) {
	if len(code) > maxText || len(message) > maxMessage {
		return "message", "a code is at most 256 bytes, a message 1024"
	}
	return "", ""
}

// Check verifies the table of a machine with this index and rev.
func (t *Table) Check(index, rev uint64) error {
	sum, last := uint64(0), uint64(0)
	for _, x := range t.rows {
		sum += t.hash(x)
		field, why := x.Wrong()
		switch {
		case field != "":
			return fmt.Errorf("job %d: %s: %s", x.Number, field, why)
		case x.Number <= last || x.Rev < x.Number || x.Rev > rev || x.Index > index || x.SelectedAt > index:
			return fmt.Errorf("job %d: number, rev or index", x.Number)
		case x.Position != x.Counts.total() || x.Position > x.Selected:
			return fmt.Errorf("job %d: %d of %d tasks had their turn, counted %+v", x.Number, x.Position, x.Selected, x.Counts)
		case x.State == Selecting && (x.Selected != 0 || len(x.Blobs) > 0), x.State == Acting && x.Position == x.Selected:
			return fmt.Errorf("job %d: state %d with %d tasks, at %d", x.Number, x.State, x.Selected, x.Position)
		case x.Ended() != (x.EndedAt != 0) || x.Ended() && len(x.Blobs) > 0 || x.State == Done && x.Position != x.Selected:
			return fmt.Errorf("job %d: how it ended", x.Number)
		}
		last = x.Number
	}
	if n := t.Active(); sum != t.sum || n > MaxActive || len(t.rows)-n > MaxEnded {
		return fmt.Errorf("%d jobs, %d of them active, with the sum %x, recounted %x", len(t.rows), n, t.sum, sum)
	}
	return nil
}
