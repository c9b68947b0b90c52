package accept

import (
	"cmp"
	"slices"
	"time"

	"github.com/taskrt/taskrt/task"
)

// MaxWaiting bounds the accepts that wait at one leader. Further ones are refused.
const MaxWaiting = 20_000

// Replier is the way back to a node that asked. Neither method blocks.
type Replier interface {
	Reply(Answer)
	Close() // the node will ask again, over another link
}

// Table holds the accepts that wait for tasks at the leader, longest wait first. It is a plain value without goroutine
// or clock, and only the leader's loop uses it. Each round of planning calls Free and then Planned. It then calls
// Landed if something was planned for these accepts.
type Table struct {
	waiters  map[Key]*waiter
	calls    map[uint64]*waiter
	queues   map[name][]*waiter // by since, then number
	settling map[*waiter]struct{}
	backs    map[Key][]pending // calls of accepts whose leases are being given back
	repeats  repeats
	number   uint64

	round map[*task.Acceptor]*waiter // the waiters that this round has offered to Plan
}

type name struct{ namespace, behavior string }

// waiter is one accept that waits, with its calls. It has more than one call if the client has asked again.
type waiter struct {
	key    Key
	want   task.Acceptor
	max    int
	since  time.Duration // when it began to wait, under whichever leader, on the caller's clock
	number uint64        // decides between waiters with the same since
	calls  []waiting
	flying bool // tasks are being assigned to it
	left   []waiting
}

// waiting is one call and the node that gets its answer. The calls in waiter.left were abandoned while tasks were being
// assigned.
type waiting struct {
	call   uint64
	to     Replier
	settle bool
}

// Back is leases that nobody wants. The caller gives them back, and then calls Returned.
type Back struct {
	Key   Key
	Tasks []*task.Task
	left  []waiting
}

// pending is a call for an accept whose leases are being given back.
type pending struct {
	ask Ask
	to  Replier
}

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{
		waiters: map[Key]*waiter{}, calls: map[uint64]*waiter{}, queues: map[name][]*waiter{}, settling: map[*waiter]struct{}{},
		backs: map[Key][]pending{},
	}
}

// Len is the number of accepts that wait.
func (t *Table) Len() int { return len(t.waiters) }

// Ask takes in a call; clock is now. If the accept has its tasks already, from this leader or a former one, the call is
// answered with them at once.
func (t *Table) Ask(m *task.Machine, clock Clock, q Ask, to Replier) {
	if ps, ok := t.backs[q.Key]; ok {
		t.backs[q.Key] = append(ps, pending{q, to})
		return
	}
	w := t.waiters[q.Key]
	if w == nil {
		if ts := m.LeasesOf(q.Key.Namespace, q.Key.Behavior, q.Key.Worker, q.Key.Request); len(ts) > 0 {
			t.repeats.note(q.Key, q.Call)
			to.Reply(granted(m, clock.Lease, q.Call, ts))
			return
		}
		if len(t.waiters) >= MaxWaiting {
			to.Reply(Answer{Call: q.Call, Overload: true})
			return
		}
		w = t.enter(clock.Mono-time.Duration(q.Age)*time.Millisecond, q)
	}
	w.calls = slices.DeleteFunc(w.calls, func(c waiting) bool { return c.call == q.Call }) // asked again over a new link
	w.calls = append(w.calls, waiting{q.Call, to, q.Settle})
	t.calls[q.Call] = w
	if len(w.calls)+len(w.left) > 1 {
		t.repeats.note(q.Key, q.Call)
	}
	if q.Settle {
		t.settling[w] = struct{}{}
	}
}

// Clock is the same moment on two clocks: the caller's own, and the log's lease clock.
type Clock struct {
	Mono  time.Duration
	Lease task.LeaseTime
}

func (t *Table) enter(since time.Duration, q Ask) *waiter {
	t.number++
	w := &waiter{key: q.Key, max: q.Max, since: since, number: t.number, want: task.Acceptor{
		Worker: q.Key.Worker, Lease: q.Lease, MaxNotBefore: q.MaxNotBefore, Request: q.Key.Request,
	}}
	t.waiters[q.Key] = w
	n := w.name()
	at, _ := slices.BinarySearchFunc(t.queues[n], w, older)
	t.queues[n] = slices.Insert(t.queues[n], at, w)
	return w
}

