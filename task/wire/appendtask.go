package wire

import (
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire/head"
)

// appendTask appends the bytes that the library writes for t. If t has more fields than one byte of a map's head counts (nearly
// all of them), it returns false, with b as it was, and leaves t to the library.
func appendTask(b []byte, t *task.Task) ([]byte, bool) {
	f := beginFields(b)
	f.text(1, t.Namespace)
	f.text(2, t.ID)
	f.text(3, t.Behavior)
	f.someText(4, t.Version)
	f.uint(5, uint64(t.Status))
	f.somePayload(6, &t.Params)
	f.somePayload(7, &t.Result)
	if t.Error != nil {
		f.key(8)
		f.b = appendError(f.b, t.Error)
	}
	f.somePayload(9, &t.Progress)
	f.somePayload(10, &t.Checkpoint)
	f.someInt(11, int64(t.NotBefore))
	f.someInt(12, int64(t.Deadline))
	f.someInt(13, t.Attempt)
	f.someInt(14, t.Failures)
	f.someInt(15, t.LostCount)
	if t.Lease != nil {
		f.key(16)
		f.b = appendLease(f.b, t.Lease)
	}
	if t.Ended != nil {
		f.key(17)
		g := beginFields(f.b)
		g.uint(1, t.Ended.Token)
		g.someUint(2, t.Ended.Finish)
		g.someUint(3, t.Ended.Session)
		f.b = g.b
	}
	f.someInt(18, int64(t.Resubmit))
	f.someText(19, t.CancelCode)
	f.uint(20, t.Rev)
	f.uint(21, t.CreatedRev)
	f.int(22, int64(t.CreatedAt))
	f.someInt(23, int64(t.StartedAt))
	f.someInt(24, int64(t.FinishedAt))
	if len(t.History) > 0 {
		f.key(25)
		f.b = appendHistory(f.b, t.History)
	}
	f.someText(26, t.Parent)
	f.someText(27, t.Partition)
	if len(t.Labels) > 0 {
		f.key(28)
		f.b = appendLabels(f.b, t.Labels)
	}
	f.int(29, int64(t.Priority))
	f.someText(30, t.ConcurrencyKey)
	f.someUint(31, uint64(t.Role))
	f.someUint(32, t.Bound)
	f.someTrue(33, t.Suspect)
	f.someInt(34, int64(t.DueSince))
	f.someTrue(35, t.Excess)
	if f.b[f.start] > head.Map|23 {
		return b, false
	}
	return f.b, true
}

func appendLease(b []byte, l *task.Lease) []byte {
	f := beginFields(b)
	f.uint(1, l.Token)
	f.uint(2, l.Session)
	f.uint(3, l.Seq)
	f.text(4, l.Worker)
	f.someText(5, l.Node)
	f.someUint(6, l.Report)
	f.someInt(7, int64(l.Given))
	f.someInt(8, int64(l.TTL))
	f.someInt(9, int64(l.Expires))
	f.someText(10, l.Request)
	f.someInt(11, int64(l.GraceEnd))
	return f.b
}

func appendHistory(b []byte, attempts []task.Attempt) []byte {
	b = head.Append(b, head.Array, uint64(len(attempts)))
	for i := range attempts {
		a := &attempts[i]
		f := beginFields(b)
		f.int(1, a.Number)
		f.uint(2, a.Token)
		f.text(3, a.Worker)
		f.someText(4, a.Node)
		f.int(5, int64(a.StartedAt))
		f.someInt(6, int64(a.FinishedAt))
		f.text(7, a.Outcome)
		f.someInt(8, a.Fuel)
		b = f.b
	}
	return b
}
