package raftstore

import (
	"sync"

	"github.com/taskrt/taskrt/task"
)

// Subscription delivers the events of this node's own machine, in order, one slice per log entry. A subscriber that
// lags by more than its buffer is cut off: Events is closed, and Lagged is true. The same happens when a snapshot from
// the leader replaces the machine. The subscriber then subscribes again and reads the state.
type Subscription struct {
	c       chan []task.Event
	waiting chan struct{} // capacity 1
	hub     *hub
	events  int  // published since waiting got its last value, under hub.mu
	lagged  bool // under hub.mu
	closed  bool // under hub.mu
}

// wakeEvents is after how many events Waiting gets a value.
const wakeEvents = 256

// Waiting returns a channel that gets a value when hundreds of events wait, and when the subscription ends. A subscriber that can be late receives from it
// instead of from Events: it is not woken for each entry, and takes len(Events()) of them at a time.
func (s *Subscription) Waiting() <-chan struct{} { return s.waiting }

// Events returns the channel of events. It is closed when the subscription ends.
func (s *Subscription) Events() <-chan []task.Event { return s.c }

// Lagged reports whether events were missed. Ask it after Events was closed.
func (s *Subscription) Lagged() bool {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return s.lagged
}

// Close ends the subscription and closes Events. A second Close does nothing.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.drop(s, false)
}

// hub hands events to subscribers, and never waits for one.
type hub struct {
	mu     sync.Mutex
	subs   map[*Subscription]struct{}
	closed bool
}

func newHub() *hub { return &hub{subs: map[*Subscription]struct{}{}} }

func (h *hub) subscribe(buffer int) *Subscription {
	c := make(chan []task.Event, max(1, buffer))
	s := &Subscription{c: c, hub: h, waiting: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs[s] = struct{}{}
	if h.closed {
		h.drop(s, false)
	}
	return s
}

// drop ends s, under mu.
func (h *hub) drop(s *Subscription, lagged bool) {
	if s.closed {
		return
	}
	s.closed, s.lagged = true, lagged
	close(s.c)
	wake(s.waiting)
	delete(h.subs, s)
}

func (h *hub) publish(evs []task.Event) {
	if len(evs) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		select {
		case s.c <- evs:
			if s.events += len(evs); s.events >= wakeEvents {
				s.events = 0
				wake(s.waiting)
			}
		default:
			h.drop(s, true)
		}
	}
}

// cut ends all subscriptions, because events were missed (lagged) or for good.
func (h *hub) cut(lagged bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = h.closed || !lagged
	for s := range h.subs {
		h.drop(s, lagged)
	}
}
