package task

import (
	"cmp"
	"slices"
)

// process is what the machine remembers of one proposing process, so that a command sent again is answered and not
// applied again (SPEC H4). Everything in it is state: it is hashed and travels in snapshots.
type process struct {
	id      uint64
	lowest  uint64    // answers below it are forgotten: acknowledged, or too many
	used    LeaseTime // of its last command
	answers []answer  // by seq; appended to and cut in front, and written in place only while not frozen
	frozen  bool      // derived: a Frozen may share the array
	bytes   int64     // derived: payload bytes of answers
}

type answer struct {
	seq    uint64
	result *Result
	hash   uint64
	bytes  int64
}

func (p *process) hash() uint64 { return hashProcess(p.id, p.lowest, p.used) }

func byAnswerSeq(a answer, seq uint64) int { return cmp.Compare(a.seq, seq) }

// propose answers one proposal: from memory if it is a repeat, else by running its command.
func (m *Machine) propose(p *Proposal) Result {
	o := p.Origin
	if o.Body != 0 {
		return m.proposeKeyed(p)
	}
	if o.Process == 0 {
		return m.run(p.Command)
	}
	from := m.processes[o.Process]
	switch {
	case from == nil && o.Lowest != 1, from != nil && o.Seq < from.lowest, o.Seq < o.Lowest:
		return m.stamped(refuse(OriginForgotten, "the answers to this process are no longer known"))
	case from == nil:
		from = m.meet(o.Process)
	}
	m.sum -= from.hash()
	from.used = m.leaseNow
	m.acknowledge(from, o.Lowest)
	m.sum += from.hash()

	i, ok := slices.BinarySearchFunc(from.answers, o.Seq, byAnswerSeq)
	if ok {
		return *from.answers[i].result
	}
	r := m.run(p.Command)
	m.remember(from, o.Seq, r)
	return r
}

// meet makes room for a new process: the one that has been silent longest is forgotten if there are too many.
func (m *Machine) meet(id uint64) *process {
	for int64(len(m.processes)) >= max(m.limits.Processes, 1) {
		var oldest *process
		for _, p := range m.processes { // order-free: the least by (used, id) is one
			if oldest == nil || p.used < oldest.used || p.used == oldest.used && p.id < oldest.id {
				oldest = p
			}
		}
		m.forget(oldest)
	}
	p := &process{id: id, lowest: 1, used: m.leaseNow}
	m.sum += p.hash()
	m.processes[id] = p
	return p
}

// acknowledge forgets answers below lowest. The caller adjusts the sum for the process itself.
func (m *Machine) acknowledge(p *process, lowest uint64) {
	if lowest <= p.lowest {
		return
	}
	p.lowest = lowest
	i, _ := slices.BinarySearchFunc(p.answers, lowest, byAnswerSeq)
	m.cut(p, i)
}

// cut drops the first n answers.
func (m *Machine) cut(p *process, n int) {
	for i := range p.answers[:n] {
		m.sum -= p.answers[i].hash
		p.bytes -= p.answers[i].bytes
	}
	p.answers = p.answers[n:]
	switch {
	case len(p.answers) == 0:
		p.answers = nil
	case n > 0 && len(p.answers) < cap(p.answers)/4: // let the array go, it holds the dropped ones alive
		p.answers = slices.Clone(p.answers)
	}
}

// remember keeps an answer. Past its limits a process loses its lowest ones: sending such a command again gets
// OriginForgotten, which is an unknown outcome, never a second effect.
func (m *Machine) remember(p *process, seq uint64, r Result) {
	a := m.answer(p.id, seq, &r)
	m.sum += a.hash
	p.bytes += a.bytes
	p.answers, p.frozen = insertAnswer(p.answers, p.frozen, a)
	surplus := 0
	for bytes := p.bytes; surplus < len(p.answers)-1 &&
		(int64(len(p.answers)-surplus) > m.limits.Answers || bytes > m.limits.AnswerBytes); surplus++ {
		bytes -= p.answers[surplus].bytes
	}
	if surplus > 0 {
		m.sum -= p.hash()
		p.lowest = p.answers[surplus-1].seq + 1
		m.sum += p.hash()
		m.cut(p, surplus)
	}
}

// insertAnswer adds an answer to a list by seq, without writing into what a Frozen may share: then the list is copied, once.
// The callers of a process overtake each other, and a copy for each of their commands would be most of the work.
func insertAnswer(answers []answer, frozen bool, a answer) (_ []answer, stillFrozen bool) {
	if n := len(answers); n == 0 || answers[n-1].seq < a.seq {
		return append(answers, a), frozen
	}
	if frozen {
		answers = slices.Clone(answers)
	}
	i, _ := slices.BinarySearchFunc(answers, a.seq, byAnswerSeq)
	return slices.Insert(answers, i, a), false
}

// answer returns r as it is kept for owner: a process, or the hash of a client's key.
func (m *Machine) answer(owner, seq uint64, r *Result) answer {
	var taskHash uint64
	if t := r.Task; t != nil {
		if taskHash = m.hashedSum; t != m.hashed {
			taskHash = hashTask(t)
		}
	}
	return answer{seq: seq, result: r, hash: hashAnswer(owner, seq, r, taskHash), bytes: payloadBytes(r)}
}

// About what the parts of an answer take besides their texts, of those of which there may be thousands.
const (
	recordOverhead  = 120 // a StoreRecord
	blobOverhead    = 120 // of a blob that it is
	taskOverhead    = 512 // a Task of a Txn: a copy of its own
	reasonOverhead  = 32
	versionOverhead = 512 // of a Behavior: pinned ones have no limit
)

// payloadBytes counts what can be large in an answer.
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
	for i := range t.Labels {
		n += len(t.Labels[i].Name) + len(t.Labels[i].Value)
	}
	return int64(n)
}

func (m *Machine) forget(p *process) {
	m.cut(p, len(p.answers))
	m.sum -= p.hash()
	delete(m.processes, p.id)
}

// forgetProcesses is the Tick's part: processes that have been silent for an hour of the lease clock are gone or have
// nothing left to send again.
func (m *Machine) forgetProcesses() {
	for _, p := range m.processes { // order-free: each is decided alone, and the sum commutes
		if later(p.used, Millis(m.limits.ProcessIdle)) <= m.leaseNow {
			m.forget(p)
			m.tickChange = true
		}
	}
}
