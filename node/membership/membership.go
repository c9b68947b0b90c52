// Package membership lets an operator change who votes, who belongs to the cluster, and who leads (SPEC C2). DESIGN.md says how.
package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/membership"
	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/raftstore/change"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/roster"
)

// Log is how the state is read and changed. service.Log implements it.
type Log interface {
	Propose(context.Context, task.Command) (task.Result, error) // a rejection is an error
	// Read runs a function on a state that has whatever was acknowledged before, and again as long as it wants more.
	Read(context.Context, func(*task.Machine) (more bool)) error
	Await(ctx context.Context, index uint64) error // returns once this node has applied the log up to index
	Done(context.Context) bool                     // the only command of a request was carried out before, under its idempotency key
}

// Cluster shows the members.
type Cluster interface {
	Cluster(context.Context) (*api.Cluster, error)
}

// Manager changes members.
type Manager struct {
	log     Log
	cluster Cluster
	changes *change.Changes
	leader  func() string // ID of the leader that this node knows; "": none
}

var _ membership.Members = Manager{}

// New returns a Manager.
func New(log Log, c Cluster, changes *change.Changes, leader func() string) Manager {
	return Manager{log, c, changes, leader}
}

// patience is how long a call waits for what the leader makes of it, and pause how often it looks.
const (
	patience = 10 * time.Second
	pause    = 20 * time.Millisecond
)

// Change implements membership.Members.
func (m Manager) Change(ctx context.Context, node string, a membership.Action, r membership.MemberRequest) (*membership.MemberReply, error) {
	if err := r.Check(node, a); err != nil {
		return nil, err
	}
	if err := m.log.Read(ctx, func(*task.Machine) bool { return false }); err != nil { // the configuration is up to date then
		return nil, err
	}
	w, ok := m.changes.Find(node)
	switch {
	case !ok && a == membership.Remove && m.log.Done(ctx):
		return &membership.MemberReply{Node: &api.Node{ID: node, Role: membership.Removed}, Done: true}, nil
	case !ok:
		return nil, api.NewError(api.CodeMemberNotFound, "the cluster has no member %.80s: a node becomes one when it is started with --join", node)
	}
	if a != membership.Approve && !r.Force && !m.log.Done(ctx) {
		if err := m.mayGo(ctx, node); err != nil {
			return nil, err
		}
	}
	var last *api.Node // as it was before it was removed
	cmd := task.SetMember{Node: node, Vote: uint64(roster.Held), Force: r.Force}
	switch a {
	case membership.Approve:
		cmd.Vote = uint64(roster.Voter)
	case membership.Remove:
		cmd.Remove, last = w.Instance, m.show(ctx, node)
	}
	res, err := m.log.Propose(ctx, cmd)
	if err == nil {
		err = m.log.Await(ctx, res.Index)
	}
	if err != nil {
		return nil, err
	}
	done := m.await(ctx, func() bool {
		now, ok := m.changes.Find(node)
		switch a {
		case membership.Approve:
			return now.Votes
		case membership.Demote:
			return !now.Votes
		}
		return !ok || now.Instance != w.Instance
	})
	if a == membership.Remove && done {
		last.Role, last.Voter, last.Vote = membership.Removed, false, ""
		return &membership.MemberReply{Node: last, Done: true}, nil
	}
	return &membership.MemberReply{Node: m.show(ctx, node), Done: done}, nil
}

// mayGo refuses a step that would leave no majority alive.
func (m Manager) mayGo(ctx context.Context, node string) error {
	err := m.changes.Bears(ctx, node)
	if no, is := errors.AsType[*change.MajorityError](err); is {
		return api.NewError(api.CodeNoMajority, "%s; --force does it all the same", no.Why)
	}
	return err
}

// await waits for what the leader does.
func (m Manager) await(ctx context.Context, done func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !done() {
		if !idle.For(ctx, pause) {
			return done()
		}
	}
	return true
}

// show returns how a member is, as far as anybody says.
func (m Manager) show(ctx context.Context, node string) *api.Node {
	c, err := m.cluster.Cluster(ctx)
	if err == nil {
		if i := slices.IndexFunc(c.Nodes, func(n api.Node) bool { return n.ID == node }); i >= 0 {
			return &c.Nodes[i]
		}
	}
	return &api.Node{ID: node}
}

// Transfer implements membership.Members.
func (m Manager) Transfer(ctx context.Context, r membership.LeaderRequest) (*membership.LeaderReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if err := m.log.Read(ctx, func(*task.Machine) bool { return false }); err != nil {
		return nil, err
	}
	if _, ok := m.changes.Find(r.To); r.To != "" && !ok {
		return nil, api.NewError(api.CodeMemberNotFound, "the cluster has no member %.80s", r.To)
	}
	former := m.leader()
	switch err := m.changes.Transfer(ctx, r.To); {
	case errors.Is(err, change.ErrNoVoter):
		return nil, api.FieldError(api.CodeInvalidField, "to", "%s does not vote, so it cannot lead", r.To)
	case errors.Is(err, change.ErrNoLeader):
		return nil, api.NewError(api.CodeNoLeader, "no leader is known that could hand over")
	case err != nil:
		return nil, api.NewError(api.CodeNotReady, "%v: nobody leads who could not before; ask again", fmt.Errorf("the leader did not hand over: %w", err))
	}
	if !m.await(ctx, func() bool { l := m.leader(); return l != "" && (l == r.To || r.To == "" && l != former) }) {
		return nil, api.NewError(api.CodeNotReady, "leadership was handed over, and this node has not heard of the new leader yet")
	}
	return &membership.LeaderReply{Leader: m.leader()}, nil
}
