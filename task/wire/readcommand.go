package wire

import (
	"math"

	"github.com/taskrt/taskrt/task"
)

// command reads a command that append.go writes. It returns nil for another command.
func (r *reader) command(kind uint64) task.Command {
	switch kind {
	case kindSubmit:
		return r.submit()
	case kindAssign:
		return r.assign()
	case kindFinish:
		return r.finish()
	case kindBeat:
		return r.beat()
	case kindSnooze:
		return r.snooze()
	case kindGiveBack:
		return r.giveBack()
	case kindRenewSession:
		return r.renewSession()
	case kindTick:
		if f := r.fields(); f.n > 0 {
			r.bad = true
		}
		return task.Tick{}
	}
	return nil
}

func (r *reader) submit() (c task.Submit) {
	f := r.fields()
	for {
		switch r.next(&f) {
		case 0:
			return c
		case 1:
			c.Namespace = r.name()
		case 2:
			c.ID = r.text()
		case 3:
			c.Behavior = r.name()
		case 4:
			c.Params = r.payload()
		case 5:
			c.IfExists = task.IfExists(r.small(0, math.MaxUint8))
		case 6:
			c.NotBefore = task.Time(r.int())
		case 7:
			c.Delay = task.Millis(r.int())
		case 8:
			c.Deadline = task.Time(r.int())
		case 9:
			c.Labels = r.labels()
		case 10:
			c.Priority = int8(r.small(math.MinInt8, math.MaxInt8))
		case 11:
			c.HasParams = r.bool()
		case 12:
			c.BehaviorRev = r.uint()
		case 13:
			c.ConcurrencyKey = r.text()
		case 14:
			c.Existing = r.bool()
		case 15:
			c.Parent = r.text()
		case 16:
			c.HasLabels = r.bool()
		case 17:
			c.HasPriority = r.bool()
		default:
			r.bad = true
		}
	}
}

func (r *reader) assign() (c task.Assign) {
	f := r.fields()
	for {
		switch r.next(&f) {
		case 0:
			return c
		case 1:
			c.Key = r.key()
		case 2:
			c.Rev = r.uint()
		case 3:
			c.Session = r.uint()
		case 4:
			c.External = r.acceptor()
		case 5:
			c.Fresh = r.bool()
		default:
			r.bad = true
		}
	}
}

func (r *reader) acceptor() *task.Acceptor {
	a := &task.Acceptor{}
	f := r.fields()
	for {
		switch r.next(&f) {
		case 0:
			return a
		case 1:
			a.Worker = r.name()
		case 2:
			a.Lease = task.Millis(r.int())
		case 3:
			a.MaxNotBefore = task.Time(r.int())
		case 4:
			a.Request = r.name()
		default:
			r.bad = true
		}
	}
}

func (r *reader) finish() (c task.Finish) {
	f := r.fields()
	for {
		switch r.next(&f) {
		case 0:
			return c
		case 1:
			c.Key = r.key()
		case 2:
			c.Token = r.uint()
		case 3:
			c.Seq = r.uint()
		case 4:
			c.Result = r.payload()
		case 5:
			c.Error = r.error()
		case 6:
			c.Again = task.Time(r.int())
		case 7:
			c.External = r.bool()
		case 8:
			c.Fuel = r.int()
		case 9:
			c.InTxn = r.bool()
		case 10:
			c.Progress = r.payloadPointer()
		default:
			r.bad = true
		}
	}
}

func (r *reader) beat() (c task.Beat) {
	f := r.fields()
	for {
		switch r.next(&f) {
		case 0:
			return c
		case 1:
			c.Key = r.key()
		case 2:
			c.Token = r.uint()
		case 3:
			c.Seq = r.uint()
		case 4:
			c.Progress = r.payloadPointer()
		case 5:
			c.Checkpoint = r.payloadPointer()
		case 6:
			c.Extend = task.Millis(r.int())
		case 7:
			c.External = r.bool()
		default:
			r.bad = true
		}
	}
}

func (r *reader) snooze() (c task.Snooze) {
	f := r.fields()
	for {
		switch r.next(&f) {
		case 0:
			return c
		case 1:
			c.Key = r.key()
		case 2:
			c.Token = r.uint()
		case 3:
			c.Seq = r.uint()
		case 4:
			c.At = task.Time(r.int())
		case 5:
			c.Checkpoint = r.payloadPointer()
		case 6:
			c.External = r.bool()
		case 7:
			c.Fuel = r.int()
		case 8:
			c.Progress = r.payloadPointer()
		default:
			r.bad = true
		}
	}
}

func (r *reader) giveBack() (c task.GiveBack) {
	f := r.fields()
	for {
		switch r.next(&f) {
		case 0:
			return c
		case 1:
			c.Key = r.key()
		case 2:
			c.Token = r.uint()
		case 3:
			c.External = r.bool()
		case 4:
			c.Fuel = r.int()
		default:
			r.bad = true
		}
	}
}

func (r *reader) renewSession() (c task.RenewSession) {
	f := r.fields()
	for {
		switch r.next(&f) {
		case 0:
			return c
		case 1:
			c.Session = r.uint()
		case 2:
			c.Acked = r.uint()
		default:
			r.bad = true
		}
	}
}
