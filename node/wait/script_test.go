package wait

import (
	"sync"
	"testing/synctest"

	"github.com/taskrt/taskrt/task"
)

// script is a subscription to events that a test sends.
type script struct {
	mu     sync.Mutex
	feeds  []chan []task.Event
	lagged bool
}

func (s *script) subscribe() Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan []task.Event, 16)
	s.feeds = append(s.feeds, c)
	return feed{s, c}
}

func (s *script) send(evs ...task.Event) {
	s.mu.Lock()
	c := s.feeds[len(s.feeds)-1]
	s.mu.Unlock()
	c <- evs
	synctest.Wait()
}

// feed is one subscription to a script.
type feed struct {
	s *script
	c chan []task.Event
}

func (f feed) Events() <-chan []task.Event { return f.c }
func (f feed) Close()                      {}

func (f feed) Lagged() bool {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	return f.s.lagged
}
