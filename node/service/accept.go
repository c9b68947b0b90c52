package service

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/accept"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/tracing"
)

// settleTimeout bounds how long the end of a wait may take. The leader answers after its next round of planning.
const settleTimeout = 10 * time.Second

// Accept implements api.Service (SPEC J2). The leader coordinates: it knows all waiting accepts of the cluster, and
// leases are given in one way only. This node brings the question to the leader, and to the next leader if that leader
// dies.
func (svc *Service) Accept(ctx context.Context, r api.AcceptRequest) (*api.AcceptReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	b, err := svc.behavior(ctx, r.Namespace, r.Behavior)
	if api.CodeOf(err) == api.CodeBehaviorNotFound {
		err = api.NewError(api.CodeBehaviorNotFound, "no behavior %s", r.Behavior) // the name stands in the path, not in a field
	}
	if err != nil {
		return nil, err
	}
	if !b.External {
		return nil, api.NewError(string(task.NotExternal), "behavior %s has a module, which nodes run", r.Behavior)
	}
	q, err := askOf(&r)
	if err != nil {
		return nil, err
	}
	w := acceptWait{svc: svc, ask: q}
	if r.Wait != nil {
		w.end = time.Now().Add(time.Duration(*r.Wait))
	}
	for {
		reply, over, err := w.once(ctx)
		if over || err != nil {
			return reply, err
		}
	}
}

// askOf makes the question to the leader. A request ID of a client and a random one never meet, because their prefixes
// differ.
func askOf(r *api.AcceptRequest) (accept.Ask, error) {
	q := accept.Ask{Key: accept.Key{Namespace: r.Namespace, Behavior: r.Behavior, Worker: r.Worker}, Max: r.Max, MaxNotBefore: timeValue(r.MaxNotBefore)}
	if r.Lease != nil {
		q.Lease = delayMillis(*r.Lease)
	}
	if r.RequestID != "" {
		q.Key.Request = "c:" + r.RequestID
		return q, nil
	}
	id, err := uuid.NewRandom()
	if err != nil {
		return q, api.NewError(api.CodeInternal, "draw a request ID: %v", err)
	}
	q.Key.Request = "n:" + id.String()
	return q, nil
}

// acceptWait is one accept until its end. end is zero if the accept does not wait.
type acceptWait struct {
	svc *Service
	ask accept.Ask
	end time.Time
}

// once asks once. over is false if the leases had ended before this node saw them: there may be other tasks.
func (w *acceptWait) once(ctx context.Context) (reply *api.AcceptReply, over bool, err error) {
	svc := w.svc
	w.ask.Settle = !time.Now().Before(w.end)
	call, err := svc.accepts.Begin(w.ask)
	if err != nil {
		return nil, true, api.NewError(api.CodeOverloaded, "too many accepts wait at this node")
	}
	a, err := w.wait(ctx, call)
	switch {
	case err != nil:
		svc.accepts.Abandon(call)
		return nil, true, err
	case a.Overload:
		return nil, true, api.NewError(api.CodeOverloaded, "too many accepts wait in the cluster")
	case len(a.Grants) == 0:
		return &api.AcceptReply{Tasks: []*api.Task{}}, true, nil
	}
	tasks, err := svc.granted(ctx, w.ask.Key.Namespace, a)
	if err != nil {
		svc.accepts.Abandon(call)
		return nil, true, err
	}
	if len(tasks) == 0 && !w.ask.Settle {
		return nil, false, nil
	}
	return &api.AcceptReply{Tasks: tasks, Undelivered: func() { svc.accepts.Abandon(call) }}, true, nil
}

// wait waits for the answer: first for as long as the request says, and then until the leader has had time to say that there is nothing.
func (w *acceptWait) wait(ctx context.Context, call *accept.Call) (accept.Answer, error) {
	settling := w.ask.Settle
	timer := time.NewTimer(max(0, time.Until(w.end)))
	if settling {
		timer.Reset(settleTimeout)
	}
	defer timer.Stop()
	for {
		select {
		case a := <-call.Answer:
			return a, nil
		case <-timer.C:
			if settling {
				return accept.Answer{}, api.NewError(api.CodeNoLeader, "the cluster has no leader now; nothing was accepted")
			}
			settling = true
			w.svc.accepts.Settle(call)
			timer.Reset(settleTimeout)
		case <-ctx.Done():
			return accept.Answer{}, api.NewError(api.CodeNotReady, "the wait was ended: %v", context.Cause(ctx))
		case <-w.svc.closing:
			return accept.Answer{}, api.NewError(api.CodeNotReady, "this node is stopping; ask another")
		}
	}
}

// granted returns the leased tasks as soon as this node's state has them, without those whose lease has ended already.
// What is left of a lease is what the leader said, less the time since then.
func (svc *Service) granted(ctx context.Context, namespace string, a accept.Answer) ([]*api.Task, error) {
	came := time.Now()
	if err := svc.catchUpTo(ctx, a.Index); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, api.NewError(api.CodeNotReady, "the wait was ended: %v", context.Cause(ctx))
	}
	tasks := []*api.Task{}
	svc.store.Local(func(m *task.Machine) {
		api.SetIndex(ctx, m.Index())
		for _, g := range a.Grants {
			t := m.Task(task.Key{Namespace: namespace, ID: g.ID})
			if t == nil || t.Lease == nil || t.Lease.Token != g.Token {
				continue
			}
			shown := view.Of(m).Task(t)
			shown.Traceparent = tracing.Parent(tracing.Attempt(t.Trace, t.Namespace, t.ID, t.Attempt))
			shown.Lease.LeaseMS = max(1, min(shown.Lease.LeaseMS, g.Left-time.Since(came).Milliseconds()))
			tasks = append(tasks, shown)
		}
	})
	return tasks, nil
}
