package raftstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// Group commit (docs/architecture.md#group-commit). The leader packs what waits into one group, which raft writes at once. While nothing is in
// flight it sends at once; while something is, it sends another (up to maxInFlight) only when a group worth it waits: best
// or equal at every load, where a fixed depth fragments the groups.
//
// A group is one log entry, or several: bbolt rewrites the last leaf of the log with every write, and keeps three or four
// entries there, however large. Entries of 350 KB are written 4.4 times, those of 64 KiB 1.8 times.
const (
	maxInFlight     = 4 // groups
	enoughCommands  = 256
	enoughBytes     = 64 << 10
	maxCommands     = 1024      // in a group
	maxGroupBytes   = 512 << 10 // raft.SuggestedMaxDataSize: larger writes delay heartbeats
	maxEntryBytes   = 64 << 10  // so that maxInFlight groups fit into raft's queue of maxAppendEntries
	maxCommandBytes = 8 << 20   // a single command this large is a mistake of the caller
)

// call is the commands of one caller in the leader's queue. They may be spread over several entries.
type call struct {
	proposals []task.Proposal
	bodies    wire.Bodies // of the proposals
	bytes     int
	lane      lane
	notify    func(*call) // called exactly once, by any goroutine, when results or err are complete; must not block

	// under batcher.mu
	queued  time.Time
	next    int // first command that is in no entry yet
	left    int // commands without an answer
	results []task.Result
	err     error // ErrNotLeader, ErrOverloaded, ErrStalled: nothing was proposed; ErrOutcomeUnknown
}

func newCall(ps []task.Proposal, bodies wire.Bodies, notify func(*call)) *call {
	c := &call{proposals: ps, bodies: bodies, lane: laneOf(ps), notify: notify, left: len(ps)}
	for i := range ps {
		c.bytes += bodies.Size(i)
	}
	return c
}

// appender is where entries go. It answers nobody who asks once it is shut down, hence Enter and Leave.
type appender interface {
	Enter() bool // false: it must not be asked any more
	Leave()      // it has answered
	Apply(data []byte, timeout time.Duration) raft.ApplyFuture
}

// batcher is the leader's queue. It exists on every node and accepts calls only between lead and its end.
type batcher struct {
	raft        appender
	maxCommands int // waiting in a lane
	maxBytes    int
	queueWait   time.Duration
	queueAge    time.Duration
	now         func() time.Time
	companion   atomic.Pointer[Companion]

	mu       sync.Mutex
	term     *termState // nil: not leading
	lanes    [2]waiting
	pace     pace
	inFlight int
	moved    time.Time // when something came back last, or was sent after a pause
	wake     chan struct{}
}

func newBatcher(c *Config, r appender) *batcher {
	return &batcher{
		raft: r, maxCommands: c.QueueCommands, maxBytes: c.QueueBytes, queueWait: c.QueueWait, queueAge: c.QueueAge, now: time.Now,
		wake: make(chan struct{}, 1),
	}
}

