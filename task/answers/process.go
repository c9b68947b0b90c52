package answers

import "slices"

// Process is what is remembered of one proposing process.
type Process[R any] struct {
	id     uint64
	lowest uint64 // answers below it are forgotten: acknowledged, or too many
	used   int64  // of its last command
	bytes  int64  // derived: of its answers
	list[R]
	room []R // where its next answers are kept, if there is room
}

// roomFor is how many answers of a process are allocated together. Answers are forgotten in their order, so few are kept for others' sake.
const roomFor = 16

// own returns a copy of r that is kept for p.
func (p *Process[R]) own(r *R) *R {
	if len(p.room) == cap(p.room) {
		p.room = make([]R, 0, roomFor)
	}
	p.room = append(p.room, *r)
	return &p.room[len(p.room)-1]
}

// Ask looks for the answer to command seq of a process that has received its answers below lowest. It returns the process, and the kept answer or
// nil. It returns no process if answers to it have been forgotten. An unknown process is accepted only with lowest 1.
func (t *Table[R]) Ask(id, seq, lowest uint64, at int64) (*Process[R], *R) {
	p := t.processes[id]
	switch {
	case p == nil && lowest != 1, p != nil && seq < p.lowest, seq < lowest:
		return nil, nil
	case p == nil:
		p = t.meet(id, at)
	}
	t.sum -= t.hashProcess(p)
	p.used = at
	t.acknowledge(p, lowest)
	t.sum += t.hashProcess(p)
	return p, p.get(seq)
}

func (t *Table[R]) hashProcess(p *Process[R]) uint64 {
	return t.form.HashProcess(p.id, p.lowest, p.used)
}

// meet makes room for a new process. If there are too many, it forgets the process that has been silent longest.
func (t *Table[R]) meet(id uint64, at int64) *Process[R] {
	for int64(len(t.processes)) >= max(t.Limit.Processes, 1) {
		var oldest *Process[R]
		for _, p := range t.processes { // order-free: the least by (used, id) is one
			if oldest == nil || p.used < oldest.used || p.used == oldest.used && p.id < oldest.id {
				oldest = p
			}
		}
		t.forget(oldest)
	}
	t.AddProcess(id, 1, at)
	return t.processes[id]
}

// acknowledge forgets answers below lowest. The caller adjusts the sum for the process itself.
func (t *Table[R]) acknowledge(p *Process[R], lowest uint64) {
	if lowest <= p.lowest {
		return
	}
	p.lowest = lowest
	i, _ := p.place(lowest)
	t.cut(p, i)
}

// cut drops the first n answers.
func (t *Table[R]) cut(p *Process[R], n int) {
	for i := range p.answers[:n] {
		t.sum -= p.answers[i].hash
		p.bytes -= p.answers[i].bytes
	}
	p.answers = p.answers[n:]
	switch {
	case len(p.answers) == 0:
		p.answers = nil
	case n > 0 && len(p.answers) < cap(p.answers)/4: // let the array go, because it keeps the dropped answers in memory
		p.answers = slices.Clone(p.answers)
	}
}

// Remember keeps an answer. Beyond its limits a process loses its lowest answers. If it sends such a command again, the outcome is unknown, but there
// is never a second effect.
func (t *Table[R]) Remember(p *Process[R], seq uint64, r *R) {
	a := t.answer(p.id, seq, p.own(r))
	t.sum += a.hash
	p.bytes += a.bytes
	p.insert(a)
	surplus := 0
	for bytes := p.bytes; surplus < len(p.answers)-1 &&
		(int64(len(p.answers)-surplus) > t.Limit.Answers || bytes > t.Limit.Bytes); surplus++ {
		bytes -= p.answers[surplus].bytes
	}
	if surplus > 0 {
		t.sum -= t.hashProcess(p)
		p.lowest = p.answers[surplus-1].seq + 1
		t.sum += t.hashProcess(p)
		t.cut(p, surplus)
	}
}

func (t *Table[R]) forget(p *Process[R]) {
	t.cut(p, len(p.answers))
	t.sum -= t.hashProcess(p)
	delete(t.processes, p.id)
}

// AddProcess adds a process of a snapshot, and reports whether it was not there.
func (t *Table[R]) AddProcess(id, lowest uint64, used int64) bool {
	if t.processes[id] != nil {
		return false
	}
	p := &Process[R]{id: id, lowest: lowest, used: used}
	t.processes[id] = p
	t.sum += t.hashProcess(p)
	return true
}

// AddAnswer adds an answer of a snapshot to a process. It reports whether the process is there and lacked the answer. Answers come by number.
func (t *Table[R]) AddAnswer(id, seq uint64, r *R) bool {
	p := t.processes[id]
	if p == nil || seq < p.lowest || len(p.answers) > 0 && p.last() >= seq {
		return false
	}
	a := t.answer(id, seq, r)
	p.answers = append(p.answers, a)
	p.bytes += a.bytes
	t.sum += a.hash
	return true
}
