package naive

import (
	"cmp"
	"encoding/json"
	"math/big"
	"regexp"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// text identifies a finish without its seq: sent again, it may be numbered again (L3).
func text(c task.Finish) string {
	j, _ := json.Marshal([]any{c.Token, c.Result, c.Error, c.Again}) // plain values: no error
	return string(j)
}

// refs finds what JSON names of blobs.
var refs = regexp.MustCompile(`\{"\$blob":"sha256:([0-9a-f]{64})"\}`)

func named(p task.Payload) []string {
	if p.Blobs == nil {
		return nil
	}
	return p.Blobs.Named
}

func (m *Model) finish(c task.Finish, got task.Result) task.Result {
	if old := m.Tasks[c.Key]; !wrongUse(used{c.Fuel, c.Pages}, c.External) && old != nil && old.Ended != nil && old.Ended.Finish != 0 && m.finishes[c.Key] == text(c) {
		r := m.answer(task.OK, c.Key, got)
		r.Repeated = true
		return r
	}
	return m.report(c.Key, c.Token, c.Seq, c.External, used{c.Fuel, c.Pages}, got, func(t *task.Task) task.Code { return m.outcome(t, c) })
}

// outcome ends a run by the worker's own finish.
func (m *Model) outcome(t *task.Task, c task.Finish) task.Code {
	if t.Deadline != 0 && t.Deadline <= m.Now { // refused, but the run is over
		t.CancelCode = task.CodeDeadlineExceeded
		m.waitAgain(t, "", 0, 0)
		return task.Halt
	}
	if c.InTxn { // it waits for its children
		return task.Conflict
	}
	if c.Progress != nil {
		if len(digests(*c.Progress)) > 0 {
			return task.InvalidCommand
		}
		t.Progress = *c.Progress
	}
	said := text(c)
	if c.Error == nil && c.Result.Encoding == task.None && t.Lease.Session == 0 { // J4
		c.Result = t.Progress
		for _, d := range refs.FindAllStringSubmatch(string(c.Result.Data), -1) {
			c.Result.Blobs = &task.Blobs{Named: slices.Compact(slices.Sorted(slices.Values(append(named(c.Result), d[1]))))}
		}
	}
	if code := m.admit(c.Result); c.Error == nil && code != task.OK {
		return code
	}
	switch {
	case c.Error == nil:
		at := m.repeat(t)
		if c.Again != 0 {
			at = c.Again
		}
		if t.CancelCode != "" || t.Role != task.RoleNone { // honoured (L8), but it was told not to run any more
			at = 0
		}
		m.end(t, "SUCCESS")
		t.Status, t.Result, t.FinishedAt, t.LostCount, t.CancelCode, t.Suspect = task.Success, c.Result, m.Now, 0, "", false
		again(t, at, 0)
		resubmitted(t, at)
		m.write(t)
	case t.CancelCode != "":
		m.waitAgain(t, "", 0, 0)
	default:
		m.failure(t, c.Error, c.Again)
	}
	t.Ended.Finish = UnknownHash
	m.finishes[c.Key] = said
	return task.OK
}

// repeat is R4: when a run that ends now is followed by another run because its behavior says so; 0: never.
func (m *Model) repeat(t *task.Task) task.Time {
	if p := m.Version(t, t.Version).Policy; p.RepeatEvery > 0 {
		return m.Now + task.Time(p.RepeatEvery)
	}
	return 0
}

// repeatFailed lets a final failure be followed by a new cycle, if the behavior says so (R4).
func (m *Model) repeatFailed(t *task.Task) {
	if at := m.repeat(t); at != 0 && t.Role == task.RoleNone && m.Version(t, t.Version).Policy.RepeatAny {
		failures := t.Failures
		again(t, at, 0)
		t.Failures = failures // the new cycle's first lease clears it
	}
}

// failure ends a run that failed. It is retried at the time that it named itself, or by its policy (R2, R4).
func (m *Model) failure(t *task.Task, e *task.Error, at task.Time) {
	m.end(t, e.Code)
	m.failed(t, e)
	t.Failures++
	t.Suspect = m.guilty && t.Bound == 0
	bounds := [2]task.Time{}
	p := m.Version(t, t.Version).Policy.Retry
	switch {
	case at != 0:
		t.NotBefore = at
	case e.Retryable && (p.MaxAttempts == 0 || t.Failures < p.MaxAttempts):
		d := backoff(p, t.Failures-1)
		bounds = [2]task.Time{m.Now + task.Time(d-d*task.Millis(p.JitterPercent)/100), m.Now + task.Time(d)}
		if t.NotBefore = bounds[0]; t.Resubmit != 0 {
			bounds = [2]task.Time{min(bounds[0], t.Resubmit), min(bounds[1], t.Resubmit)}
		}
	default:
		m.repeatFailed(t)
	}
	resubmitted(t, t.NotBefore)
	if m.write(t); bounds[0] != 0 {
		m.Jitter[name(t)] = bounds
	}
}

// backoff is initial × multiplier^n, exactly, then to the nearest millisecond and at most max (R2).
func backoff(p task.Retry, n int64) task.Millis {
	power := func(x, n int64) *big.Int { return new(big.Int).Exp(big.NewInt(x), big.NewInt(n), nil) }
	exact := new(big.Rat).SetFrac(power(p.MultiplierThousandth, n), power(1000, n))
	exact.Mul(exact, new(big.Rat).SetInt64(int64(p.InitialInterval)))
	exact.Add(exact, big.NewRat(1, 2))
	if whole := new(big.Int).Quo(exact.Num(), exact.Denom()); whole.IsInt64() {
		return min(task.Millis(whole.Int64()), p.MaxInterval)
	}
	return p.MaxInterval
}

// failed gives t the outcome FAILURE, final as it stands.
func (m *Model) failed(t *task.Task, e *task.Error) {
	t.Status, t.Error, t.FinishedAt, t.LostCount, t.NotBefore, t.CancelCode = task.Failure, e, m.Now, 0, 0, ""
}

// resubmitted lets the resubmit flag take effect: due at its time, or at other (0: none) if that is earlier (I3).
func resubmitted(t *task.Task, other task.Time) {
	if at := t.Resubmit; at != 0 {
		t.Resubmit = 0
		again(t, min(at, cmp.Or(other, at)), 0)
	}
}

// end takes the lease from t and notes it in the history.
func (m *Model) end(t *task.Task, outcome string) {
	l := t.Lease
	t.Lease, t.Ended = nil, &task.Ended{Token: l.Token}
	if t.Role == task.RolePartition {
		t.Ended.Session = l.Session
		if m.restarts(t) {
			t.Checkpoint = task.Payload{}
		}
	}
	t.History = append(slices.Clone(t.History), task.Attempt{
		Number: t.Attempt, Token: l.Token, Worker: l.Worker, Node: l.Node, StartedAt: t.StartedAt, FinishedAt: m.Now, Outcome: outcome,
		Fuel: m.used.fuel, Pages: m.used.pages,
	})
	t.History = t.History[max(0, len(t.History)-5):]
}

// waitAgain ends a run without an outcome (T1, L8, R3, R5). wish is the time that the run itself named; 0: none.
func (m *Model) waitAgain(t *task.Task, outcome string, at, wish task.Time) task.Code {
	code := t.CancelCode
	t.LostCount += map[string]int64{"LOST": 1}[outcome]
	m.end(t, cmp.Or(code, outcome))
	t.Suspect = outcome == "SUSPECT" && t.Bound == 0 || t.Suspect && outcome != "SNOOZED"
	if t.Status, t.NotBefore = task.Created, at; code != "" {
		m.failed(t, &task.Error{Code: code})
		t.Resubmit = 0
	} else if outcome == "LOST" && t.LostCount >= m.Version(t, t.Version).Policy.MaxLost {
		m.failed(t, &task.Error{Code: task.CodeLostTooOften})
		m.repeatFailed(t)
		wish = t.NotBefore
	}
	resubmitted(t, wish)
	m.write(t)
	return task.OK
}
