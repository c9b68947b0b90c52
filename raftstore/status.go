package raftstore

import (
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/raftstore/digests"
	"github.com/taskrt/taskrt/raftstore/guard"
	"github.com/taskrt/taskrt/task"
)

// Role is what a node is in its cluster.
type Role string

// The roles. A node that belongs to no cluster yet is Joining. A Nonvoter follows without a vote until it has caught up.
const (
	RoleLeader    Role = "leader"
	RoleFollower  Role = "follower"
	RoleCandidate Role = "candidate"
	RoleNonvoter  Role = "nonvoter"
	RoleJoining   Role = "joining"
	RoleStopped   Role = "stopped"
)

// Member is one node of the cluster.
type Member struct {
	ID    string
	Addr  string // node-to-node, "" if unknown
	HTTP  string // advertised, "" if unknown
	Voter bool
	Level uint64 // the highest feature level that it knows, as it said when it started; 0: unknown
}

// DiskHealth says how the log's disk is.
type DiskHealth = guard.DiskHealth

// Status is this node's view, for /v1/cluster and readiness. No peer is asked for it.
type Status struct {
	ID, Addr, HTTP string
	Role           Role
	Term           uint64
	LeaderID       string // "" if unknown
	Applied        uint64 // index up to which the log is in the machine
	Commit         uint64
	LastContact    time.Duration // since this node last heard of the leader; 0 on the leader, -1: never
	Ready          bool          // a leader is known and in contact, this node has caught up and its disk works (SPEC H1 /readyz)
	Members        []Member
	Digest         task.Digest
	Digests        digests.Findings
	Disk           DiskHealth
	SnapshotsTaken int   // from a leader, since start: more than a few in minutes is raft #697
	Err            error // why the node has stopped

	Level  uint64   // the cluster's feature level
	Known  uint64   // the highest feature level that this build knows
	HeldBy []string // members that keep the level from being raised to the next one that this build knows; nil: there is no next one
}

// Others lists the other members that this node knows, voters or not.
func (st Status) Others() []Member {
	return slices.DeleteFunc(slices.Clone(st.Members), func(m Member) bool { return m.ID == st.ID })
}

// OtherAddrs lists the node-to-node addresses of the other members, as far as they are known.
func (st Status) OtherAddrs() []string {
	var addrs []string
	for _, m := range st.Others() {
		if m.Addr != "" {
			addrs = append(addrs, m.Addr)
		}
	}
	return addrs
}

// readyLag is how many entries a ready node may be behind what it knows to be committed.
const readyLag = 256

// Cluster returns the ID that the cluster was given when it was founded; "" as long as this node belongs to none.
func (s *Store) Cluster() string {
	if known := s.cluster.Load(); known != nil {
		return *known
	}
	id := s.members.Cluster()
	if id != "" {
		s.cluster.Store(&id) // each request asks
	}
	return id
}

// Status returns this node's view of the cluster and of itself.
func (s *Store) Status() Status {
	me := s.book.Me()
	st := Status{
		ID: me.ID, Addr: me.Addr, HTTP: me.HTTP,
		Term: s.raft.CurrentTerm(), Commit: s.raft.CommitIndex(), LastContact: -1,
		Disk: s.raft.Health(), Err: s.failure(), Digests: s.compared.Findings(),
	}
	st.LeaderID, _ = s.Leader()
	if st.Level, st.Known = s.Level(), s.cfg.KnownLevel; st.Level < st.Known {
		st.HeldBy = s.members.Holding(st.Level + 1)
	}
	s.fsm.mu.RLock()
	st.Applied, st.Digest, st.SnapshotsTaken = s.fsm.applied, s.fsm.machine.Digest(), s.fsm.restores
	s.fsm.mu.RUnlock()
	voter, member := false, false
	for _, m := range s.raft.Servers() {
		p, _ := s.book.Lookup(string(m.Address))
		st.Members = append(st.Members, Member{ID: string(m.ID), Addr: p.Addr, HTTP: p.HTTP, Voter: m.Suffrage == raft.Voter, Level: p.Level})
		if string(m.Address) == s.identity {
			member, voter = true, m.Suffrage == raft.Voter
		}
	}
	state := s.raft.State()
	if t := s.raft.LastContact(); state == raft.Leader {
		st.LastContact = 0
	} else if !t.IsZero() {
		st.LastContact = time.Since(t)
	}
	switch {
	case st.Err != nil:
		st.Role = RoleStopped
	case !member:
		st.Role = RoleJoining
	case state == raft.Leader:
		st.Role = RoleLeader
	case !voter:
		st.Role = RoleNonvoter
	case state == raft.Candidate:
		st.Role = RoleCandidate
	default:
		st.Role = RoleFollower
	}
	inContact := st.LastContact >= 0 && st.LastContact < 3*s.cfg.ElectionTimeout
	if state == raft.Leader {
		inContact = s.leadingTerm() != 0
	}
	st.Ready = st.Err == nil && member && st.LeaderID != "" && inContact &&
		st.Applied+readyLag >= st.Commit && st.Disk.Err == nil && st.Disk.Pending < s.cfg.DiskTimeout/4
	return st
}
