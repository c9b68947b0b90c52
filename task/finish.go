package task

// Finish ends the attempt of Token with an outcome (SPEC L3, R2, L8). One of Result and Error counts: a nil Error means success.
//
//fields:wire value
type Finish struct {
	Key    Key     `cbor:"1,keyasint"`
	Token  uint64  `cbor:"2,keyasint"`
	Seq    uint64  `cbor:"3,keyasint"`
	Result Payload `cbor:"4,keyasint,omitempty"`
	Error  *Error  `cbor:"5,keyasint,omitempty"`
	Again  Time    `cbor:"6,keyasint,omitempty"` // SPEC R4: the run says when to run again; 0: it does not

	External bool `cbor:"7,keyasint,omitempty"` // reported over HTTP: the lease must be an external one

	Fuel int64 `cbor:"8,keyasint,omitempty"` // units that the attempt used: see Attempt

	// InTxn says that the attempt succeeded with children, which one Txn submits together with this Finish (SPEC B6). Outside of a Txn such a Finish
	// ends nothing. It only asks whether the run is over, and if not it is refused with Conflict.
	InTxn bool `cbor:"9,keyasint,omitempty"`

	// Progress is the run's latest progress, so that an ended task shows how far it had come (SPEC J4). nil: it stays as it was.
	Progress *Payload `cbor:"10,keyasint,omitempty"`
	Pages    int64    `cbor:"11,keyasint,omitempty"` // memory that the attempt used: see Attempt
}

func (c Finish) apply(m *Machine) Result {
	if refusal, ok := checkUsed(c.used(), c.External); !ok {
		return refusal
	}
	c.Again = min(c.Again, MaxTime)
	r, refusal := m.reported(c.Key, c.Token, c.External)
	if r == nil {
		if r = m.find(c.Key); r != nil {
			if e := m.task(r).Ended; e != nil && e.Token == c.Token && e.Finish == hashFinish(&c) {
				return Result{Task: m.task(r), Repeated: true}
			}
		}
		return refusal
	}
	t := m.task(r)
	if outdated(t, c.Seq) {
		return Result{Task: t}
	}
	if m.deadlinePassed(t) {
		return c.late(m, r)
	}
	if c.InTxn {
		return Result{Code: Conflict, Message: "the run can only end together with the submits of its children", Task: t}
	}
	if refusal, ok := c.admit(m, t); !ok {
		return refusal
	}
	var n *Task
	switch {
	case c.Error == nil:
		n = c.succeeded(m, r)
	case t.CancelCode != "":
		n = m.ended(t, t.CancelCode, c.used(), hashFinish(&c))
		m.fail(n, cancelError(t.CancelCode), 0)
	default:
		n = c.failed(m, r)
	}
	if c.Progress != nil {
		n.Progress = *c.Progress
	}
	m.resubmitted(n)
	m.put(r, n)
	return Result{Task: n}
}

// admit refuses an outcome whose blobs are not stored, or that refers to blobs where it must not. The run goes on and can put the blobs.
func (c *Finish) admit(m *Machine, t *Task) (Result, bool) {
	if c.Progress != nil {
		if refusal, ok := inline("progress", c.Progress); !ok {
			return refusal, false
		}
	}
	if c.Error != nil {
		return inline("error.details", &c.Error.Details)
	}
	field := "result"
	if c.byProgress() {
		field = "progress"
	}
	result := c.result(t)
	return m.admit(field, &result)
}

// byProgress reports whether the run's progress is its result, because a program reported over HTTP without a result (SPEC J4).
func (c *Finish) byProgress() bool { return c.External && c.Result.Encoding == None }

// result returns the result of a success. Blobs that progress names in it are needed from now on, as with any result.
func (c *Finish) result(t *Task) Payload {
	switch {
	case !c.byProgress():
		return c.Result
	case c.Progress != nil:
		return naming(*c.Progress)
	}
	return naming(t.Progress)
}

// succeeded returns the record after a run that succeeded. It is due again if the run or the policy says so (SPEC R4).
// If the run is being cancelled its success counts (SPEC L8), but it is the last: a cancelled task does not repeat.
func (c *Finish) succeeded(m *Machine, r *row) *Task {
	t := m.task(r)
	n := m.ended(t, outcomeSuccess, c.used(), hashFinish(c))
	n.Suspect = false
	n.Status, n.Result, n.Error = Success, c.result(t), nil
	n.FinishedAt, n.LostCount = m.now, 0
	next := Time(0)
	switch v := m.version(m.of(r), t.Version); {
	case t.CancelCode != "" || t.Role != RoleNone: // a task of an operation has one outcome
	case c.Again > 0:
		next = c.Again
	case v != nil:
		next = v.Policy.repeatAt(m.now)
	}
	again(n, next, 0)
	return n
}

// late refuses a finish after the deadline (SPEC R1), whether or not a Tick has struck yet. It is the only refusal that
// changes something: the run is over. Otherwise a lease that nobody reports on any more would be kept alive for ever.
func (c *Finish) late(m *Machine, r *row) Result {
	n := m.ended(m.task(r), CodeDeadlineExceeded, c.used(), 0)
	m.fail(n, cancelError(CodeDeadlineExceeded), 0)
	n.Resubmit = 0
	m.put(r, n)
	return Result{Code: Halt, Message: "the deadline has passed: the outcome is refused", Task: n}
}

// failed returns the record after a run that failed. The task is due again when the run said, or for a retry, or for the next repeat (SPEC R2, R4).
func (c *Finish) failed(m *Machine, r *row) *Task {
	t := m.task(r)
	e := *c.Error
	if e.Code == "" {
		e.Code = CodeHandlerError
	}
	n := m.ended(t, e.Code, c.used(), hashFinish(c))
	n.Failures++
	n.Suspect = false
	v := m.version(m.of(r), t.Version)
	retry := max(c.Again, 0)
	if retry == 0 && v != nil && e.Retryable {
		if p := v.Policy.Retry; p.MaxAttempts <= 0 || n.Failures < p.MaxAttempts {
			retry = max(later(m.now, p.interval(t, n.Failures)), 1)
		}
	}
	m.fail(n, &e, retry)
	m.repeatFailure(n, v)
	return n
}
