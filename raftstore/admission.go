package raftstore

import (
	"slices"
	"time"

	"github.com/taskrt/taskrt/task"
)

// Admission (SPEC H3). Clients may offer more than the log takes. What they add waits in a lane of its own, and not for long: a call that
// would wait for more than Config.QueueWait is refused at once, one that did wait for Config.QueueAge is refused before it is
// proposed; so is what comes while the log does not move. All else (reports of workers, assignments, the leader's clock) goes ahead of it, and is never refused because of it.

type lane int

const (
	urgentLane lane = iota // what keeps alive, ends, or steers what is there already
	loadLane               // what clients add: refusing it is safe and soon heard of
)

// laneOf a call: all of its commands go one way.
func laneOf(ps []task.Proposal) lane {
	for i := range ps {
		switch c := ps[i].Command.(type) {
		case task.Submit, task.StoreUpdate, task.StoreClaim, task.StartOperation, task.ImportRecords:
		case task.Txn:
			if len(c.Finishes) > 0 {
				return urgentLane // a report, with the children that it leaves
			}
		default:
			return urgentLane
		}
	}
	return loadLane
}

// Shares of a group. Neither lane starves: reports go first, and what is added has a quarter if it needs it.
const (
	urgentCommands = maxCommands * 3 / 4
	urgentBytes    = maxGroupBytes * 3 / 4
)

// alwaysTaken is how much may wait whatever the rate: what fits into the next group.
const alwaysTaken = maxCommands

// waiting is the queue of a lane.
type waiting struct {
	calls    []*call
	commands int
	bytes    int
}

func (w *waiting) push(c *call) {
	w.calls = append(w.calls, c)
	w.commands += len(c.proposals)
	w.bytes += c.bytes
}

// remove takes a whole call out; false: it is not there.
func (w *waiting) remove(c *call) bool {
	i := slices.Index(w.calls, c)
	if i < 0 {
		return false
	}
	w.calls = slices.Delete(w.calls, i, i+1)
	w.took(len(c.proposals), c.bytes)
	return true
}

func (w *waiting) took(commands, bytes int) {
	w.commands -= commands
	w.bytes -= bytes
}

// pace is how fast entries with commands of the load lane come back, as seen while some waited: at other times that is the pace of those
// who ask.
type pace struct {
	commands float64
	busy     time.Duration // in which they came back
	last     time.Time     // that an entry did
	more     bool          // something waited then
}

const paceMemory = time.Second // what is older counts half, and so on

// finished notes an entry with so many commands of the lane, and how many wait.
func (p *pace) finished(now time.Time, commands, left int) {
	if p.more {
		p.commands += float64(commands)
		p.busy += now.Sub(p.last)
		if p.busy > paceMemory {
			p.commands, p.busy = p.commands/2, p.busy/2
		}
	}
	p.last, p.more = now, left > 0
}

// wait is how long something will wait behind so many commands; false: nobody knows.
func (p *pace) wait(commands int) (time.Duration, bool) {
	if p.busy <= 0 || p.commands < 1 {
		return 0, false
	}
	return time.Duration(float64(commands) / p.commands * float64(p.busy)), true
}

// admits decides on c, which is about to be queued in its lane, under mu: nil, or why it is refused.
func (b *batcher) admits(c *call) error {
	w := &b.lanes[c.lane]
	if w.commands == 0 {
		return nil
	}
	if w.commands+len(c.proposals) > b.maxCommands || w.bytes+c.bytes > b.maxBytes {
		return ErrOverloaded
	}
	switch {
	case c.lane == urgentLane:
		return nil
	case b.stalled():
		return ErrStalled
	case w.commands+len(c.proposals) <= alwaysTaken:
		return nil
	}
	if expected, known := b.pace.wait(w.commands); !known || expected > b.queueWait {
		return ErrOverloaded
	}
	return nil
}

// stalled reports whether what was sent does not come back, under mu. How long something waits does not tell: the rest of
// a call that takes many groups waits long, however fast they come back.
func (b *batcher) stalled() bool {
	return b.inFlight > 0 && b.now().Sub(b.moved) >= b.queueAge
}

// refusal is why what has waited too long is refused, under mu.
func (b *batcher) refusal() error {
	if b.stalled() {
		return ErrStalled
	}
	return ErrOverloaded
}

// stale takes what has waited too long out of the load lane, under mu. The caller answers it.
func (b *batcher) stale() (refused []*call) {
	for {
		left, some := b.untilStale()
		if !some || left > 0 {
			return refused
		}
		c := b.lanes[loadLane].unsent()
		b.lanes[loadLane].remove(c)
		c.next = len(c.proposals)
		b.answered(c, len(c.proposals), b.refusal())
		refused = append(refused, c)
	}
}

// untilStale is how long the next one of the load lane may still wait; false: none waits.
func (b *batcher) untilStale() (time.Duration, bool) {
	c := b.lanes[loadLane].unsent()
	if c == nil {
		return 0, false
	}
	return b.queueAge - b.now().Sub(c.queued), true
}

// unsent is the first call of which nothing is in an entry; nil: there is none.
func (w *waiting) unsent() *call {
	for _, c := range w.calls { // only the first may be in two of them
		if c.next == 0 {
			return c
		}
	}
	return nil
}

func notifyAll(calls []*call) {
	for _, c := range calls {
		c.notify(c)
	}
}
