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

// Group commit (docs/architecture.md#group-commit). The leader packs what waits into one group, which raft writes at once. While nothing is in flight
// it sends at once. While something is in flight it sends another group (up to maxInFlight) only when a group worth sending waits. This is the best
// or as good as the best at every load. A fixed depth would fragment the groups.
//
// A group is one log entry, or several: bbolt rewrites the last leaf of the log with every write, and keeps three or
// four entries there, however large. Entries of 350 KB are written 4.4 times, those of 64 KiB 1.8 times.
const (
	maxInFlight     = 4 // groups
	enoughCommands  = 256
	enoughBytes     = 64 << 10
	maxCommands     = 1024      // in a group
	maxGroupBytes   = 512 << 10 // raft.SuggestedMaxDataSize: larger writes delay heartbeats
	maxEntryBytes   = 64 << 10  // so that maxInFlight groups fit into raft's queue of maxAppendEntries
	maxCommandBytes = 8 << 20   // a larger command is a mistake of the caller
)

// call is the commands of one caller in the leader's queue. They may be spread over several entries.
type call struct {
	proposals []task.Proposal
	bodies    wire.Bodies // of the proposals
	bytes     int
	lane      lane
	notify    func(*call) // called exactly once, by any goroutine, when results or err are complete; must not block

	// The fields below are guarded by batcher.mu.
	queued  time.Time
	next    int // the first command that is in no entry yet
	left    int // commands without an answer
	results []task.Result
	err     error // ErrNotLeader, ErrOverloaded, ErrStalled: nothing was proposed; or ErrOutcomeUnknown
}

func newCall(ps []task.Proposal, bodies wire.Bodies, notify func(*call)) *call {
	c := &call{proposals: ps, bodies: bodies, lane: laneOf(ps), notify: notify, left: len(ps)}
	for i := range ps {
		c.bytes += bodies.Size(i)
	}
	return c
}

// appender is where entries go. Once it is shut down it answers no request; Enter and Leave guard against such a
// request.
type appender interface {
	Enter() bool // false: it must not be asked any longer
	Leave()      // it has answered
	Apply(data []byte, timeout time.Duration) raft.ApplyFuture
}

// batcher is the leader's queue. Every node has one. It takes calls only from open to close.
type batcher struct {
	raft        appender
	maxCommands int // bounds what waits in a lane
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
	moved    time.Time     // when something last came back, or was sent after a pause
	ripened  chan struct{} // capacity 1: ripe may be true
}

func newBatcher(c *Config, r appender) *batcher {
	return &batcher{
		raft: r, maxCommands: c.QueueCommands, maxBytes: c.QueueBytes, queueWait: c.QueueWait, queueAge: c.QueueAge, now: time.Now,
		ripened: make(chan struct{}, 1),
	}
}

// submit queues c. If it returns an error nothing was proposed, and c.notify is not called.
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
		wake(b.ripened)
	}
	return nil
}

// withdraw takes c back out of the queue, if none of its commands is in an entry. Then c.notify is not called.
func (b *batcher) withdraw(c *call) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.next > 0 || c.left == 0 {
		return false
	}
	return b.lanes[c.lane].remove(c)
}

// ripe reports whether a group should be sent now, under mu.
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

// open lets calls queue up for term. They are sent once run runs.
func (b *batcher) open(term *termState) {
	b.close(nil)
	b.mu.Lock()
	b.term = term
	b.mu.Unlock()
}

// close ends term, or any term if it is nil. It refuses further calls. It answers the calls that wait. Of these, nothing was proposed in this term
// except commands that are in entries already.
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

// run sends groups until ctx ends. No other goroutine stamps and sends in this term.
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
				left = b.queueAge // a call that comes from now on is not stale before then
			}
			expiry.Reset(left)
			select {
			case <-ctx.Done():
				return
			case <-b.ripened:
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

// group is a set of commands that are sent at once.
type group struct {
	entries  []*entry
	commands int
	bytes    int
	load     int // commands of the load lane
	left     int // entries without an answer; under mu
}

// entry is a log entry on its way. Its parts say which commands of which calls it has.
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

// take moves commands from a lane into the group, until the group has mostCommands or mostBytes.
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

// add moves the next command of c into an entry of the group.
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
		e.proposals = slices.Grow(e.proposals, min(len(c.proposals)-c.next, maxCommands)) // most calls fit as a whole
	}
	e.proposals = append(e.proposals, c.proposals[c.next])
	e.bytes += size
	g.bytes += size
	g.commands++
	c.next++
}

// send gives a group to raft. It encodes the whole group first, because raft writes those entries together that it finds together in its queue.
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

// encode returns the entry as it stands in the log.
func (e *entry) encode(h task.Header) []byte {
	d := wire.Begin(h, len(e.proposals), e.bytes)
	for _, p := range e.parts {
		for i := p.from; i < p.to; i++ {
			d = p.call.bodies.Append(d, i, &p.call.proposals[i])
		}
	}
	return d
}

// answers waits until an entry is applied, or lost.
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
		wake(b.ripened)
	}
	b.mu.Unlock()
	notifyAll(done)
}

// take notes the results of a part. If the part is the whole call its results are not copied.
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

// answered notes that n commands of c have their answer. It reports whether they were the last. If one part of a call
// was applied and another was not, the outcome of the call as a whole is unknown.
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