func (w *waiter) name() name { return name{w.key.Namespace, w.key.Behavior} }

func older(a, b *waiter) int {
	return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.number, b.number))
}

func (t *Table) remove(w *waiter) {
	for _, c := range w.calls {
		delete(t.calls, c.call)
	}
	delete(t.waiters, w.key)
	delete(t.settling, w)
	n := w.name()
	q := t.queues[n]
	if at, ok := slices.BinarySearchFunc(q, w, older); ok {
		q = slices.Delete(q, at, at+1)
	}
	if t.queues[n] = q; len(q) == 0 {
		delete(t.queues, n)
	}
}

// Settle ends the wait of a call: it is answered after the next round, even if there is nothing for it.
func (t *Table) Settle(call uint64) {
	w := t.calls[call]
	if w == nil { // answered meanwhile, or waiting until leases have been given back
		for _, ps := range t.backs {
			for i := range ps {
				ps[i].ask.Settle = ps[i].ask.Settle || ps[i].ask.Call == call
			}
		}
		return
	}
	for i := range w.calls {
		if w.calls[i].call == call {
			w.calls[i].settle = true
		}
	}
	t.settling[w] = struct{}{}
}

// Abandon takes a call out. The leases that it has got are given back, unless a later call of the same accept has got
// them, too, or waits for them.
func (t *Table) Abandon(m *task.Machine, a Abandon, to Replier) (back Back, ok bool) {
	gone := waiting{call: a.Call, to: to}
	if ps, ok := t.backs[a.Key]; ok {
		t.backs[a.Key] = slices.DeleteFunc(ps, func(p pending) bool { return p.ask.Call == a.Call })
		leave([]waiting{gone})
		return Back{}, false
	}
	if w := t.waiters[a.Key]; w != nil {
		w.calls = slices.DeleteFunc(w.calls, func(c waiting) bool { return c.call == a.Call })
		delete(t.calls, a.Call)
		if w.flying {
			w.left = append(w.left, gone)
			return Back{}, false
		}
		if len(w.calls) == 0 {
			t.remove(w)
		}
		leave([]waiting{gone})
		return Back{}, false
	}
	last, repeated := t.repeats.last(a.Key)
	ts := m.LeasesOf(a.Key.Namespace, a.Key.Behavior, a.Key.Worker, a.Key.Request)
	if len(ts) == 0 || repeated && last != a.Call {
		leave([]waiting{gone})
		return Back{}, false
	}
	return t.giveBack(a.Key, ts, []waiting{gone}), true
}

func (t *Table) giveBack(k Key, ts []*task.Task, left []waiting) Back {
	t.backs[k] = nil
	return Back{Key: k, Tasks: ts, left: left}
}

// Returned answers the calls that abandoned b's leases, because these are given back. It takes in the calls that came
// meanwhile.
func (t *Table) Returned(m *task.Machine, clock Clock, b Back) {
	ps := t.backs[b.Key]
	delete(t.backs, b.Key)
	leave(b.left)
	for _, p := range ps {
		t.Ask(m, clock, p.ask, p.to)
	}
}

// Drop takes out all calls over a link that has ended. Their node asks them again or abandons them. An accept that
// tasks are being assigned to stays until they have landed.
func (t *Table) Drop(to Replier, calls []uint64) {
	for k, ps := range t.backs { // order-free
		t.backs[k] = slices.DeleteFunc(ps, func(p pending) bool { return p.to == to })
	}
	for _, call := range calls {
		w := t.calls[call]
		if w == nil {
			continue
		}
		w.calls = slices.DeleteFunc(w.calls, func(c waiting) bool {
			if c.call != call || c.to != to {
				return false
			}
			delete(t.calls, call)
			return true
		})
		if len(w.calls) == 0 && !w.flying {
			t.remove(w)
		}
	}
}
