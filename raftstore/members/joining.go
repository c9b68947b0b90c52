package members

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// admit adds a newcomer to the configuration, on the leader. It replaces a server that has the same ID and another
// directory, unless that server still lives.
func (m *Members) admit(ctx context.Context, p Peer) error {
	m.admitting.Lock()
	defer m.admitting.Unlock()
	id := raft.ServerID(p.ID)
	if old, ok := findServer(m.raft.Servers(), p.ID); ok {
		if string(old.Address) == p.Identity() {
			return nil
		}
		if known, ok := m.book.Lookup(string(old.Address)); ok {
			if _, err := m.c.Health(ctx, known.Identity()); err == nil {
				return fmt.Errorf("%w: node %q runs at %s", ErrDuplicateID, p.ID, known.Addr)
			}
		}
		m.c.Logger.Warn("a node has come back with an empty directory: replacing it", "node", p.ID, "addr", p.Addr)
		if err := m.raft.Ask(func() raft.Future { return m.raft.RemoveServer(id, 0, m.c.RPCTimeout/2) }); err != nil {
			return fmt.Errorf("raftstore: remove former %s: %w", p.ID, err)
		}
	}
	add := func() raft.Future {
		return m.raft.AddNonvoter(id, raft.ServerAddress(p.Identity()), 0, m.c.RPCTimeout/2)
	}
	if err := m.raft.Ask(add); err != nil {
		return fmt.Errorf("raftstore: add %s: %w", p.ID, err)
	}
	m.c.Logger.Info("node added", "node", p.ID, "addr", p.Addr)
	return nil
}

// The rules by which newcomers are promoted.
const (
	promoteEvery = 250 * time.Millisecond
	promoteLag   = 256 // so many entries behind still counts as caught up
	promoteAfter = 3   // so many checks in a row must succeed
)

// Promote promotes newcomers that have caught up, until ctx ends. It runs on the leader.
func (m *Members) Promote(ctx context.Context) {
	good := map[string]int{}
	for {
		pending := false
		for _, srv := range m.raft.Servers() {
			if srv.Suffrage == raft.Voter {
				continue
			}
			pending = true
			identity := string(srv.Address)
			a, err := m.c.Health(ctx, identity)
			if err != nil || a.Stopped || a.Applied+promoteLag < m.raft.CommitIndex() {
				good[identity] = 0
				continue
			}
			if good[identity]++; good[identity] < promoteAfter {
				continue
			}
			delete(good, identity)
			promote := func() raft.Future { return m.raft.AddVoter(srv.ID, srv.Address, 0, m.c.RPCTimeout/2) }
			if err := m.raft.Ask(promote); err != nil {
				m.c.Logger.Warn("promotion failed", "node", srv.ID, "err", err)
				continue
			}
			m.c.Logger.Info("node promoted to voter", "node", srv.ID)
		}
		var timer <-chan time.Time
		if pending {
			timer = time.After(promoteEvery)
		}
		select {
		case <-ctx.Done():
			return
		case <-timer:
		case <-m.promote:
		}
	}
}
