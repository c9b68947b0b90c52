package watch

import (
	"context"

	"github.com/taskrt/taskrt/task"
)

// Event is what a subscriber gets. A subscriber that comes back names the ID of the last event that had one, or 0 if a
// Reset came after it. Between a Reset and the last of its states there is no place to go on from.
type Event struct {
	Kind Kind
	ID   uint64 // the rev to go on from; 0: none
	Data []byte // shared, so it must not be changed
}

// Sub is one subscription. Only one goroutine at a time may call its methods.
type Sub struct {
	feed   *Feed
	filter Filter
	wake   chan struct{} // capacity 1: there may be something to look at
	born   uint64        // number of the first change after it subscribed; older progress is of no interest
	after  uint64        // only changes with a rev above it are of interest

	// The fields below are guarded by feed.mu: written under its write lock, or by the subscriber under its read lock.
	behind bool   // it has not looked at the changes from number from on, if there are any; else it waits to be woken
	from   uint64 //
	lost   bool   // changes were missed that are not in the ring

	settle   uint64   // see states
	ready    []*shown // taken from the ring and not handed out yet
	states   *states  // not nil between Reset and the last state
	position uint64   // see Position
}

// A subscriber takes a bounded part out of the ring at once: if it stops reading it holds only that part.
const (
	maxReady      = 64
	maxReadyBytes = 64 << 10
	maxLook       = 4096 // changes looked at under one lock
)

func (s *Sub) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// broad reports whether it stands in the index only while it waits.
func (s *Sub) broad() bool { return len(s.filter.IDs) == 0 }

// caughtUp reports whether there is nothing to look at. The feed is locked.
func (s *Sub) caughtUp() bool { return !s.behind || s.from == s.feed.ring.next }

// wants reports whether the subscriber wants the change with number n.
func (s *Sub) wants(n uint64, e *slot) bool {
	switch {
	case e.kind != Progress:
		if e.rev <= s.after {
			return false
		}
	case s.settles(&e.mark):
	case n < s.born || e.quiet || e.stale:
		return false
	}
	return s.feed.ring.matches(&s.filter, e)
}

// settles reports whether a change must bring the whole record: the record was not told among the states, because this
// change came before.
func (s *Sub) settles(m *mark) bool { return m.stored && s.after < m.rev && m.rev <= s.settle }

// Next returns the next event. It waits for one until ctx ends (ctx.Err()) or the feed closes (ErrClosed).
func (s *Sub) Next(ctx context.Context) (Event, error) {
	for {
		if e, ok := s.Try(); ok {
			return e, nil
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		case <-s.feed.closed:
			return Event{}, ErrClosed
		}
	}
}

// Try returns the next event if there is one.
func (s *Sub) Try() (Event, bool) {
	for {
		if s.states != nil {
			return s.nextState(), true
		}
		if len(s.ready) > 0 {
			return s.take(), true
		}
		if !s.look() {
			return Event{}, false
		}
	}
}

// take hands out the first change that is ready.
func (s *Sub) take() Event {
	e := s.ready[0]
	s.ready[0] = nil
	s.ready = s.ready[1:]
	if len(s.ready) == 0 {
		s.ready = nil
	}
	encode := s.feed.config.Encode
	out := Event{Kind: e.kind}
	switch {
	case s.settles(&e.mark):
		out.Kind, out.Data = Task, encode(&Change{Kind: Task, Rev: e.rev, Task: e.decoded().Task})
	case e.kind == Progress:
		out.Data = e.encoded(encode)
		return out
	default:
		out.Data = e.encoded(encode)
	}
	if e.rev >= s.settle {
		out.ID, s.position = e.rev, e.rev
	}
	return out
}

// look takes what concerns the subscriber out of the ring. It returns false if there is nothing; the subscriber will be
// woken then.
func (s *Sub) look() bool {
	for s.scan() {
		if len(s.ready) > 0 || s.states != nil {
			return true
		}
	}
	return !s.rest()
}

// rest lets the subscriber wait to be woken. It returns false if something has come meanwhile.
func (s *Sub) rest() bool {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.lost || !s.caughtUp() {
		return false
	}
	if s.behind {
		s.behind = false
		f.index.add(s)
	}
	return true
}

