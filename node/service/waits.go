package service

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/node/wait"
	"github.com/taskrt/taskrt/task"
)

// waitTask answers as soon as the condition holds, or at the end of the wait with the state as it is then (SPEC W1).
func (svc *Service) waitTask(ctx context.Context, key task.Key, o api.GetOptions) (*api.Task, error) {
	until, err := api.ParseUntil(o.Until)
	if err != nil {
		return nil, err
	}
	w := svc.waits.Task(key, until, o.Since)
	defer w.Stop()
	var now *task.Task
	var index uint64
	missing := error(nil)
	err = svc.read(ctx, readOptions{o.Stale, o.MinIndex}, func(m *task.Machine) {
		index = m.Index()
		if now = m.Task(key); now == nil {
			missing = notFound(m, key)
		}
	})
	if err != nil || missing != nil {
		return nil, firstError(err, missing)
	}
	w.Start(now, index)
	if _, err := svc.pause(ctx, o.Wait, w.Done()); err != nil {
		return nil, err
	}
	t, gone, over := w.Outcome()
	var reply *api.Task
	svc.store.Local(func(m *task.Machine) {
		if !over {
			if t = m.Task(key); t == nil {
				gone = true
			}
		}
		api.SetIndex(ctx, m.Index())
		reply = view.Of(m).Task(t)
	})
	if gone {
		return nil, api.NewError(api.CodeRemoved, "task %s was removed", key.ID)
	}
	return reply, nil
}

// pause waits for done, but no longer than d. timedOut says that d was over first.
func (svc *Service) pause(ctx context.Context, d time.Duration, done <-chan struct{}) (timedOut bool, err error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return false, nil
	case <-timer.C:
		return true, nil
	case <-ctx.Done():
		return false, api.NewError(api.CodeNotReady, "the wait was ended: %v", context.Cause(ctx))
	case <-svc.closing:
		return false, api.NewError(api.CodeNotReady, "this node is stopping; ask another")
	}
}

// WaitTasks implements api.Service (SPEC W2). A task that is removed meanwhile ends its wait as a final state does.
func (svc *Service) WaitTasks(ctx context.Context, r api.WaitRequest) (*api.WaitReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	until, err := api.ParseUntil(r.Until)
	if err != nil {
		return nil, err
	}
	keys := make([]task.Key, len(r.IDs))
	for i, id := range r.IDs {
		keys[i] = task.Key{Namespace: r.Namespace, ID: id}
	}
	enough := int64(1)
	if r.Mode == "all" {
		enough = int64(len(keys))
	}
	done := make(chan struct{})
	var ended atomic.Int64
	ws := svc.waits.Tasks(keys, until, r.Since, func() {
		if ended.Add(1) == enough {
			close(done)
		}
	})
	if ws == nil {
		return nil, api.NewError(api.CodeOverloaded, "more than %d tasks are waited for on this node", wait.MaxTasks)
	}
	defer func() {
		for _, w := range ws {
			w.Stop()
		}
	}()
	if err := svc.startAll(ctx, r, ws); err != nil {
		return nil, err
	}
	timedOut, err := svc.pause(ctx, time.Duration(*r.Timeout), done)
	if err != nil {
		return nil, err
	}
	reply := &api.WaitReply{Tasks: make([]*api.Task, len(ws)), TimedOut: timedOut && ended.Load() < enough}
	svc.store.Local(func(m *task.Machine) {
		api.SetIndex(ctx, m.Index())
		var params view.Composed
		for i, w := range ws {
			last, gone, _ := w.Outcome()
			if t := m.Task(w.Key()); !gone && t != nil && t.CreatedRev == last.CreatedRev {
				reply.Tasks[i] = view.Of(m).Task(t)
				if params.Add(t, reply.Tasks[i]) {
					reply.Tasks[i].Params = nil
				}
			}
		}
	})
	return reply, nil
}

// startAll starts the waiters with one read of the state.
func (svc *Service) startAll(ctx context.Context, r api.WaitRequest, ws []*wait.Waiter) error {
	now := make([]*task.Task, len(ws))
	var index uint64
	missing := error(nil)
	err := svc.read(ctx, readOptions{r.Stale, r.MinIndex}, func(m *task.Machine) {
		index = m.Index()
		for i, w := range ws {
			if now[i] = m.Task(w.Key()); now[i] == nil {
				missing = firstError(missing, notFound(m, w.Key()))
			}
		}
	})
	if err := firstError(err, missing); err != nil {
		return err
	}
	for i, w := range ws {
		w.Start(now[i], index)
	}
	return nil
}

// waitOperation answers as soon as the condition holds, or at the end of the wait with the state as it is then.
func (svc *Service) waitOperation(ctx context.Context, key task.Key, o api.OperationGet) (*api.Operation, error) {
	until, err := api.ParseOperationUntil(o.Until)
	if err != nil {
		return nil, err
	}
	w := svc.waits.Operation(key, until)
	defer w.Stop()
	missing := error(nil)
	err = svc.read(ctx, readOptions{o.Stale, o.MinIndex}, func(m *task.Machine) {
		if now := m.Operation(key); now != nil {
			w.Start(now)
		} else {
			missing = noOperation(m, key)
		}
	})
	if err := firstError(err, missing); err != nil {
		return nil, err
	}
	if _, err := svc.pause(ctx, o.Wait, w.Done()); err != nil {
		return nil, err
	}
	last, over := w.Outcome()
	var reply *api.Operation
	svc.store.Local(func(m *task.Machine) {
		api.SetIndex(ctx, m.Index())
		now := m.Operation(key)
		if now == nil || now.CreatedRev != w.Created() || over && last == nil {
			return
		}
		if last != nil && !w.Holds(now) { // the operation has gone on already
			now = last
		}
		reply = view.Of(m).Operation(now)
	})
	if reply == nil {
		return nil, api.NewError(api.CodeRemoved, "operation %s was removed", key.ID)
	}
	return reply, nil
}
