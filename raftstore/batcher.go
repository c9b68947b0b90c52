package raftstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// Group commit (facts 3.1). The leader packs what waits into one log entry. While nothing is in flight it sends at
// once; while something is, it sends another (up to maxInFlight) only when a group worth it waits: best or equal at
// every load, where a fixed depth fragments the groups.
const (
	maxInFlight     = 4
	enoughCommands  = 256
	enoughBytes     = 64 << 10
	maxCommands     = 1024
	maxEntryBytes   = 512 << 10 // raft.SuggestedMaxDataSize: larger entries delay heartbeats
	maxCommandBytes = 8 << 20   // a single command this large is a mistake of the caller
)

// call is the commands of one caller in the leader's queue. They may be spread over several entries.
type call struct {
	proposals []task.Proposal
	sizes     []int
	notify    func(*call) // called exactly once, by any goroutine, when results or err are complete; must not block

	// under batcher.mu
	next    int // first command that is in no entry yet
	left    int // commands without an answer
	results []task.Result
	err     error // ErrNotLeader: nothing was proposed; ErrOutcomeUnknown
}

func newCall(ps []task.Proposal, notify func(*call)) *call {
	c := &call{proposals: ps, sizes: make([]int, len(ps)), notify: notify, left: len(ps), results: make([]task.Result, len(ps))}
	for i := range ps {
		c.sizes[i] = commandSize(ps[i].Command)
	}
	return c
}

// batcher is the leader's queue. It exists on every node and accepts calls only between lead and its end.
type batcher struct {
	raft        interface{ applyEntry([]byte) raft.ApplyFuture }
	maxCommands int // waiting
	maxBytes    int
	gate        *gate
	companion   atomic.Pointer[Companion]

	mu       sync.Mutex
	term     *termState // nil: not leading
	queue    []*call
	commands int // waiting
	bytes    int
	inFlight int
	wake     chan struct{}
}

func newBatcher(c *Config, r interface{ applyEntry([]byte) raft.ApplyFuture }, g *gate) *batcher {
	return &batcher{raft: r, gate: g, maxCommands: c.QueueCommands, maxBytes: c.QueueBytes, wake: make(chan struct{}, 1)}
}

// submit queues c. On an error c.notify is not called, and nothing was proposed.
func (b *batcher) submit(c *call) error {
	bytes := 0
	for _, n := range c.sizes {
		if n > maxCommandBytes {
			return ErrTooLarge
		}
		bytes += n
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.term == nil {
		return ErrNotLeader
	}
	if b.commands > 0 && (b.commands+len(c.sizes) > b.maxCommands || b.bytes+bytes > b.maxBytes) {
		return ErrOverloaded
	}
	b.queue = append(b.queue, c)
	b.commands += len(c.sizes)
	b.bytes += bytes
	if b.ripe() {
		b.signal()
	}
	return nil
}

// withdraw takes c back out of the queue if none of its commands is in an entry. notify is then not called.
func (b *batcher) withdraw(c *call) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.next > 0 || c.left == 0 {
		return false
	}
	for i, q := range b.queue {
		if q == c {
			b.queue = append(b.queue[:i], b.queue[i+1:]...)
			b.commands -= len(c.sizes)
			for _, n := range c.sizes {
				b.bytes -= n
			}
			return true
		}
	}
	return false
}

// ripe reports whether an entry should be sent now, under mu.
func (b *batcher) ripe() bool {
	switch {
	case b.commands == 0:
		return false
	case b.inFlight == 0:
		return true
	}
	return b.inFlight < maxInFlight && (b.commands >= enoughCommands || b.bytes >= enoughBytes)
}

func (b *batcher) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// open lets calls queue up for term. They are sent once run is called.
func (b *batcher) open(term *termState) {
	b.close(nil)
	b.mu.Lock()
	b.term = term
	b.mu.Unlock()
}

