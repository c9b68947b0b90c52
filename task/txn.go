package task

import (
	"fmt"
	"slices"
)

// Txn changes several tasks of one namespace, all or nothing (SPEC X1).
type Txn struct {
	Namespace string      `cbor:"1,keyasint"`
	Depends   []TxnDepend `cbor:"2,keyasint,omitempty"`
	Submits   []Submit    `cbor:"3,keyasint,omitempty"` // their Namespace is ignored
	Updates   []TxnUpdate `cbor:"4,keyasint,omitempty"`
	Finishes  []Finish    `cbor:"5,keyasint,omitempty"` // their Key.Namespace is ignored
	Deletes   []TxnDelete `cbor:"6,keyasint,omitempty"`
}

// MaxTxnParts bounds the parts of a Txn, depends included (SPEC X1).
const MaxTxnParts = 1_000

// TxnDepend must hold for the transaction to happen: the task exists, and has this rev, or this as its current token.
type TxnDepend struct {
	ID    string `cbor:"1,keyasint"`
	Rev   uint64 `cbor:"2,keyasint,omitempty"`
	Token uint64 `cbor:"3,keyasint,omitempty"`
}

// TxnUpdate changes a task that is not running. Nil fields stay.
type TxnUpdate struct {
	ID             string   `cbor:"1,keyasint"`
	Rev            uint64   `cbor:"2,keyasint,omitempty"` // 0: any
	NotBefore      *Time    `cbor:"3,keyasint,omitempty"` // of a waiting task
	Delay          *Millis  `cbor:"4,keyasint,omitempty"` // instead of NotBefore: from now
	Deadline       *Time    `cbor:"5,keyasint,omitempty"` // 0: none
	Priority       *int8    `cbor:"6,keyasint,omitempty"`
	Labels         []Label  `cbor:"7,keyasint,omitempty"`
	HasLabels      bool     `cbor:"8,keyasint,omitempty"`
	Params         *Payload `cbor:"9,keyasint,omitempty"` // of a waiting task
	ConcurrencyKey string   `cbor:"10,keyasint,omitempty"`
	BehaviorRev    uint64   `cbor:"11,keyasint,omitempty"` // with Params: as in Submit
}

// TxnDelete removes a task that is not running.
type TxnDelete struct {
	ID  string `cbor:"1,keyasint"`
	Rev uint64 `cbor:"2,keyasint,omitempty"` // 0: any
}

func (c Txn) level() uint64 {
	level := FirstLevel
	for i := range c.Submits {
		level = max(level, c.Submits[i].level())
	}
	for i := range c.Finishes {
		level = max(level, c.Finishes[i].level())
	}
	return level
}

// apply decides on the state before, all parts at once. Then it carries out the parts by the code of the single
// commands. None of them can be refused any more, because no two change the same task.
func (c Txn) apply(m *Machine) Result {
	c.place()
	if r, ok := c.check(m); !ok {
		return r
	}
	if r := m.charge(c.Namespace, c.demand(m)); r.Code != OK {
		return r
	}
	var made []*Task
	for i := range c.Submits {
		s := &c.Submits[i]
		b, r, _ := s.meet(m)
		made = append(made, s.made(s.carryOut(m, b, r)))
	}
	for i := range c.Updates {
		made = append(made, c.Updates[i].carryOut(m, m.find(Key{c.Namespace, c.Updates[i].ID})))
	}
	for i := range c.Finishes {
		made = append(made, c.Finishes[i].made(m.mustDo(c.Finishes[i])))
	}
	for i := range c.Deletes {
		m.mustDo(Remove{Key: Key{c.Namespace, c.Deletes[i].ID}})
	}
	return Result{Tasks: made}
}

// demand returns what all parts together take of the namespace's quotas. It does not count what a finish brings.
func (c *Txn) demand(m *Machine) demand {
	var all demand
	for i := range c.Submits {
		s := &c.Submits[i]
		all.add(s.demand(m, m.find(Key{c.Namespace, s.ID})))
	}
	for i := range c.Updates {
		if u := &c.Updates[i]; u.Params != nil {
			all.bytes += m.size(u.Params) - m.size(&m.task(m.find(Key{c.Namespace, u.ID})).Params)
		}
	}
	for i := range c.Deletes {
		all.tasks--
		all.bytes -= m.taskSize(m.task(m.find(Key{c.Namespace, c.Deletes[i].ID})))
	}
	return all
}

// place puts the parts that are commands into the transaction's namespace. The command may be shared.
func (c *Txn) place() {
	c.Submits, c.Finishes = slices.Clone(c.Submits), slices.Clone(c.Finishes)
	for i := range c.Submits {
		c.Submits[i].Namespace = c.Namespace
	}
	for i := range c.Finishes {
		c.Finishes[i].Key.Namespace, c.Finishes[i].InTxn = c.Namespace, false // the finish is in a Txn now
	}
}

// mustDo carries out a part that was checked.
func (m *Machine) mustDo(c Command) Result {
	r := c.apply(m)
	if r.Code != OK {
		panic(fmt.Sprintf("task: a part of a transaction was checked and then refused, %s: %T%+v", r.Code, c, c))
	}
	return r
}

// made returns the task that the answer to a transaction shows for a submit.
func (c *Submit) made(r Result) *Task {
	t := lean(r.Task)
	if r.Outcome == SubmitCreated {
		t.Params = r.Task.Params
	}
	return t
}

// made returns the task that the answer to a transaction shows for a finish.
func (c *Finish) made(r Result) *Task {
	t := lean(r.Task)
	if c.Result.Encoding != None {
		t.Result = r.Task.Result
	}
	if c.Error != nil {
		t.Error = r.Task.Error
	}
	return t
}

// carryOut writes the update and returns the task that the answer shows for it.
func (u *TxnUpdate) carryOut(m *Machine, r *row) *Task {
	n := *m.task(r)
	switch {
	case u.NotBefore != nil:
		n.NotBefore = max(*u.NotBefore, 1)
	case u.Delay != nil:
		n.NotBefore = max(later(m.now, *u.Delay), 1)
	}
	if u.Deadline != nil {
		n.Deadline = *u.Deadline
	}
	if u.Priority != nil {
		n.Priority = *u.Priority
	}
	if u.HasLabels {
		n.Labels = u.Labels
	}
	if u.Params != nil {
		n.Params, n.ConcurrencyKey = *u.Params, u.ConcurrencyKey
	}
	m.put(r, &n)
	t := lean(&n)
	if u.Params != nil {
		t.Params = n.Params
	}
	return t
}

// lean returns a copy of t without its large parts, so that a transaction of a thousand small parts has a small answer.
func lean(t *Task) *Task {
	n := *t
	n.Params, n.Result, n.Progress, n.Checkpoint = Payload{}, Payload{}, Payload{}, Payload{}
	if t.Error != nil && t.Error.Details.Encoding != None {
		e := *t.Error
		e.Details = Payload{}
		n.Error = &e
	}
	return &n
}
