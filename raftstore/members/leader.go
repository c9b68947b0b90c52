package members

import "sync"

// Leader is who leads, as far as this node knows.
type Leader struct {
	Identity string        // "": unknown
	Changed  chan struct{} // closed at the next news, also when the same node has become ready
	Gone     chan struct{} // closed when another node leads, or none
}

type leaderWatch struct {
	mu   sync.Mutex
	view Leader
}

// Leader returns who leads.
func (m *Members) Leader() Leader {
	m.leader.mu.Lock()
	defer m.leader.mu.Unlock()
	return m.leader.view
}

// SetLeader notes who leads. With again it wakes the waiters even if the same node leads.
func (m *Members) SetLeader(identity string, again bool) {
	w := &m.leader
	w.mu.Lock()
	defer w.mu.Unlock()
	same := w.view.Identity == identity
	if same && !again {
		return
	}
	close(w.view.Changed)
	w.view.Changed = make(chan struct{})
	if !same {
		close(w.view.Gone)
		w.view.Identity, w.view.Gone = identity, make(chan struct{})
	}
}
