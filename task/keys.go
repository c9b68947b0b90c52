package task

import "slices"

// clientKey is what the machine remembers of one Idempotency-Key of a client (SPEC H4): the answers to the commands of
// its request, numbered by their place in it. Unlike a process's, they wait for no acknowledgement: they go when the key
// is as old as Limit.ProcessIdle says. Everything but expiry is state: it is hashed and travels in snapshots.
type clientKey struct {
	id      uint64
	body    uint64    // hash of the request that used it first
	first   LeaseTime // when it did: the key is forgotten an hour of the lease clock later, used again or not
	answers []answer  // by seq; shared with Frozens as a process's are
	frozen  bool      // derived: one may
	expiry  heapPos   // in Machine.keyExpiries
}

// answerOverhead is what an answer without payloads counts in Limit.KeyBytes: a batch under one key has thousands.
const answerOverhead = 256

func (k *clientKey) hash() uint64 { return hashClientKey(k.id, k.body, k.first) }

// proposeKeyed answers one command of a request that carries an idempotency key. What is refused for want of room is not
// applied and not remembered: the same request later goes on where this one was refused.
func (m *Machine) proposeKeyed(p *Proposal) Result {
	o := p.Origin
	if r, ok := m.KeptAnswer(o.Process, o.Body, o.Seq); ok {
		return r
	}
	k := m.keys[o.Process]
	switch {
	case k == nil && int64(len(m.keys)) >= m.limits.Keys, m.keyBytes >= m.limits.KeyBytes:
		return m.stamped(refuse(KeysExhausted, "too many idempotency keys are remembered: try again later, or without one"))
	case k == nil && o.Seq != o.Lowest: // the rest of a request whose beginning was forgotten on the way
		return m.stamped(refuse(OriginForgotten, "the answers under this idempotency key are no longer known"))
	case k == nil:
		k = &clientKey{id: o.Process, body: o.Body, first: m.leaseNow}
		m.sum += k.hash()
		m.enterClientKey(k)
	}
	r := m.run(p.Command)
	if !passing(r.Code) && m.keys[k.id] == k { // a Tick may forget its own key
		m.rememberKeyed(k, o.Seq, r)
	}
	return r
}

// passing reports whether a refusal holds only for now, so that the same number is sent again: the proposer validates
// again, or puts the blobs again, or its client tries again later.
func passing(c Code) bool { return c == BehaviorWasChanged || c == BlobGone || c == QuotaExceeded }

// KeptAnswer returns what a proposal under a client's key would be answered from memory: the kept answer, or the refusal of
// another body. A request that was applied is answered by it although it would no longer be valid.
func (m *Machine) KeptAnswer(key, body, seq uint64) (Result, bool) {
	k := m.keys[key]
	if k == nil {
		return Result{}, false
	}
	if k.body != body {
		return m.stamped(refuse(IdempotencyMismatch, "the idempotency key was used with another request")), true
	}
	if i, ok := slices.BinarySearchFunc(k.answers, seq, byAnswerSeq); ok {
		return *k.answers[i].result, true
	}
	return Result{}, false
}

// stamped returns an answer that no command gave.
func (m *Machine) stamped(r Result) Result {
	r.Index = m.index
	return r
}

// enterClientKey enters a key into everything derived.
func (m *Machine) enterClientKey(k *clientKey) {
	m.keys[k.id] = k
	m.keyExpiries.Push(int64(later(k.first, Millis(m.limits.ProcessIdle))), k.id, &k.expiry, k)
}

// rememberKeyed keeps an answer for as long as the key lives.
func (m *Machine) rememberKeyed(k *clientKey, seq uint64, r Result) {
	if r.Task != nil && r.Outcome != SubmitCreated {
		r.Task = r.Task.detached()
	}
	a := m.answer(k.hash(), seq, &r)
	m.sum += a.hash
	m.keyBytes += answerOverhead + a.bytes
	k.answers, k.frozen = insertAnswer(k.answers, k.frozen, a)
}

// detached returns a copy of t with payloads of its own: those of a task that was unpacked keep a chunk of the arena in
// memory.
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

// forgetKeys is the Tick's part: keys live for an hour of the lease clock from their first use.
func (m *Machine) forgetKeys() {
	for n := m.keyExpiries.Head(); n != nil && n.Key <= int64(m.leaseNow); n = m.keyExpiries.Head() {
		k := n.Item
		for i := range k.answers {
			m.sum -= k.answers[i].hash
			m.keyBytes -= answerOverhead + k.answers[i].bytes
		}
		m.sum -= k.hash()
		m.keyExpiries.Remove(&k.expiry)
		delete(m.keys, k.id)
		m.tickChange = true
	}
}
