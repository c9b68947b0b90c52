package members

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/raftstore/rpc"
)

// Founding a cluster. Every node that belongs to none collects the others that it has spoken to. When there are
// BootstrapExpect of them, the one with the smallest ID asks each for a promise: to found a cluster with this node and
// no other. Only when it has all promises does it write the first configuration, the same set for all. Two founders
// whose sets overlap would both need the promise of a common node. So there is one cluster, in whatever order nodes
// start and speak. The promise is kept on disk. It ends with membership, or when the founder takes it back.

type promiseRequest struct {
	Founder string   `cbor:"1,keyasint"` // identity
	Set     []string `cbor:"2,keyasint"` // identities
	Release bool     `cbor:"3,keyasint,omitempty"`
	Cluster string   `cbor:"4,keyasint,omitempty"`
}

type promiseReply struct {
	OK  bool   `cbor:"1,keyasint,omitempty"`
	Why string `cbor:"2,keyasint,omitempty"`
}

// founding is what this process knows of the founding of its cluster, in which it took part. No earlier build might have to come back, so the leader
// raises the feature level at once (SPEC C9), as far as all founders knew levels then.
type founding struct {
	set   []string // identities
	level uint64   // that all of the set know; 0: one of them holds the level, or has not told it
}

// noteFounding remembers that this node founds a cluster with these identities.
func (m *Members) noteFounding(set []string) {
	f := founding{set: set, level: math.MaxUint64}
	for _, identity := range set {
		p, _ := m.book.Lookup(identity)
		if p.Hold {
			p.Level = 0
		}
		f.level = min(f.level, p.Level)
	}
	m.founding.Store(&f)
}

// atOnce reports whether the members of the cluster are its founders, and knew the level when they founded it.
func (m *Members) atOnce(level uint64) bool {
	f := m.founding.Load()
	return f != nil && level <= f.level && !slices.ContainsFunc(m.raft.Servers(), func(srv raft.Server) bool {
		return !slices.Contains(f.set, string(srv.Address))
	})
}

// maybeBootstrap founds a cluster if it is this node's turn.
func (m *Members) maybeBootstrap(ctx context.Context) {
	if m.c.BootstrapExpect == 0 {
		return
	}
	set := []Peer{m.book.Me()}
	m.contactMu.Lock()
	for _, c := range m.contacts {
		if c.member {
			m.contactMu.Unlock()
			return // there is a cluster: join it
		}
		if c.expect == m.c.BootstrapExpect {
			set = append(set, c.peer)
		}
	}
	m.contactMu.Unlock()
	slices.SortFunc(set, func(a, b Peer) int { return strings.Compare(a.ID, b.ID) })
	if len(set) < m.c.BootstrapExpect {
		m.c.Logger.Debug("waiting for others to found a cluster with", "have", len(set), "expect", m.c.BootstrapExpect)
		return
	}
	set = set[:m.c.BootstrapExpect]
	if set[0].Identity() != m.identity {
		return
	}
	if err := m.found(ctx, set); err != nil {
		m.c.Logger.Info("cannot found the cluster yet", "err", err)
	}
}

func (m *Members) found(ctx context.Context, set []Peer) error {
	m.admitting.Lock()
	defer m.admitting.Unlock()
	cluster := Draw()
	if ok, err := m.book.promise(m.book.self.ID, cluster); err != nil {
		return err
	} else if !ok {
		return fmt.Errorf("promised to %s", m.book.promisedTo())
	}
	req := promiseRequest{Founder: m.identity, Cluster: cluster}
	var conf raft.Configuration
	for _, p := range set {
		req.Set = append(req.Set, p.Identity())
		conf.Servers = append(conf.Servers, raft.Server{Suffrage: raft.Voter, ID: raft.ServerID(p.ID), Address: raft.ServerAddress(p.Identity())})
	}
	for i, p := range set[1:] {
		a, err := rpc.Request[promiseReply](ctx, m.clients, p.Addr, p.Identity(), rpc.KindPromise, req)
		if err == nil && a.OK {
			continue
		}
		if err == nil {
			err = fmt.Errorf("%s refuses: %s", p.ID, a.Why)
		}
		// Take back what was asked for, also from the node whose answer is missing.
		req.Release = true
		for _, q := range set[1 : i+2] {
			if _, err := rpc.Request[promiseReply](ctx, m.clients, q.Addr, q.Identity(), rpc.KindPromise, req); err != nil {
				m.c.Logger.Debug("cannot release", "node", q.ID, "err", err)
			}
		}
		if _, rerr := m.book.promise("", ""); rerr != nil {
			return rerr
		}
		return err
	}
	m.c.Logger.Info("founding the cluster", "members", req.Set)
	m.noteFounding(req.Set)
	return m.raft.Ask(func() raft.Future { return m.raft.BootstrapCluster(conf) })
}

// answerPromise answers the request that found sends.
func (m *Members) answerPromise(q promiseRequest) (promiseReply, error) {
	founder := IDOf(q.Founder)
	if q.Release {
		err := m.book.release(founder, q.Cluster)
		return promiseReply{OK: err == nil}, err
	}
	switch {
	case m.hasState():
		m.wakeSettle()
		return promiseReply{Why: "already belongs to a cluster"}, nil
	case !slices.Contains(q.Set, m.identity):
		return promiseReply{Why: "not in the set"}, nil
	}
	ok, err := m.book.promise(founder, q.Cluster)
	if err != nil {
		return promiseReply{}, err
	}
	if !ok {
		return promiseReply{Why: "promised to " + m.book.promisedTo()}, nil
	}
	m.noteFounding(q.Set)
	return promiseReply{OK: true}, nil
}
