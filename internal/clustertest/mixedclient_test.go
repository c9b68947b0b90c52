package clustertest

import (
	"context"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node"
)

// checkedClient is a worker's client. It checks every answer against what other workers were told before.
type checkedClient struct {
	m   *mixed
	any *anyNode
}

func (c *checkedClient) Accept(ctx context.Context, r api.AcceptRequest) (*api.AcceptReply, error) {
	return call(c.any, func(n *node.Node) (*api.AcceptReply, error) { return c.m.accept(ctx, n, r) })
}

func (c *checkedClient) Heartbeat(ctx context.Context, r api.HeartbeatRequest) (*api.HeartbeatReply, error) {
	return call(c.any, func(n *node.Node) (*api.HeartbeatReply, error) { return c.m.heartbeat(ctx, n, r) })
}

func (c *checkedClient) Finish(ctx context.Context, r api.FinishRequest) (*api.FinishReply, error) {
	return call(c.any, func(n *node.Node) (*api.FinishReply, error) { return c.m.finish(ctx, n, r) })
}

func (c *checkedClient) FinishMany(ctx context.Context, rs []api.FinishRequest) ([]api.FinishResult, error) {
	return call(c.any, func(n *node.Node) ([]api.FinishResult, error) {
		before := make([]tokenState, len(rs))
		for i := range rs {
			before[i] = c.m.state(rs[i].ID, rs[i].Token)
		}
		out, err := n.FinishMany(ctx, rs)
		for i := range out {
			if e := out[i].Error; e != nil {
				c.m.reported(rs[i].ID, rs[i].Token, before[i], "", 0, e)
				continue
			}
			c.m.finished(rs[i], before[i], out[i].FinishReply)
		}
		return out, err
	})
}

func (c *checkedClient) Snooze(ctx context.Context, r api.SnoozeRequest) (*api.Task, error) {
	return call(c.any, func(n *node.Node) (*api.Task, error) { return c.m.snooze(ctx, n, r) })
}

// tokenState is what was known of a token before a call with it.
type tokenState struct {
	dead   bool   // a report with it was refused
	later  uint64 // the highest token of the task that a worker had been handed
	ending ending
}

func (m *mixed) state(id string, token uint64) tokenState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return tokenState{dead: m.dead[token], later: m.handed[id], ending: m.ended[token]}
}

// accept accepts tasks. No lease is handed to two requests, and none is handed out after a later lease of its task
// (SPEC J2, L3).
func (m *mixed) accept(ctx context.Context, n *node.Node, q api.AcceptRequest) (*api.AcceptReply, error) {
	m.mu.Lock()
	before := make(map[string]uint64, len(m.handed))
	for id, token := range m.handed {
		before[id] = token
	}
	m.mu.Unlock()
	reply, err := n.Accept(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(reply.Tasks) > q.Max {
		m.errorf("%s asked for %d and got %d", q.Worker, q.Max, len(reply.Tasks))
	}
	for _, t := range reply.Tasks {
		m.handedOut(&q, t, before[t.ID])
	}
	return reply, nil
}

func (m *mixed) handedOut(q *api.AcceptRequest, t *api.Task, before uint64) {
	m.note("%s has %s, attempt %d, token %d", q.Worker, t.ID, t.Attempt, t.Lease.Token)
	if t.Status != "RUNNING" || !t.Lease.External || t.Behavior != q.Behavior || t.Lease.Worker != q.Worker || t.Lease.LeaseMS <= 0 {
		m.errorf("%s accepted %s", q.Worker, Show(t))
	}
	m.mu.Lock()
	m.counts["handed out"]++
	was, again := m.asked[t.Lease.Token]
	m.asked[t.Lease.Token] = q.RequestID
	m.handed[t.ID] = max(m.handed[t.ID], t.Lease.Token)
	m.mu.Unlock()
	if again && (q.RequestID == "" || was != q.RequestID) {
		m.errorf("token %d of %s was handed to %q and to %q (SPEC J2)", t.Lease.Token, t.ID, was, q.RequestID)
	}
	if t.Lease.Token < before {
		m.errorf("token %d of %s was handed out after %d (SPEC L3)", t.Lease.Token, t.ID, before)
	}
}

func (m *mixed) heartbeat(ctx context.Context, n *node.Node, q api.HeartbeatRequest) (*api.HeartbeatReply, error) {
	before := m.state(q.ID, q.Token)
	reply, err := n.Heartbeat(ctx, q)
	m.reported(q.ID, q.Token, before, "", 0, err)
	if err == nil && (before.ending != ending{}) {
		m.errorf("token %d of %s ended, and a heartbeat was taken (SPEC L3)", q.Token, q.ID)
	}
	return reply, err
}

func (m *mixed) finish(ctx context.Context, n *node.Node, q api.FinishRequest) (*api.FinishReply, error) {
	before := m.state(q.ID, q.Token)
	reply, err := n.Finish(ctx, q)
	if err != nil {
		m.reported(q.ID, q.Token, before, "", 0, err)
		return nil, err
	}
	m.finished(q, before, reply)
	return reply, nil
}

// finished checks the answer to a finish that was taken, now or before.
func (m *mixed) finished(q api.FinishRequest, before tokenState, r *api.FinishReply) {
	if r.Repeated {
		m.count("repeated")
		if before.later > q.Token {
			m.errorf("token %d of %s was repeated after %d was given (SPEC L3)", q.Token, q.ID, before.later)
		}
		return
	}
	want := "SUCCESS"
	if q.Error != nil {
		want = "FAILURE"
	}
	if r.Task.Status != want && (r.Task.Status != "FAILURE" || r.Task.Error.Code != "CANCELLED") {
		m.errorf("the finish of %s, token %d, was answered %s", q.ID, q.Token, Show(r.Task))
	}
	m.reported(q.ID, q.Token, before, r.Task.Status, r.Task.Rev, nil)
}

func (m *mixed) snooze(ctx context.Context, n *node.Node, q api.SnoozeRequest) (*api.Task, error) {
	before := m.state(q.ID, q.Token)
	t, err := n.Snooze(ctx, q)
	if err != nil {
		m.reported(q.ID, q.Token, before, "", 0, err)
		return nil, err
	}
	m.reported(q.ID, q.Token, before, t.Status, t.Rev, nil)
	return t, nil
}

// reported notes the answer to a report. A report that was taken follows no refusal, no other end and no later lease
// that anybody had been told of. status is "" unless the report ended the token.
func (m *mixed) reported(id string, token uint64, before tokenState, status string, rev uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		if api.CodeOf(err) == api.CodeHalt {
			m.dead[token] = true
			m.counts["halts"]++
		}
		return
	}
	if before.dead || before.later > token {
		m.errorf("a report of token %d of %s was taken; refused before: %v, later lease: %d (SPEC L3)", token, id, before.dead, before.later)
	}
	if status == "" {
		return
	}
	if e, ok := m.ended[token]; ok {
		m.errorf("token %d of %s ended twice: %+v and %s at rev %d (SPEC L3)", token, id, e, status, rev)
	}
	m.ended[token] = ending{id, status, rev}
}
