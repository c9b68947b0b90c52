package node

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/logs"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
)

// roleUnreachable is the role of a member that does not answer; the others are raft's.
const roleUnreachable = "unreachable"

// Cluster implements api.Service. It does not need a leader: the members describe themselves, the rest is this node's
// own, possibly stale, state.
func (n *Node) Cluster(ctx context.Context) (*api.Cluster, error) {
	st := n.store.Status()
	leader, _ := n.store.Leader()
	c := &api.Cluster{
		Leader: leader, Nodes: []api.Node{}, Workers: []api.Worker{},
		FeatureLevel: api.FeatureLevel{Level: st.Level, Known: st.Known, HeldBy: st.HeldBy},
	}
	others := n.others(st)
	addrs := make([]string, len(others))
	for i, m := range others {
		addrs[i] = m.Addr
	}
	replies := n.peers.askAll(ctx, addrs, peerRequest{Op: opStatus})
	for i, m := range others {
		if r := replies[i]; r != nil && r.Node != nil && r.Node.ID == m.ID {
			r.Node.Reachable = true
			c.Nodes = append(c.Nodes, *r.Node)
			continue
		}
		c.Nodes = append(c.Nodes, api.Node{ID: m.ID, HTTP: m.HTTP, Raft: m.Addr, Role: roleUnreachable, FeatureLevel: m.Level})
	}
	c.Nodes = append(c.Nodes, n.self(st))
	slices.SortFunc(c.Nodes, func(a, b api.Node) int { return cmp.Compare(a.ID, b.ID) })
	n.store.Local(func(m *task.Machine) {
		api.SetIndex(ctx, m.Index())
		for i := range c.Nodes {
			c.Nodes[i].Drained = m.Drained(c.Nodes[i].ID)
		}
		c.Workers = view.Workers(m)
		k := m.Counts()
		c.Tasks = api.Totals{Created: k.Created, Running: k.Running, Retrying: k.Retrying, Repeating: k.Repeating, Success: k.Success, Failure: k.Failure}
	})
	return c, nil
}

// others lists the other members that this node knows, voters or not.
func (n *Node) others(st raftstore.Status) []raftstore.Member {
	return slices.DeleteFunc(slices.Clone(st.Members), func(m raftstore.Member) bool { return m.ID == n.cfg.ID })
}

// otherAddrs lists the node-to-node addresses of the other members.
func (n *Node) otherAddrs() []string {
	var addrs []string
	for _, m := range n.others(n.store.Status()) {
		if m.Addr != "" {
			addrs = append(addrs, m.Addr)
		}
	}
	return addrs
}

// self describes this node.
func (n *Node) self(st raftstore.Status) api.Node {
	return api.Node{
		ID: n.cfg.ID, HTTP: n.cfg.HTTPAdvertise, Raft: n.cfg.Addr, Role: string(st.Role), Reachable: true,
		Term: st.Term, AppliedIndex: st.Applied, Digest: fmt.Sprintf("%d:%016x", st.Digest.Index, st.Digest.Sum),
		Version: n.cfg.Version, FeatureLevel: st.Known, Blobs: n.files.Status(),
	}
}

// answerPeer answers another member.
func (n *Node) answerPeer(q peerRequest) peerReply {
	switch q.Op {
	case opStatus:
		self := n.self(n.store.Status())
		return peerReply{Node: &self}
	case opLogs:
		as, err := n.logs.Read(q.Task)
		if err != nil {
			return peerReply{Error: err.Error()}
		}
		return peerReply{Logs: as}
	case opFiles:
		fs, err := n.filesHere(q.Area, q.After, q.Limit)
		if err != nil {
			return peerReply{Error: err.Error()}
		}
		return peerReply{Files: fs}
	case opDropLogs:
		dropped, err := n.dropLogsHere(q.Token, q.Before, q.Names)
		if err != nil {
			return peerReply{Error: err.Error()}
		}
		return peerReply{Dropped: dropped}
	}
	return peerReply{Error: "unknown question " + q.Op}
}

// Log implements api.Service: what all members that answer have kept, put together. The log of an attempt lies where its
// worker was connected at the time.
func (n *Node) Log(ctx context.Context, namespace, id string) (*api.LogReply, error) {
	key, err := taskKey(namespace, id)
	if err != nil {
		return nil, err
	}
	missing := error(nil)
	err = n.read(ctx, readOptions{}, func(m *task.Machine) {
		if m.Task(key) == nil {
			missing = notFound(m, key)
		}
	})
	if err := firstError(err, missing); err != nil {
		return nil, err
	}
	own, err := n.logs.Read(key)
	if err != nil {
		return nil, api.NewError(api.CodeInternal, "read logs: %v", err)
	}
	all := [][]logs.Attempt{own}
	for _, r := range n.peers.askAll(ctx, n.otherAddrs(), peerRequest{Op: opLogs, Task: key}) {
		if r != nil {
			all = append(all, r.Logs)
		}
	}
	reply := &api.LogReply{Attempts: []api.AttemptLog{}}
	for _, t := range logs.Merge(all...) {
		reply.Attempts = append(reply.Attempts, api.AttemptLog{Attempt: t.Attempt, Token: t.Token, Text: t.Text})
	}
	return reply, nil
}

// Ready implements api.Service: this node knows a leader, is caught up with it, and its disk works (SPEC H1, C6).
func (n *Node) Ready(ctx context.Context) error {
	if err := n.failed(); err != nil {
		return api.NewError(api.CodeNotReady, "this node has stopped: %v", err)
	}
	if id, _ := n.store.Leader(); id == "" {
		return api.NewError(api.CodeNotReady, "no leader is known")
	}
	// A linearizable read answers both questions that matter: the leader is one, and this node has applied what it had
	// committed when the question was asked.
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