// close ends term, nil: whichever there is. It refuses further calls and answers those that wait: nothing of them was
// proposed in this term.
func (b *batcher) close(term *termState) {
	b.mu.Lock()
	if term != nil && b.term != term {
		b.mu.Unlock()
		return
	}
	b.term = nil
	queue := b.queue
	b.queue, b.commands, b.bytes = nil, 0, 0
	var done []*call
	for _, c := range queue {
		n := len(c.proposals) - c.next
		c.next += n
		if b.answered(c, n, ErrNotLeader) {
			done = append(done, c)
		}
	}
	b.mu.Unlock()
	for _, c := range done {
		c.notify(c)
	}
}

// run sends entries until ctx ends. It is the only goroutine that stamps and sends in this term.
func (b *batcher) run(ctx context.Context, stamp *stamper) {
	for {
		b.mu.Lock()
		for !b.ripe() {
			b.mu.Unlock()
			select {
			case <-ctx.Done():
				return
			case <-b.wake:
			}
			b.mu.Lock()
		}
		e := b.pack()
		b.inFlight++
		b.mu.Unlock()
		if ctx.Err() != nil {
			b.finish(e, nil, ErrNotLeader)
			return
		}
		b.accompany(e)
		b.send(stamp.header(), e)
	}
}

// entry is a group on its way: which commands of which calls.
type entry struct {
	proposals []task.Proposal
	parts     []part
}

type part struct {
	call     *call
	from, to int
}

// pack takes a group off the queue, in order, under mu.
func (b *batcher) pack() *entry {
	e := &entry{}
	room, bytes := maxCommands, 0
	for len(b.queue) > 0 && room > 0 {
		c := b.queue[0]
		from := c.next
		for c.next < len(c.sizes) && room > 0 && (bytes == 0 || bytes+c.sizes[c.next] <= maxEntryBytes) {
			bytes += c.sizes[c.next]
			room--
			c.next++
		}
		if c.next > from {
			e.parts = append(e.parts, part{c, from, c.next})
			e.proposals = append(e.proposals, c.proposals[from:c.next]...)
		}
		if c.next < len(c.sizes) {
			break // the entry is full
		}
		b.queue[0] = nil
		b.queue = b.queue[1:]
	}
	b.commands -= len(e.proposals)
	b.bytes -= bytes
	return e
}

func (b *batcher) send(h task.Header, e *entry) {
	data, err := wire.EncodeEntry(h, e.proposals)
	if err != nil {
		// Commands come from this process or passed wire.DecodeProposals; nothing was proposed.
		b.finish(e, nil, ErrTooLarge)
		return
	}
	if !b.gate.enter() {
		b.finish(e, nil, ErrNotLeader)
		return
	}
	future := b.raft.applyEntry(data)
	go func() {
		defer b.gate.leave()
		if err := future.Error(); err != nil {
			b.finish(e, nil, classify(err))
			return
		}
		results, ok := future.Response().([]task.Result)
		if !ok { // the machine has stopped
			b.finish(e, nil, ErrOutcomeUnknown)
			return
		}
		b.finish(e, results, nil)
	}()
}

// finish gives the answers of one entry to its calls.
func (b *batcher) finish(e *entry, results []task.Result, err error) {
	b.mu.Lock()
	b.inFlight--
	var done []*call
	at := 0
	for _, p := range e.parts {
		n := p.to - p.from
		if err == nil {
			copy(p.call.results[p.from:p.to], results[at:at+n])
		}
		at += n
		if b.answered(p.call, n, err) {
			done = append(done, p.call)
		}
	}
	if b.ripe() {
		b.signal()
	}
	b.mu.Unlock()
	for _, c := range done {
		c.notify(c)
	}
}

// answered notes that n commands of c have their answer and reports whether that was the last. A call of which a part
// was applied and another was not has an unknown outcome as a whole.
func (b *batcher) answered(c *call, n int, err error) bool {
	first := c.left == len(c.proposals)
	c.left -= n
	switch {
	case first:
		c.err = err
	case !errors.Is(c.err, err):
		c.err = ErrOutcomeUnknown
	}
	return c.left == 0
}
