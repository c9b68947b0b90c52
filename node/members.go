package node

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/insight"
	asking "github.com/taskrt/taskrt/node/insight"
	"github.com/taskrt/taskrt/node/lead"
	"github.com/taskrt/taskrt/node/logs"
	"github.com/taskrt/taskrt/node/peers"
	"github.com/taskrt/taskrt/node/service"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
)

// roleUnreachable is the role of a member that does not answer. All other roles are raft's.
const roleUnreachable = "unreachable"

// members shows the cluster's members to the Service: how each is, and which logs it has kept.
type members struct{ n *Node }

var _ service.Members = members{}

// Cluster implements service.Members.
func (c members) Cluster(ctx context.Context) *api.Cluster {
	n := c.n
	st := n.store.Status()
	leader, _ := n.store.Leader()
	all := &api.Cluster{
		Leader: leader, Nodes: []api.Node{}, Workers: []api.Worker{},
		FeatureLevel: api.FeatureLevel{Level: st.Level, Known: st.Known, HeldBy: st.HeldBy},
	}
	others := st.Others()
	addrs := make([]string, len(others))
	for i, m := range others {
		addrs[i] = m.Addr
	}
	replies := n.peers.AskAll(ctx, addrs, peers.Request{Op: peers.OpStatus})
	for i, m := range others {
		if r := replies[i]; r != nil && r.Node != nil && r.Node.ID == m.ID {
			r.Node.Reachable = true
			all.Nodes = append(all.Nodes, *r.Node)
			continue
		}
		all.Nodes = append(all.Nodes, api.Node{ID: m.ID, HTTP: m.HTTP, Raft: m.Addr, Role: roleUnreachable, FeatureLevel: m.Level})
	}
	all.Nodes = append(all.Nodes, n.self(st))
	for i := range all.Nodes {
		all.Nodes[i].Voter = slices.ContainsFunc(st.Members, func(m raftstore.Member) bool { return m.ID == all.Nodes[i].ID && m.Voter })
	}
	slices.SortFunc(all.Nodes, func(a, b api.Node) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Has implements service.Members.
func (c members) Has(id string) bool {
	return slices.ContainsFunc(c.n.store.Status().Members, func(m raftstore.Member) bool { return m.ID == id })
}

// Logs implements service.Members. It asks all members: the log of an attempt lies on the node that led when it was
// written.
func (c members) Logs(ctx context.Context, key task.Key) ([][]logs.Attempt, error) {
	own, err := c.n.logs.Read(key)
	if err != nil {
		return nil, err
	}
	all := [][]logs.Attempt{own}
	for _, r := range c.n.peers.AskAll(ctx, c.n.store.Status().OtherAddrs(), peers.Request{Op: peers.OpLogs, Task: key}) {
		if r != nil {
			all = append(all, r.Logs)
		}
	}
	return all, nil
}

// Walls implements service.Members. It asks the leader, to which all workers are connected.
func (c members) Walls(ctx context.Context) map[uint64]api.Wall {
	leader, addr := c.n.store.Leader()
	if leader == c.n.cfg.ID {
		return c.n.walls()
	}
	if addr == "" {
		return nil
	}
	r, err := c.n.peers.Ask(ctx, addr, peers.Request{Op: peers.OpWalls})
	if err != nil {
		c.n.cfg.Logger.Debug("the leader does not say what walls there are", "leader", leader, "err", err)
		return nil
	}
	return r.Walls
}

// walls says what stands around the guests of the workers that are connected to this node.
func (n *Node) walls() map[uint64]api.Wall {
	walls := map[uint64]api.Wall{}
	for session, w := range n.hub.Walls() { // order-free: a map again
		walls[session] = api.Wall(w)
	}
	return walls
}

// explain says why a task waits, while this node leads; else nil.
func (n *Node) explain(k task.Key) (r *insight.WhyReply) {
	n.hub.Look(k, func(m *task.Machine, s *lead.Stand) { r = asking.Explain(m, k, s) })
	return r
}

// askLeader is explain on the leader.
func (n *Node) askLeader(ctx context.Context, k task.Key) (*insight.WhyReply, error) {
	leader, addr := n.store.Leader()
	if leader == n.cfg.ID {
		return n.explain(k), nil
	}
	r, err := n.peers.Ask(ctx, addr, peers.Request{Op: peers.OpWhy, Task: k})
	if err != nil {
		return nil, err
	}
	return r.Why, nil
}

// Ready implements service.Members: this node knows a leader, is caught up with it, and its disk works (SPEC H1, C6).
func (c members) Ready(ctx context.Context) error {
	n := c.n
	if err := n.failed(); err != nil {
		return api.NewError(api.CodeNotReady, "this node has stopped: %v", err)
	}
	if id, _ := n.store.Leader(); id == "" {
		return api.NewError(api.CodeNotReady, "no leader is known")
	}
	// A linearizable read answers both questions: whether that leader still leads, and whether this node has applied
	// what was committed when the question was asked.
	rctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := n.store.Read(rctx, func(*task.Machine) {}); err != nil {
		return api.NewError(api.CodeNotReady, "not caught up with the leader: %v", err)
	}
	switch st := n.store.Status(); {
	case st.Disk.Err != nil:
		return api.NewError(api.CodeNotReady, "the disk: %v", st.Disk.Err)
	case !st.Ready:
		return api.NewError(api.CodeNotReady, "%s at index %d of %d, the disk has been busy for %v", st.Role, st.Applied, st.Commit, st.Disk.Pending)
	}
	return n.files.Ready(rctx)
}

// self describes this node.
func (n *Node) self(st raftstore.Status) api.Node {
	return api.Node{
		ID: n.cfg.ID, HTTP: n.cfg.HTTPAdvertise, Raft: n.cfg.Addr, Role: string(st.Role), Reachable: true,
		Term: st.Term, AppliedIndex: st.Applied, Digest: fmt.Sprintf("%d:%016x", st.Digest.Index, st.Digest.Sum),
		Version: n.cfg.Version, FeatureLevel: st.Known, Blobs: n.files.Status(),
	}
}

// enableRoot turns the root token on, for a caller that holds the cluster secret.
func (n *Node) enableRoot() peers.Reply {
	if n.gate == nil {
		return peers.Reply{Error: "this cluster asks for no tokens"}
	}
	ctx, cancel := context.WithTimeout(context.Background(), enableTimeout)
	defer cancel()
	if err := n.Tokens().EnableRoot(ctx); err != nil {
		return peers.Reply{Error: err.Error()}
	}
	n.cfg.Logger.Warn("the root token is on: a holder of the cluster secret has asked for it")
	return peers.Reply{}
}

// enableTimeout bounds how long enableRoot waits for a majority. The caller waits a little longer.
const enableTimeout = 8 * time.Second

// answerPeer answers another member.
func (n *Node) answerPeer(q peers.Request) peers.Reply {
	switch q.Op {
	case peers.OpStatus:
		self := n.self(n.store.Status())
		return peers.Reply{Node: &self}
	case peers.OpWalls:
		return peers.Reply{Walls: n.walls()}
	case peers.OpWhy:
		return peers.Reply{Why: n.explain(q.Task)}
	case peers.OpEnableRoot:
		return n.enableRoot()
	case peers.OpLogs:
		as, err := n.logs.Read(q.Task)
		if err != nil {
			return peers.Reply{Error: err.Error()}
		}
		return peers.Reply{Logs: as}
	case peers.OpFiles:
		fs, err := n.disk().Files(q.Area, q.After, q.Limit)
		if err != nil {
			return peers.Reply{Error: err.Error()}
		}
		return peers.Reply{Files: fs}
	case peers.OpDropLogs:
		dropped, err := n.disk().DropLogs(q.Token, q.Before, q.Names)
		if err != nil {
			return peers.Reply{Error: err.Error()}
		}
		return peers.Reply{Dropped: dropped}
	}
	return peers.Reply{Error: "unknown question " + q.Op}
}
