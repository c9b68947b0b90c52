package service

import (
	"context"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/logs"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
)

// Cluster implements api.Service. It needs no leader: the members describe themselves, and the rest is this node's own
// state, which may be stale.
func (svc *Service) Cluster(ctx context.Context) (*api.Cluster, error) {
	c := svc.members.Cluster(ctx)
	svc.store.Local(func(m *task.Machine) {
		api.SetIndex(ctx, m.Index())
		for i := range c.Nodes {
			c.Nodes[i].Drained = m.Drained(c.Nodes[i].ID)
			if m.Level() >= task.MembersLevel {
				c.Nodes[i].Vote = m.Roster().Member(c.Nodes[i].ID).Vote.String()
			}
		}
		c.Workers = view.Workers(m)
		k := m.Counts()
		c.Tasks = api.Totals{Created: k.Created, Running: k.Running, Retrying: k.Retrying, Repeating: k.Repeating, Success: k.Success, Failure: k.Failure}
	})
	svc.addWalls(ctx, c.Workers)
	return c, nil
}

// Ready implements api.Service (SPEC H1, C6).
func (svc *Service) Ready(ctx context.Context) error { return svc.members.Ready(ctx) }

// Workers implements api.Service: sessions by ID, then the programs that hold external leases, by name.
func (svc *Service) Workers(ctx context.Context) ([]api.Worker, error) {
	ws := []api.Worker{}
	err := svc.read(ctx, readOptions{}, func(m *task.Machine) { ws = view.Workers(m) })
	if err != nil {
		return nil, err
	}
	svc.addWalls(ctx, ws)
	return ws, nil
}

// addWalls says of each worker what stands around its guests.
func (svc *Service) addWalls(ctx context.Context, ws []api.Worker) {
	walls := svc.members.Walls(ctx)
	for i := range ws {
		if w, is := walls[ws[i].Session]; is {
			ws[i].Wall = &w
		}
	}
}

// Drain implements api.Service. The workers of a drained member get nothing new, and what they run goes on (SPEC L10).
// The replicated state says that a member is drained: so no leader forgets it, and a restart of the member does not end
// it.
func (svc *Service) Drain(ctx context.Context, id string, drain bool) (*api.Node, error) {
	if err := api.CheckNode(id); err != nil {
		return nil, err
	}
	if !svc.members.Has(id) { // this node may be behind: only what is committed makes it a 404
		if err := svc.catchUp(ctx); err != nil {
			return nil, err
		}
		if !svc.members.Has(id) {
			return nil, api.NewError(api.CodeMemberNotFound, "no member %.80s", id)
		}
	}
	if _, err := svc.proposeOne(ctx, task.DrainNode{Node: id, Drain: drain}); err != nil {
		return nil, err
	}
	c, err := svc.Cluster(ctx)
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

// Logs implements api.Service. It puts together what all members that answer have kept.
func (svc *Service) Logs(ctx context.Context, namespace, id string, g api.LogsGet) (*api.LogsReply, error) {
	key, err := taskKey(namespace, id)
	if err != nil {
		return nil, err
	}
	missing := error(nil)
	err = svc.read(ctx, readOptions{}, func(m *task.Machine) {
		if m.Task(key) == nil {
			missing = notFound(m, key)
		}
	})
	if err := firstError(err, missing); err != nil {
		return nil, err
	}
	all, err := svc.members.Logs(ctx, key)
	if err != nil {
		return nil, api.NewError(api.CodeInternal, "read logs: %v", err)
	}
	reply := &api.LogsReply{Attempts: []api.AttemptLog{}}
	for _, t := range logs.Merge(logs.Position{Token: g.FromToken, Offset: g.FromOffset}, all...) {
		reply.Attempts = append(reply.Attempts, api.AttemptLog{Attempt: t.Attempt, Token: t.Token, Text: t.Text, End: t.End})
	}
	return reply, nil
}
