package raftstore

import (
	"container/list"
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"github.com/taskrt/taskrt/task"
)

// idleProcess is how long a proposing process may be silent before it takes a new identity. The machine keeps the
// answers of a silent process for a while only, and would answer its next command with OriginForgotten.
const idleProcess = 30 * time.Minute

// origins numbers the commands of this process, so that each can be sent again without doing its work twice (SPEC H4).
type origins struct {
	clock Clock

	mu  sync.Mutex
	cur *process
}

// process is one proposing identity. It is replaced when it was idle for long, or when the machine has forgotten it.
type process struct {
	id   uint64
	next uint64
	used time.Duration
	open list.List // of *numbered: those without an answer, by first
}

// numbered is a run of commands with consecutive sequence numbers.
type numbered struct {
	process *process
	first   uint64
	n       uint64
	elem    *list.Element
}

func newOrigins(c Clock) *origins { return &origins{clock: c} }

// begin draws n numbers.
func (o *origins) begin(n int) *numbered {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.clock.Mono()
	if o.cur == nil || (o.cur.open.Len() == 0 && now-o.cur.used > idleProcess) {
		o.cur = &process{id: randomID(), next: 1}
	}
	p := o.cur
	p.used = now
	x := &numbered{process: p, first: p.next, n: uint64(n)}
	p.next += x.n
	x.elem = p.open.PushBack(x)
	return x
}

// end says that nobody waits for an answer to x any longer: x will never be sent again.
func (o *origins) end(x *numbered) {
	o.mu.Lock()
	defer o.mu.Unlock()
	x.process.open.Remove(x.elem)
	x.process.used = o.clock.Mono()
}

// forgotten retires an identity that the machine no longer knows.
func (o *origins) forgotten(p *process) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cur == p {
		o.cur = nil
	}
}

// proposals makes the proposals to send. Each sending gets a slice of its own, because the former slice may still lie
// in a queue.
func (o *origins) proposals(x *numbered, cmds []task.Command) []task.Proposal {
	o.mu.Lock()
	lowest := x.process.open.Front().Value.(*numbered).first
	o.mu.Unlock()
	ps := make([]task.Proposal, len(cmds))
	for i, c := range cmds {
		ps[i] = task.Proposal{Origin: task.Origin{Process: x.process.id, Seq: x.first + uint64(i), Lowest: lowest}, Command: c}
	}
	return ps
}

// randomID returns a random number other than 0.
func randomID() uint64 {
	for {
		var b [8]byte
		_, _ = rand.Read(b[:]) // crypto/rand never fails
		if id := binary.BigEndian.Uint64(b[:]); id != 0 {
			return id
		}
	}
}
