// Package nodetest is what the tests of several rooms of node share.
package nodetest

import (
	"sync"
	"testing/synctest"

	"github.com/taskrt/taskrt/task"
)

// Script stands in for a store that rooms of node subscribe to: a test sends the events. The zero value is ready to
// use.
type Script struct {
	mu     sync.Mutex
	feeds  []*Feed
	lagged bool
}

// buffer is how many entries' events may wait for a subscriber. Tests are short.
const buffer = 16

// Subscribe begins a subscription. From now on events go to it alone.
func (s *Script) Subscribe() *Feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &Feed{s, make(chan []task.Event, buffer)}
	s.feeds = append(s.feeds, f)
	return f
}

// Subscriptions returns how many subscriptions have begun.
func (s *Script) Subscriptions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.feeds)
}

// Publish sends the events of one entry, if there is a subscription.
func (s *Script) Publish(evs []task.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.feeds) > 0 {
		s.last().c <- evs
	}
}

// Send sends the events of one entry to the last subscription, and waits until they are worked through.
func (s *Script) Send(evs ...task.Event) {
	s.mu.Lock()
	f := s.last()
	s.mu.Unlock()
	f.c <- evs
	synctest.Wait()
}

// CutOff ends the last subscription as a store does with one that was too slow.
func (s *Script) CutOff() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lagged = true
	close(s.last().c)
}

func (s *Script) last() *Feed { return s.feeds[len(s.feeds)-1] }

// Feed is one subscription to a Script.
type Feed struct {
	script *Script
	c      chan []task.Event
}

// Events brings the events of one entry after the other. It is closed when the subscription is cut off.
func (f *Feed) Events() <-chan []task.Event { return f.c }

// Lagged reports whether the subscription was cut off.
func (f *Feed) Lagged() bool {
	f.script.mu.Lock()
	defer f.script.mu.Unlock()
	return f.script.lagged
}

// Close does nothing.
func (f *Feed) Close() {}
