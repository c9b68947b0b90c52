package naive

import (
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
)

type process struct { // a proposer that the machine knows (SPEC H4)
	lowest  uint64
	used    task.LeaseTime
	answers map[uint64]task.Result
}

type clientKey struct { // an idempotency key (SPEC H4)
	body    uint64
	first   task.LeaseTime
	answers map[uint64]task.Result
}

// propose is H4: each (process, seq) is applied once.
func (m *Model) propose(p task.Proposal, got task.Result) task.Result {
	o, pr := p.Origin, m.processes[p.Origin.Process]
	if o.Body != 0 {
		return m.keyed(p, got)
	} else if o.Process == 0 {
		r, _ := m.asked(p, got)
		return r
	}
	if pr == nil && o.Lowest != 1 || pr != nil && o.Seq < pr.lowest || o.Seq < o.Lowest {
		return task.Result{Code: task.OriginForgotten}
	} else if pr == nil {
		pr = &process{answers: map[uint64]task.Result{}}
		m.processes[o.Process] = pr
	}
	pr.used, pr.lowest = m.LeaseNow, max(pr.lowest, o.Lowest)
	maps.DeleteFunc(pr.answers, func(seq uint64, _ task.Result) bool { return seq < pr.lowest })
	if _, ok := pr.answers[o.Seq]; !ok {
		r, kept := m.asked(p, got)
		if r.Index = m.index; !kept {
			return r
		}
		pr.answers[o.Seq] = r
	}
	return pr.answers[o.Seq]
}

// asked is apply, if the caller has a say. Else the command may be sent again.
func (m *Model) asked(p task.Proposal, got task.Result) (r task.Result, kept bool) {
	if no := m.turnedAway(p.Caller); no != "" {
		return task.Result{Code: no}, false
	}
	return m.steered(p, got), true
}

// keyed handles a client's Idempotency-Key: the same request gets the same answers for an hour, whichever node brings it.
func (m *Model) keyed(p task.Proposal, got task.Result) task.Result {
	o, k := p.Origin, m.keys[p.Origin.Process]
	if k != nil && k.body != o.Body {
		return task.Result{Code: task.IdempotencyMismatch}
	} else if k != nil {
		if r, ok := k.answers[o.Seq]; ok {
			return r
		}
	}
	if no := m.turnedAway(p.Caller); no != "" {
		return task.Result{Code: no}
	} else if k != nil {
	} else if len(m.keys) >= m.limits.Keys {
		return task.Result{Code: task.KeysExhausted}
	} else if o.Seq != o.Lowest { // the middle of a request whose beginning is forgotten
		return task.Result{Code: task.OriginForgotten}
	} else {
		k = &clientKey{body: o.Body, first: m.LeaseNow, answers: map[uint64]task.Result{}}
		m.keys[o.Process] = k
	}
	r := m.steered(p, got)
	passing := []task.Code{task.BehaviorWasChanged, task.QuotaExceeded, task.BlobGone} // the same number is proposed again
	if r.Index = m.index; !slices.Contains(passing, r.Code) {
		k.answers[o.Seq] = r
	}
	return r
}

// KeyTimes returns when the oldest idempotency key is forgotten; 0: there is none.
func (m *Model) KeyTimes() (first task.LeaseTime) {
	for _, k := range m.keys {
		if at := k.first + task.LeaseTime(m.limits.Idle); first == 0 || at < first {
			first = at
		}
	}
	return first
}

// forget does the Tick's part. It reports whether anything was forgotten.
func (m *Model) forget() bool {
	had := len(m.processes) + len(m.keys)
	idle := task.LeaseTime(m.limits.Idle)
	maps.DeleteFunc(m.processes, func(_ uint64, p *process) bool { return p.used+idle <= m.LeaseNow })
	maps.DeleteFunc(m.keys, func(_ uint64, k *clientKey) bool { return k.first+idle <= m.LeaseNow })
	return len(m.processes)+len(m.keys) < had
}
