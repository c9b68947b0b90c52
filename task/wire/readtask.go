package wire

import (
	"math"

	"github.com/taskrt/taskrt/task"
)

// task reads what appendTask writes.
func (r *reader) task() *task.Task {
	t := &task.Task{}
	f := r.fields()
	for k := r.next(&f); k != 0; k = r.next(&f) {
		if k <= 15 {
			r.taskFirst(t, k)
		} else {
			r.taskSecond(t, k)
		}
	}
	return t
}

func (r *reader) taskFirst(t *task.Task, k byte) {
	switch k {
	case 1:
		t.Namespace = r.name()
	case 2:
		t.ID = r.text()
	case 3:
		t.Behavior = r.name()
	case 4:
		t.Version = r.name()
	case 5:
		t.Status = task.Status(r.small(0, math.MaxUint8))
	case 6:
		t.Params = r.payload()
	case 7:
		t.Result = r.payload()
	case 8:
		t.Error = r.error()
	case 9:
		t.Progress = r.payload()
	case 10:
		t.Checkpoint = r.payload()
	case 11:
		t.NotBefore = task.Time(r.int())
	case 12:
		t.Deadline = task.Time(r.int())
	case 13:
		t.Attempt = r.int()
	case 14:
		t.Failures = r.int()
	case 15:
		t.LostCount = r.int()
	}
}

func (r *reader) taskSecond(t *task.Task, k byte) {
	switch k {
	case 16:
		t.Lease = r.lease()
	case 17:
		t.Ended = r.ended()
	case 18:
		t.Resubmit = task.Time(r.int())
	case 19:
		t.CancelCode = r.name()
	case 20:
		t.Rev = r.uint()
	case 21:
		t.CreatedRev = r.uint()
	case 22:
		t.CreatedAt = task.Time(r.int())
	case 23:
		t.StartedAt = task.Time(r.int())
	case 24:
		t.FinishedAt = task.Time(r.int())
	case 25:
		t.History = r.history()
	case 26:
		t.Parent = r.text()
	case 27:
		t.Partition = r.text()
	case 28:
		t.Labels = r.labels()
	case 29:
		t.Priority = int8(r.small(math.MinInt8, math.MaxInt8))
	case 30:
		t.ConcurrencyKey = r.text()
	case 31:
		t.Role = task.Role(r.small(0, math.MaxUint8))
	case 32:
		t.Bound = r.uint()
	case 33:
		t.Suspect = r.bool()
	case 34:
		t.DueSince = task.Time(r.int())
	case 35:
		t.Excess = r.bool()
	default:
		r.bad = true
	}
}

func (r *reader) lease() *task.Lease {
	l := &task.Lease{}
	f := r.fields()
	for k := r.next(&f); k != 0; k = r.next(&f) {
		switch k {
		case 1:
			l.Token = r.uint()
		case 2:
			l.Session = r.uint()
		case 3:
			l.Seq = r.uint()
		case 4:
			l.Worker = r.name()
		case 5:
			l.Node = r.name()
		case 6:
			l.Report = r.uint()
		case 7:
			l.Given = task.LeaseTime(r.int())
		case 8:
			l.TTL = task.Millis(r.int())
		case 9:
			l.Expires = task.LeaseTime(r.int())
		case 10:
			l.Request = r.text()
		case 11:
			l.GraceEnd = task.LeaseTime(r.int())
		default:
			r.bad = true
		}
	}
	return l
}

func (r *reader) ended() *task.Ended {
	e := &task.Ended{}
	f := r.fields()
	for k := r.next(&f); k != 0; k = r.next(&f) {
		switch k {
		case 1:
			e.Token = r.uint()
		case 2:
			e.Finish = r.uint()
		case 3:
			e.Session = r.uint()
		default:
			r.bad = true
		}
	}
	return e
}

func (r *reader) history() []task.Attempt {
	attempts := make([]task.Attempt, r.list())
	for i := range attempts {
		a := &attempts[i]
		f := r.fields()
		for k := r.next(&f); k != 0; k = r.next(&f) {
			switch k {
			case 1:
				a.Number = r.int()
			case 2:
				a.Token = r.uint()
			case 3:
				a.Worker = r.name()
			case 4:
				a.Node = r.name()
			case 5:
				a.StartedAt = task.Time(r.int())
			case 6:
				a.FinishedAt = task.Time(r.int())
			case 7:
				a.Outcome = r.name()
			case 8:
				a.Fuel = r.int()
			default:
				r.bad = true
			}
		}
	}
	return attempts
}
