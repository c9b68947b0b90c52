package raftstore

import (
	"slices"
	"time"

	"github.com/taskrt/taskrt/task"
)

// Admission (SPEC H3). Clients may offer more than the log takes. Commands that add something wait in a lane of their own, and not for long. A call
// that would wait longer than Config.QueueWait is refused at once. A call that has waited for Config.QueueAge is refused before it is proposed. While
// the log does not move, new calls are refused, too. All else (reports of workers, assignments, the leader's clock) goes ahead of this lane, and is
// never refused because of it.

type lane int

const (
	urgentLane lane = iota // commands that keep alive, end, or steer what is there already
	loadLane               // what clients add: a refusal is safe, and the client hears of it soon
)

// laneOf returns the lane of a call. All commands of a call take the same lane.
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

// Shares of a group. Neither lane starves: the urgent lane goes first, and the load lane has a quarter if it needs it.
const (
	urgentCommands = maxCommands * 3 / 4
	urgentBytes    = maxGroupBytes * 3 / 4
)

// alwaysTaken is how many commands may wait whatever the rate is: as many as fit into the next group.
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

// remove takes a whole call out. It returns false if the call is not in the queue.
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

// pace is how fast entries with commands of the load lane come back. It counts only while commands wait. At other times
// the callers decide the rate.
type pace struct {
	commands float64
	busy     time.Duration // the time in which they came back
	last     time.Time     // when the last entry came back
	more     bool          // commands waited at that time
}

const paceMemory = time.Second // older entries count half, and entries of twice this age a quarter

// finished notes that an entry has come back: how many commands of the lane it had, and how many are left waiting.
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

// wait returns how long a call will wait behind so many commands. It returns false if that is not known.
func (p *pace) wait(commands int) (time.Duration, bool) {
	if p.busy <= 0 || p.commands < 1 {
		return 0, false
	}
	return time.Duration(float64(commands) / p.commands * float64(p.busy)), true
}

// admits decides about c, which is about to be queued in its lane, under mu. It returns nil, or why c is refused.
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

// stalled reports whether nothing that was sent comes back, under mu. The age of a call does not show this: a call that takes many groups waits long,
// however fast the groups come back.
func (b *batcher) stalled() bool {
	return b.inFlight > 0 && b.now().Sub(b.moved) >= b.queueAge
}

// refusal returns why a call that has waited too long is refused, under mu.
func (b *batcher) refusal() error {
	if b.stalled() {
		return ErrStalled
	}
	return ErrOverloaded
}

// stale takes the calls that have waited too long out of the load lane, under mu. The caller answers them.
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

// untilStale returns how long the oldest call of the load lane may still wait. It returns false if none waits.
func (b *batcher) untilStale() (time.Duration, bool) {
	c := b.lanes[loadLane].unsent()
	if c == nil {
		return 0, false
	}
	return b.queueAge - b.now().Sub(c.queued), true
}

// unsent returns the first call without any command in an entry, or nil.
func (w *waiting) unsent() *call {
	for _, c := range w.calls { // only the first call may be half sent
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
