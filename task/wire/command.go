package wire

import (
	"fmt"

	"github.com/taskrt/taskrt/task"
)

// Numbers of commands in the log. Never reuse or renumber one; a new command gets the next.
const (
	kindSubmit uint64 = iota + 1
	kindAssign
	kindFinish
	kindBeat
	kindSnooze
	kindGiveBack
	kindCancel
	kindRemove
	kindOpenSession
	kindRenewSession
	kindCloseSession
	kindActivate
	kindTick
)

func kindOf(c task.Command) (uint64, error) {
	switch c.(type) {
	case task.Submit:
		return kindSubmit, nil
	case task.Assign:
		return kindAssign, nil
	case task.Finish:
		return kindFinish, nil
	case task.Beat:
		return kindBeat, nil
	case task.Snooze:
		return kindSnooze, nil
	case task.GiveBack:
		return kindGiveBack, nil
	case task.Cancel:
		return kindCancel, nil
	case task.Remove:
		return kindRemove, nil
	case task.OpenSession:
		return kindOpenSession, nil
	case task.RenewSession:
		return kindRenewSession, nil
	case task.CloseSession:
		return kindCloseSession, nil
	case task.Activate:
		return kindActivate, nil
	case task.Tick:
		return kindTick, nil
	}
	return 0, fmt.Errorf("%w: %T (commands are values, not pointers)", ErrUnknownCommand, c)
}

func decodeCommand(kind uint64, b []byte) (task.Command, []byte, error) {
	switch kind {
	case kindSubmit:
		return decode[task.Submit](b)
	case kindAssign:
		return decode[task.Assign](b)
	case kindFinish:
		return decode[task.Finish](b)
	case kindBeat:
		return decode[task.Beat](b)
	case kindSnooze:
		return decode[task.Snooze](b)
	case kindGiveBack:
		return decode[task.GiveBack](b)
	case kindCancel:
		return decode[task.Cancel](b)
	case kindRemove:
		return decode[task.Remove](b)
	case kindOpenSession:
		return decode[task.OpenSession](b)
	case kindRenewSession:
		return decode[task.RenewSession](b)
	case kindCloseSession:
		return decode[task.CloseSession](b)
	case kindActivate:
		return decode[task.Activate](b)
	case kindTick:
		return decode[task.Tick](b)
	}
	return nil, nil, fmt.Errorf("%w: number %d", ErrUnknownCommand, kind)
}

func decode[C task.Command](b []byte) (task.Command, []byte, error) {
	var c C
	rest, err := cborModes.strict.UnmarshalFirst(b, &c)
	if err != nil {
		return nil, nil, malformed(err)
	}
	return c, rest, nil
}

// longest returns the length of the longest list in c. What was committed must be readable, so that a list that
// decoding would refuse must not be encoded.
func longest(c task.Command) int {
	switch c := c.(type) {
	case task.Submit:
		return len(c.Labels)
	case task.Activate:
		n := len(c.Behaviors)
		for i := range c.Behaviors {
			n = max(n, len(c.Behaviors[i].Policy.IDFrom))
		}
		return n
	}
	return 0
}
