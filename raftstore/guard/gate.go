package guard

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// gate counts the callers that wait for an answer of raft. Raft does not answer what is in its queues when it shuts
// down, so nobody may wait by then. Closing the gate keeps newcomers out, and waits for the callers inside.
type gate struct {
	mu   sync.Mutex
	shut bool
	wg   sync.WaitGroup
}

// enter reports whether raft may be asked. If it may, leave must follow.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return false
	}
	g.wg.Add(1)
	return true
}

func (g *gate) leave() { g.wg.Done() }

// ask waits for the answer to a request.
func (g *gate) ask(request func() raft.Future) error {
	if !g.enter() {
		return raft.ErrRaftShutdown
	}
	defer g.leave()
	return request().Error()
}

// close keeps newcomers out and waits for those inside, but not longer than patience: a disk that hangs may keep raft
// from answering for ever. It reports whether all have left.
func (g *gate) close(patience time.Duration) bool {
	g.mu.Lock()
	g.shut = true
	g.mu.Unlock()
	done := make(chan struct{})
	go func() {
		g.wg.Wait()
		close(done)
	}()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}
