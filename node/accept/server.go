package accept

import (
	"net"
	"sync"
)

// Leader is the leader's loop as links reach it. Each method returns once the loop has taken the call in; false means
// that the loop has ended.
type Leader interface {
	Ask(Ask, Replier) bool
	Settle(call uint64) bool
	Abandon(Abandon, Replier) bool
	Drop(calls []uint64, to Replier)
}

// server is the leader's end of a link.
type server struct {
	*link
	mu   sync.Mutex
	open map[uint64]struct{} // calls that have no answer yet
}

// Reply implements Replier.
func (s *server) Reply(a Answer) {
	s.mu.Lock()
	delete(s.open, a.Call)
	s.mu.Unlock()
	s.send(&a)
}

// Close implements Replier.
func (s *server) Close() { _ = s.conn.Close() }

// Serve carries one node's calls to the leader until the connection ends. The caller closes the connection.
func Serve(c net.Conn, leader Leader) error {
	s := &server{link: newLink(c), open: map[uint64]struct{}{}}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if s.write(done) != nil {
			_ = c.Close() // so that reading ends
		}
	})
	err := s.serve(leader)
	close(done)
	_ = c.Close()
	wg.Wait()
	s.mu.Lock()
	calls := make([]uint64, 0, len(s.open))
	for call := range s.open {
		calls = append(calls, call)
	}
	s.mu.Unlock()
	leader.Drop(calls, s)
	return err
}

func (s *server) serve(leader Leader) error {
	for {
		var f Frame
		if err := s.read(&f); err != nil {
			return err
		}
		ok := true
		switch {
		case f.Ask != nil:
			s.mu.Lock()
			s.open[f.Ask.Call] = struct{}{}
			s.mu.Unlock()
			ok = leader.Ask(*f.Ask, s)
		case f.Abandon != nil:
			ok = leader.Abandon(*f.Abandon, s)
		case f.Settle != 0:
			ok = leader.Settle(f.Settle)
		}
		if !ok {
			return net.ErrClosed
		}
	}
}
