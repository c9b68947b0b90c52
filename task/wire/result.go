package wire

import (
	"math"

	"github.com/taskrt/taskrt/task"
)

// appendResult appends the bytes that the library writes for an answer that only says what became of a task. For an answer that says
// more, it returns false, with b as it was.
func appendResult(b []byte, r *task.Result) ([]byte, bool) {
	if r.Session != nil || r.Behavior != nil || len(r.Tasks)+len(r.Reasons)+len(r.Records) > 0 || r.Refusal != nil ||
		r.Operation != nil || r.Space != nil || r.Count != 0 || r.Left != 0 {
		return b, false
	}
	f := beginFields(b)
	f.someText(1, string(r.Code))
	f.someText(2, r.Message)
	f.someText(3, r.Field)
	if r.Task != nil {
		f.key(4)
		var ok bool
		if f.b, ok = appendTask(f.b, r.Task); !ok {
			return b, false
		}
	}
	f.someUint(5, uint64(r.Outcome))
	f.someTrue(6, r.Told)
	f.someTrue(7, r.Repeated)
	f.someTrue(10, r.Changed)
	f.someUint(11, r.Index)
	return f.b, true
}

// result reads what appendResult writes.
func (r *reader) result() (x task.Result) {
	f := r.fields()
	for {
		switch r.next(&f) {
		case 0:
			return x
		case 1:
			x.Code = task.Code(r.name())
		case 2:
			x.Message = r.name()
		case 3:
			x.Field = r.name()
		case 4:
			x.Task = r.task()
		case 5:
			x.Outcome = task.SubmitOutcome(r.small(0, math.MaxUint8))
		case 6:
			x.Told = r.bool()
		case 7:
			x.Repeated = r.bool()
		case 10:
			x.Changed = r.bool()
		case 11:
			x.Index = r.uint()
		default:
			r.bad = true
		}
	}
}

// appendAnswer does the same as appendResult for an answer that is kept.
func appendAnswer(b []byte, a *task.Answer) ([]byte, bool) {
	f := beginFields(b)
	f.uint(1, a.Process)
	f.uint(2, a.Seq)
	f.key(3)
	var ok bool
	if f.b, ok = appendResult(f.b, &a.Result); !ok {
		return b, false
	}
	f.someTrue(4, a.Keyed)
	return f.b, true
}

// readAnswer reads b by hand. If it returns nil, the library has to read b.
func readAnswer(b []byte, shared *names) *task.Answer {
	r := reader{b: b, names: shared}
	a := &task.Answer{}
	f := r.fields()
	for k := r.next(&f); k != 0; k = r.next(&f) {
		switch k {
		case 1:
			a.Process = r.uint()
		case 2:
			a.Seq = r.uint()
		case 3:
			a.Result = r.result()
		case 4:
			a.Keyed = r.bool()
		default:
			r.bad = true
		}
	}
	if r.bad || len(r.b) > 0 {
		return nil
	}
	return a
}