// scan looks at some of the changes that it has not looked at. It returns false if there were none.
func (s *Sub) scan() bool {
	f := s.feed
	f.mu.RLock()
	defer f.mu.RUnlock()
	if s.behind && s.from < f.ring.first {
		// Progress that has left the ring is no loss.
		s.from, s.lost = f.ring.first, s.lost || s.position < f.ring.floor
	}
	if s.lost {
		s.lost = false
		s.behind, s.from = true, f.ring.next
		s.after, s.position, s.settle = f.ring.top, 0, 0
		s.states = newStates(s, f.ring.top)
		return true
	}
	if s.caughtUp() {
		return false
	}
	size, n := 0, s.from
	for end := min(f.ring.next, n+maxLook); n < end && len(s.ready) < maxReady && size < maxReadyBytes; n++ {
		if e := f.ring.at(n); s.wants(n, e) {
			s.ready = append(s.ready, f.shelf.get(&f.ring, n))
			size += 2 * int(e.length)
		}
	}
	s.from = n
	return true
}

// Position is the rev to go on from elsewhere without missing or repeating anything. All changes up to it that the
// subscriber asked for have been handed out.
func (s *Sub) Position() uint64 {
	if s.states != nil || len(s.ready) > 0 {
		return s.position
	}
	s.feed.mu.RLock()
	defer s.feed.mu.RUnlock()
	if s.caughtUp() && !s.lost && s.feed.ring.top >= s.settle {
		s.position = max(s.position, s.feed.ring.top)
	}
	return s.position
}

// Close ends the subscription. A second Close does nothing.
func (s *Sub) Close() { s.feed.unsubscribe(s) }

// statesPage is how many records are taken while the machine holds still. statesRows is how many records are looked at
// for them: records of other namespaces lie in between.
const (
	statesPage = 256
	statesRows = 10_000
)

// states hands out the present state: Reset, and then every record that matches and has not changed since the rev at
// which the ring goes on. A record that has changed since then comes from the ring. So every record comes once,
// whatever happens meanwhile. A change that would come from the ring as progress comes as the whole record, if the
// change kept the record from being told among the states. That is so for changes up to the rev settle.
//
// The last state has an ID, unless a change must settle something: then the change with the rev settle has the ID.
type states struct {
	sub   *Sub
	rev   uint64
	begun bool
	after uint64
	ids   []string // IDs of the filter that are left to look up
	more  bool
	page  []*task.Task
}

func newStates(s *Sub, rev uint64) *states {
	return &states{sub: s, rev: rev, ids: s.filter.IDs, more: true}
}

// nextState returns Reset or the next state.
func (s *Sub) nextState() Event {
	st := s.states
	var e Event
	if !st.begun {
		st.begun = true
		e = Event{Kind: Reset, Data: s.feed.config.Encode(&Change{Kind: Reset})}
	} else {
		t := st.page[0]
		st.page = st.page[1:]
		e = Event{Kind: Task, Data: s.feed.config.Encode(&Change{Kind: Task, Rev: t.Rev, Task: t})}
	}
	for len(st.page) == 0 && st.more {
		st.fill()
	}
	if len(st.page) == 0 { // it was the last
		s.states = nil
		if s.settle == 0 {
			s.position, e.ID = st.rev, st.rev
		}
	}
	return e
}

// fill reads one page.
func (st *states) fill() {
	f := &st.sub.filter
	st.page = nil
	st.sub.feed.config.Local(func(m *task.Machine) {
		var found []*task.Task
		if len(f.IDs) > 0 {
			n := min(len(st.ids), statesPage)
			for _, id := range st.ids[:n] {
				if t := m.Task(task.Key{Namespace: f.Namespace, ID: id}); t != nil {
					found = append(found, t)
				}
			}
			st.ids = st.ids[n:]
			st.more = len(st.ids) > 0
		} else {
			found, st.after = m.Tasks(task.Filter{Namespace: f.Namespace, Limit: statesPage, After: st.after, Rows: statesRows})
			st.more = st.after != 0
		}
		for _, t := range found {
			switch {
			case !f.matches(t):
			case t.Rev <= st.rev:
				st.page = append(st.page, t)
			default:
				st.sub.settle = max(st.sub.settle, t.Rev)
			}
		}
	})
}
