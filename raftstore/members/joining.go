package members

import (
	"context"
	"fmt"

	"github.com/hashicorp/raft"
)

// admit adds a newcomer to the configuration, on the leader. It replaces a server that has the same ID and another
// directory, unless that server still lives.
func (m *Members) admit(ctx context.Context, p Peer) error {
	m.admitting.Lock()
	defer m.admitting.Unlock()
	id := raft.ServerID(p.ID)
	if old, ok := FindServer(m.raft.Servers(), p.ID); ok {
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
