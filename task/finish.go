package task

// Finish ends the attempt of Token with an outcome (SPEC L3, R2, L8). Exactly one of Result and Error counts:
// Error nil means success.
type Finish struct {
	Key    Key     `cbor:"1,keyasint"`
	Token  uint64  `cbor:"2,keyasint"`
	Seq    uint64  `cbor:"3,keyasint"`
	Result Payload `cbor:"4,keyasint,omitempty"`
	Error  *Error  `cbor:"5,keyasint,omitempty"`
}

func (c Finish) apply(m *Machine) Result {
	r := m.leased(c.Key, c.Token)
	if r == nil {
		if r = m.store.get(c.Key); r != nil {
			if e := r.task.Ended; e != nil && e.Token == c.Token && e.Finish == hashFinish(&c) {
				return Result{Task: r.task, Repeated: true}
			}
		}
		return halt()
	}
	t := r.task
	if outdated(t, c.Seq) {
		return Result{Task: t}
	}
	cancel, late := t.CancelCode, m.deadlinePassed(t)
	if cancel == "" && late {
		cancel = CodeDeadlineExceeded
	}
	var n *Task
	message := ""
	switch {
	case cancel != "" && (c.Error != nil || late || cancel == CodeDeadlineExceeded):
		// Being cancelled, whatever fails ends as cancelled (SPEC L8), and past the deadline a success is refused
		// (SPEC R1). The run is over all the same: were the report itself refused, the lease would stay for ever.
		if c.Error == nil {
			message = "the result came too late and was refused"
		}
		n = m.ended(t, cancel, hashFinish(&c))
		m.fail(n, cancelError(cancel), 0)
		n.Resubmit = 0
	case c.Error != nil:
		n = c.failed(m, r)
	default:
		n = m.ended(t, outcomeSuccess, hashFinish(&c))
		n.Status, n.Result, n.Error = Success, c.Result, nil
		n.FinishedAt, n.LostCount = m.now, 0
		again(n, 0, 0)
	}
	m.resubmitted(n)
	m.put(r, n)
	return Result{Task: n, Message: message}
}

// failed returns the record after a run that failed: due again if the policy says so (SPEC R2).
func (c *Finish) failed(m *Machine, r *row) *Task {
	t := r.task
	e := *c.Error
	if e.Code == "" {
		e.Code = CodeHandlerError
	}
	n := m.ended(t, e.Code, hashFinish(c))
	n.Failures++
	retry := Time(0)
	if v := m.version(r.behavior, t.Version); v != nil && e.Retryable {
		if p := v.Policy.Retry; p.MaxAttempts <= 0 || n.Failures < p.MaxAttempts {
			retry = max(later(m.now, p.Interval(t.ID, t.Attempt, n.Failures)), 1)
		}
	}
	m.fail(n, &e, retry)
	return n
}
