package raftstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/raftstore/rpc"
)

// Founding a cluster. Every node that belongs to none collects the others that it has spoken to. With BootstrapExpect of
// them, the one with the smallest ID asks each for a promise: to found a cluster with this node and no other. Only with
// all promises it writes the first configuration, the same set for all. Two founders would need the promise of a
// common node as soon as their sets overlap, so there is one cluster, in whatever order nodes start and speak. The
// promise is kept on disk; it ends with membership, or when the founder takes it back.

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

// maybeBootstrap founds a cluster if it is this node's turn.
func (s *Store) maybeBootstrap(ctx context.Context) {
	if s.cfg.BootstrapExpect == 0 {
		return
	}
	set := []peer{s.book.me()}
	s.contactMu.Lock()
	for _, c := range s.contacts {
		if c.member {
			s.contactMu.Unlock()
			return // there is a cluster: join it
		}
		if c.expect == s.cfg.BootstrapExpect {
			set = append(set, c.peer)
		}
	}
	s.contactMu.Unlock()
	slices.SortFunc(set, func(a, b peer) int { return strings.Compare(a.ID, b.ID) })
	if len(set) < s.cfg.BootstrapExpect {
		s.log.Debug("waiting for others to found a cluster with", "have", len(set), "expect", s.cfg.BootstrapExpect)
		return
	}
	set = set[:s.cfg.BootstrapExpect]
	if set[0].identity() != s.identity {
		return
	}
	if err := s.found(ctx, set); err != nil {
		s.log.Info("cannot found the cluster yet", "err", err)
	}
}

func (s *Store) found(ctx context.Context, set []peer) error {
	s.admitting.Lock()
	defer s.admitting.Unlock()
	cluster := fmt.Sprintf("%016x", randomID())
	if ok, err := s.book.promise(s.cfg.ID, cluster); err != nil {
		return err
	} else if !ok {
		return fmt.Errorf("promised to %s", s.book.promisedTo())
	}
	req := promiseRequest{Founder: s.identity, Cluster: cluster}
	var conf raft.Configuration
	for _, p := range set {
		req.Set = append(req.Set, p.identity())
		conf.Servers = append(conf.Servers, raft.Server{Suffrage: raft.Voter, ID: raft.ServerID(p.ID), Address: raft.ServerAddress(p.identity())})
	}
	for i, p := range set[1:] {
		a, err := rpc.Request[promiseReply](ctx, s.clients, p.Addr, p.identity(), rpc.KindPromise, req)
		if err == nil && a.OK {
			continue
		}
		if err == nil {
			err = fmt.Errorf("%s refuses: %s", p.ID, a.Why)
		}
		// Take back what was asked for, also from the one whose answer is missing.
		req.Release = true
		for _, q := range set[1 : i+2] {
			if _, err := rpc.Request[promiseReply](ctx, s.clients, q.Addr, q.identity(), rpc.KindPromise, req); err != nil {
				s.log.Debug("cannot release", "node", q.ID, "err", err)
			}
		}
		if _, rerr := s.book.promise("", ""); rerr != nil {
			return rerr
		}
		return err
	}
	s.log.Info("founding the cluster", "members", req.Set)
	return s.raft.Ask(func() raft.Future { return s.raft.BootstrapCluster(conf) })
}

// answerPromise is the other side.
func (s *Store) answerPromise(q promiseRequest) (promiseReply, error) {
	founder := idOf(q.Founder)
	if q.Release {
		err := s.book.release(founder, q.Cluster)
		return promiseReply{OK: err == nil}, err
	}
	switch {
	case s.hasState():
		s.wakeSettle()
		return promiseReply{Why: "already belongs to a cluster"}, nil
	case !slices.Contains(q.Set, s.identity):
		return promiseReply{Why: "not in the set"}, nil
	}
	ok, err := s.book.promise(founder, q.Cluster)
	if err != nil {
		return promiseReply{}, err
	}
	if !ok {
		return promiseReply{Why: "promised to " + s.book.promisedTo()}, nil
	}
	return promiseReply{OK: true}, nil
}