// submit queues c. On an error c.notify is not called, and nothing was proposed.
func (b *batcher) submit(c *call) error {
	for i := range c.proposals {
		if c.bodies.Size(i) > maxCommandBytes {
			return ErrTooLarge
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.term == nil {
		return ErrNotLeader
	}
	if err := b.admits(c); err != nil {
		return err
	}
	c.queued = b.now()
	b.lanes[c.lane].push(c)
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
	return b.lanes[c.lane].remove(c)
}

// ripe reports whether an entry should be sent now, under mu.
func (b *batcher) ripe() bool {
	commands := b.lanes[urgentLane].commands + b.lanes[loadLane].commands
	bytes := b.lanes[urgentLane].bytes + b.lanes[loadLane].bytes
	switch {
	case commands == 0:
		return false
	case b.inFlight == 0:
		return true
	}
	return b.inFlight < maxInFlight && (commands >= enoughCommands || bytes >= enoughBytes)
}

func (b *batcher) signal() {
	wake(b.wake)
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
	queue := slices.Concat(b.lanes[urgentLane].calls, b.lanes[loadLane].calls)
	b.lanes, b.pace = [2]waiting{}, pace{}
	var done []*call
	for _, c := range queue {
		n := len(c.proposals) - c.next
		c.next += n
		if b.answered(c, n, ErrNotLeader) {
			done = append(done, c)
		}
	}
	b.mu.Unlock()
	notifyAll(done)
}

// run sends entries until ctx ends. It is the only goroutine that stamps and sends in this term.
func (b *batcher) run(ctx context.Context, stamp *stamper) {
	expiry := time.NewTimer(b.queueAge)
	defer expiry.Stop()
	for {
		b.mu.Lock()
		refused := b.stale()
		if !b.ripe() {
			left, some := b.untilStale()
			b.mu.Unlock()
			notifyAll(refused)
			if !some {
				left = b.queueAge // what comes from now on is not stale before then
			}
			expiry.Reset(left)
			select {
			case <-ctx.Done():
				return
			case <-b.wake:
			case <-expiry.C:
			}
			continue
		}
		g := b.pack()
		if b.inFlight == 0 {
			b.moved = b.now()
		}
		b.inFlight++
		b.mu.Unlock()
		notifyAll(refused)
		if ctx.Err() != nil {
			b.refuse(g.entries, ErrNotLeader)
			return
		}
		b.send(stamp, g)
	}
}

// group is what is sent at once.
type group struct {
	entries  []*entry
	commands int
	bytes    int
	load     int // commands of that lane
	left     int // entries without an answer; under mu
}

// entry is a log entry on its way: which commands of which calls.
type entry struct {
	group     *group
	proposals []task.Proposal
	parts     []part
	bytes     int
}

type part struct {
	call     *call
	from, to int
}

// pack takes a group off the queue, in order within each lane, under mu.
func (b *batcher) pack() *group {
	g := &group{}
	urgent, load := &b.lanes[urgentLane], &b.lanes[loadLane]
	if load.commands == 0 {
		g.take(urgent, maxCommands, maxGroupBytes)
	} else {
		g.take(urgent, urgentCommands, urgentBytes)
	}
	before := g.commands
	g.take(load, maxCommands, maxGroupBytes)
	g.load = g.commands - before
	g.left = len(g.entries)
	return g
}

// take moves commands into the group, until it has so many of them or so many bytes.
func (g *group) take(w *waiting, mostCommands, mostBytes int) {
	commands, bytes := g.commands, g.bytes
	for len(w.calls) > 0 {
		c := w.calls[0]
		for c.next < len(c.proposals) && g.commands < mostCommands && (g.bytes == 0 || g.bytes+c.bodies.Size(c.next) <= mostBytes) {
			g.add(c)
		}
		if c.next < len(c.proposals) {
			break // the group is full
		}
		w.calls[0] = nil
		w.calls = w.calls[1:]
	}
	w.took(g.commands-commands, g.bytes-bytes)
}

// add moves the next command of c into an entry.
func (g *group) add(c *call) {
	size := c.bodies.Size(c.next)
	if n := len(g.entries); n == 0 || g.entries[n-1].bytes+size > maxEntryBytes {
		g.entries = append(g.entries, &entry{group: g})
	}
	e := g.entries[len(g.entries)-1]
	if n := len(e.parts); n > 0 && e.parts[n-1].call == c {
		e.parts[n-1].to++
	} else {
		e.parts = append(e.parts, part{c, c.next, c.next + 1})
	}
	e.proposals = append(e.proposals, c.proposals[c.next])
	e.bytes += size
	g.bytes += size
	g.commands++
	c.next++
}

// send gives a group to raft. All of it is encoded first: raft writes together what it finds together in its queue.
func (b *batcher) send(stamp *stamper, g *group) {
	var data [][]byte
	var entries []*entry
	for _, e := range g.entries {
		b.accompany(e)
		data, entries = append(data, e.encode(stamp.header())), append(entries, e)
	}
	if !b.raft.Enter() {
		b.refuse(entries, ErrNotLeader)
		return
	}
	futures := make([]raft.ApplyFuture, len(data))
	for i, d := range data {
		futures[i] = b.raft.Apply(d, 0)
	}
	go func() {
		defer b.raft.Leave()
		for i, e := range entries {
			results, err := answers(futures[i])
			b.finish(e, results, err)
		}
	}()
}

// encode returns what stands in the log.
func (e *entry) encode(h task.Header) []byte {
	d := wire.Begin(h, len(e.proposals), e.bytes)
	for _, p := range e.parts {
		for i := p.from; i < p.to; i++ {
			d = p.call.bodies.Append(d, i, p.call.proposals[i].Origin)
		}
	}
	return d
}

// answers waits for what became of an entry.
func answers(f raft.ApplyFuture) ([]task.Result, error) {
	if err := f.Error(); err != nil {
		return nil, classify(err)
	}
	results, ok := f.Response().([]task.Result)
	if !ok { // the machine has stopped
		return nil, ErrOutcomeUnknown
	}
	return results, nil
}

// refuse ends entries that were not proposed.
func (b *batcher) refuse(entries []*entry, err error) {
	for _, e := range entries {
		b.finish(e, nil, err)
	}
}

// finish gives the answers of one entry to its calls.
func (b *batcher) finish(e *entry, results []task.Result, err error) {
	b.mu.Lock()
	b.moved = b.now()
	if e.group.left--; e.group.left == 0 {
		b.inFlight--
		b.pace.finished(b.moved, e.group.load, b.lanes[loadLane].commands)
	}
	var done []*call
	at := 0
	for _, p := range e.parts {
		n := p.to - p.from
		if err == nil {
			p.call.take(p, results[at:at+n:at+n])
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
	notifyAll(done)
}

// take notes the results of a part. Those of a call that is in one part stay where they are.
func (c *call) take(p part, results []task.Result) {
	switch {
	case len(results) == len(c.proposals):
		c.results = results
		return
	case c.results == nil:
		c.results = make([]task.Result, len(c.proposals))
	}
	copy(c.results[p.from:p.to], results)
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
