package raftstore

import (
	"context"

	"github.com/taskrt/taskrt/raftstore/change"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/roster"
)

// rules is what the log has settled about members (SPEC C2).
type rules struct{ s *Store }

var _ change.Rules = rules{}

// Member implements change.Rules.
func (r rules) Member(node string) (x roster.Member, known bool) {
	r.s.fsm.read(func(m *task.Machine) { x, known = m.Roster().Member(node), m.Level() >= task.MembersLevel })
	return x, known
}

// Settle implements change.Rules.
func (r rules) Settle(ctx context.Context, node string) error {
	_, err := r.s.ProposeLocal(ctx, task.SetMember{Node: node, Vote: uint64(roster.Voter)})
	return err
}

func (r rules) gone(id, instance string) bool {
	x, _ := r.Member(id)
	return x.Gone(instance)
}

func changesConfig(s *Store) change.Config {
	held, changed := s.members.Changing()
	return change.Config{
		Identity: s.identity, Raft: s.raft, Rules: rules{s}, RPCTimeout: s.cfg.RPCTimeout, Logger: s.cfg.Logger,
		Health: s.health, Changed: changed, OneByOne: held, Clients: s.clients,
		Leader: func() (identity, addr string) {
			identity = s.members.Leader().Identity
			addr, _ = s.book.Where(identity)
			return identity, addr
		},
	}
}

// Changes changes who is a member and who leads.
func (s *Store) Changes() *change.Changes { return s.changes }
