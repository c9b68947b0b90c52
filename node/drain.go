package node

import (
	"context"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// Drain implements api.Service: the workers of a member get nothing new, what they run goes on (SPEC L10). It is in the
// replicated state: no leader forgets it, and a restart of the member does not end it.
func (n *Node) Drain(ctx context.Context, id string, drain bool) (*api.Node, error) {
	if err := api.CheckNode(id); err != nil {
		return nil, err
	}
	if !n.isMember(id) { // this node may be behind: only what is committed makes it a 404
		if err := n.catchUp(ctx); err != nil {
			return nil, err
		}
		if !n.isMember(id) {
			return nil, api.NewError(api.CodeMemberNotFound, "no member %.80s", id)
		}
	}
	if _, err := n.proposeOne(ctx, task.DrainNode{Node: id, Drain: drain}); err != nil {
		return nil, err
	}
	c, err := n.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	for i := range c.Nodes {
		if c.Nodes[i].ID == id {
			c.Nodes[i].Drained = drain // this node may not have applied it yet
			return &c.Nodes[i], nil
		}
	}
	return nil, api.NewError(api.CodeMemberNotFound, "member %s was removed", id)
}

func (n *Node) isMember(id string) bool {
	for _, m := range n.store.Status().Members {
		if m.ID == id {
			return true
		}
	}
	return false
}
