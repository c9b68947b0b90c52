package task

import (
	"slices"

	"github.com/taskrt/taskrt/task/answers"
	"github.com/taskrt/taskrt/task/hash"
)

// This file is where package task meets package answers, which keeps answers for commands that are sent again (SPEC H4): by processes,
// and under clients' idempotency keys.

// propose answers one proposal: from memory if it is a repeat, else by running its command.
func (m *Machine) propose(p *Proposal) Result {
	o := p.Origin
	switch {
	case o.Body != 0:
		return m.proposeKeyed(p)
	case o.Process == 0:
		r, no := m.turnedAway(&p.Caller)
		if !no {
			r = m.run(p)
		}
		return r
	}
	from, kept := m.answers.Ask(o.Process, o.Seq, o.Lowest, int64(m.leaseNow))
	switch {
	case from == nil:
		return m.stamped(refuse(OriginForgotten, "the answers to this process are no longer known"))
	case kept != nil:
		return *kept
	}
	r, no := m.turnedAway(&p.Caller)
	if !no {
		r = m.run(p)
		m.answers.Remember(from, o.Seq, &r)
	}
	return r
}

// proposeKeyed answers one command of a request that carries an idempotency key. A command that is refused for want of
// room is not applied and not remembered. A later request of this kind goes on where this one was refused.
func (m *Machine) proposeKeyed(p *Proposal) Result {
	o := p.Origin
	if r, ok := m.KeptAnswer(o.Process, o.Body, o.Seq); ok {
		return r
	}
	if r, no := m.turnedAway(&p.Caller); no {
		return r
	}
	k, verdict := m.answers.Open(o.Process, o.Body, o.Seq == o.Lowest, int64(m.leaseNow))
	switch verdict {
	case answers.Full:
		return m.stamped(refuse(KeysExhausted, "too many idempotency keys are remembered: try again later, or without one"))
	case answers.Begun:
		return m.stamped(refuse(OriginForgotten, "the answers under this idempotency key are no longer known"))
	}
	r := m.run(p)
	if passing(r.Code) {
		return r
	}
	m.answers.RememberUnder(k, o.Seq, detached(r))
	return r
}

// detached returns an answer in the form in which it is kept for an hour: its task has payloads of its own.
func detached(r Result) *Result {
	if r.Task != nil && r.Outcome != SubmitCreated {
		r.Task = r.Task.detached()
	}
	return &r
}

// passing reports whether a refusal holds only for now. Then the same number may be sent again: the proposer checks again, or puts the blobs again,
// or its client tries again later.
func passing(c Code) bool { return c == BehaviorWasChanged || c == BlobGone || c == QuotaExceeded }

// KeptAnswer returns the answer to a proposal under a client's key from memory: the kept answer, or the refusal of
// another body. It answers a request that was applied, even if the request would no longer be valid.
func (m *Machine) KeptAnswer(key, body, seq uint64) (Result, bool) {
	switch kept, other := m.answers.Kept(key, body, seq); {
	case other:
		return m.stamped(refuse(IdempotencyMismatch, "the idempotency key was used with another request")), true
	case kept != nil:
		return *kept, true
	}
	return Result{}, false
}

// stamped returns an answer that no command gave.
func (m *Machine) stamped(r Result) Result {
	r.Index = m.index
	return r
}

// newAnswers returns a memory of answers that is empty and has the machine's limits.
func newAnswers(m *Machine) answers.Table[Result] {
	t := answers.New[Result](keptForm{m})
	t.Limit = answers.Limit{
		Processes: m.limits.Processes, Answers: m.limits.Answers, Bytes: m.limits.AnswerBytes,
		Keys: m.limits.Keys, KeyBytes: m.limits.KeyBytes, Idle: m.limits.ProcessIdle,
	}
	return t
}

// keptForm answers package answers' questions about Results. It knows the hash of the task that was written last.
type keptForm struct{ m *Machine }

func (keptForm) HashProcess(id, lowest uint64, used int64) uint64 {
	return hash.Three(hash.OfProcess, id, lowest, uint64(used))
}

func (keptForm) HashKey(id, body uint64, first int64) uint64 {
	return hash.Three(hash.OfClientKey, id, body, uint64(first))
}

func (k keptForm) HashAnswer(owner, seq uint64, r *Result) uint64 {
	var taskHash uint64
	if t := r.Task; t != nil {
		if taskHash = k.m.hashedSum; t != k.m.hashed {
			taskHash = hashTask(t)
		}
	}
	return hashAnswer(owner, seq, r, taskHash)
}

func (keptForm) Bytes(r *Result) int64 { return payloadBytes(r) }

// detached returns a copy of t with payloads of its own. The payloads of an unpacked task would keep a chunk of the arena in memory.
func (t *Task) detached() *Task {
	own := *t
	for _, p := range own.everyPayload() {
		p.Data = slices.Clone(p.Data)
	}
	if t.Error != nil {
		e := *t.Error
		e.Details.Data = slices.Clone(e.Details.Data)
		own.Error = &e
	}
	return &own
}

// About what parts of an answer take besides their texts. An answer may have thousands of these parts.
const (
	recordOverhead  = 120 // a StoreRecord
	blobOverhead    = 120 // more for data that is a blob
	taskOverhead    = 512 // a Task in the answer to a Txn: a copy
	reasonOverhead  = 32
	versionOverhead = 512 // a Version of a Behavior: pinned versions have no limit
)

// payloadBytes counts the parts of an answer that can be large.
func payloadBytes(r *Result) int64 {
	n := taskBytes(r.Task) + behaviorBytes(r.Behavior) + operationBytes(r.Operation)
	for _, t := range r.Tasks {
		n += taskOverhead + taskBytes(t)
	}
	for i := range r.Reasons {
		n += reasonOverhead + int64(len(r.Reasons[i].ID))
	}
	if no := r.Refusal; no != nil {
		n += 8 * int64(len(no.Changes)+len(no.Deletes)+len(no.Depends)+len(no.Owned))
	}
	for _, x := range r.Records {
		if x != nil {
			n += recordOverhead + int64(len(x.Group)+len(x.Data))
			if x.Blob.Blobs != nil {
				n += blobOverhead
			}
		}
	}
	return n
}

func behaviorBytes(b *Behavior) int64 {
	if b == nil {
		return 0
	}
	n := 0
	for i := range b.Versions {
		p := &b.Versions[i].Policy
		n += versionOverhead + len(p.Description) + len(p.ParamsSchema) + len(p.ResultSchema)
	}
	return int64(n)
}

func taskBytes(t *Task) int64 {
	if t == nil {
		return 0
	}
	n := len(t.Params.Data) + len(t.Result.Data) + len(t.Progress.Data) + len(t.Checkpoint.Data)
	if t.Error != nil {
		n += len(t.Error.Message) + len(t.Error.Details.Data)
	}
	return int64(n + labelBytes(t.Labels))
}

func labelBytes(labels []Label) (n int) {
	for i := range labels {
		n += len(labels[i].Name) + len(labels[i].Value)
	}
	return n
}
