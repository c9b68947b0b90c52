package task

// Cancel asks for the end of a task as CANCELLED (SPEC L8).
type Cancel struct {
	Key Key `cbor:"1,keyasint"`
}

func (c Cancel) apply(m *Machine) Result {
	r := m.find(c.Key)
	if r == nil {
		return m.missing(c.Key)
	}
	t := m.task(r)
	switch {
	case t.Role == RoleCompletion && !t.Final(): // its operation completes, and takes no cancel
		return operationTask(t)
	case t.CancelCode != "": // it was told before; a struck deadline stays the reason
		return Result{Task: t, Told: true}
	case t.Status == Running:
		return Result{Task: m.cancelRunning(r, CodeCancelled), Told: true}
	case !t.Final():
		return Result{Task: m.cancelWaiting(r, CodeCancelled)}
	case t.Error != nil && t.Error.Code == CodeCancelled:
		return Result{Task: t}
	}
	return Result{Code: NotCancellable, Message: "the task is final", Task: t}
}
