package service

import (
	"context"
	"slices"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/tracing"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
)

// maxRounds bounds how often a request is checked again because a behavior or a blob changed between the check and the
// log.
const maxRounds = 10

// writeTimeout bounds how long a write waits for a leader and a majority before it is answered with an error. A client
// that sets no limit must not hang, and hold its place here, for as long as a node is cut off.
const writeTimeout = time.Minute

// propose replicates the commands of one request, under the client's idempotency key if there is one (SPEC H4). Under a
// key, a command is known by its place in the request: a nil command only keeps its place. Rejections are in the
// results, which have the order of cmds. The error is an *api.Error.
func (svc *Service) propose(ctx context.Context, cmds ...task.Command) ([]task.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	defer tracing.Committing(ctx)()
	var rs []task.Result
	var err error
	if once, ok := api.OnceOf(ctx); ok {
		rs, err = svc.store.ProposeKeyed(ctx, raftstore.Key{Process: once.Key, Body: once.Body}, cmds...)
	} else {
		rs, err = svc.proposeDense(ctx, cmds)
	}
	if err != nil {
		return nil, storeError(err, true)
	}
	index := uint64(0)
	for i := range rs {
		index = max(index, rs[i].Index)
	}
	api.SetIndex(ctx, index)
	return rs, nil
}

// traceOf returns the traceparent that a call gives to tasks (SPEC U2); "" for none, and below the feature level of traces.
func (svc *Service) traceOf(ctx context.Context) string {
	parent := tracing.Parent(ctx)
	if parent != "" {
		svc.store.Local(func(m *task.Machine) {
			if m.Level() < task.TraceLevel {
				parent = ""
			}
		})
	}
	return parent
}

// proposeDense proposes the commands that are not nil.
func (svc *Service) proposeDense(ctx context.Context, cmds []task.Command) ([]task.Result, error) {
	if !slices.Contains(cmds, nil) {
		return svc.store.Propose(ctx, cmds...)
	}
	var these []task.Command
	var at []int
	for i, c := range cmds {
		if c != nil {
			these, at = append(these, c), append(at, i)
		}
	}
	rs, err := svc.store.Propose(ctx, these...)
	if err != nil {
		return nil, err
	}
	results := make([]task.Result, len(cmds))
	for i := range rs {
		results[at[i]] = rs[i]
	}
	return results, nil
}

// proposeOne proposes a command and turns a rejection into an error.
func (svc *Service) proposeOne(ctx context.Context, cmd task.Command) (task.Result, error) {
	rs, err := svc.propose(ctx, cmd)
	if err != nil {
		return task.Result{}, err
	}
	return view.Accepted(&rs[0])
}

// proposeValid proposes the command that validate makes from this node's state. If the state has changed where the
// command is applied, this node catches up, and the command is made anew.
func (svc *Service) proposeValid(ctx context.Context, validate func() (task.Command, error)) (task.Result, error) {
	for range maxRounds {
		cmd, err := validate()
		if err != nil {
			if r, ok := svc.kept(ctx, 0); ok {
				return view.Accepted(&r)
			}
			return task.Result{}, err
		}
		r, err := svc.proposeOne(ctx, cmd)
		if !view.CheckAgain(task.Code(api.CodeOf(err))) {
			return r, err
		}
		if err := svc.catchUp(ctx); err != nil {
			return task.Result{}, err
		}
	}
	return task.Result{}, errKeepsChanging()
}

// kept returns what this node's state remembers of the command at a place of the request, under the client's key. A
// command that was done is answered so, even if it would be refused now because a behavior is gone or takes other
// params.
func (svc *Service) kept(ctx context.Context, place int) (r task.Result, ok bool) {
	if once, keyed := api.OnceOf(ctx); keyed {
		svc.store.Local(func(m *task.Machine) { r, ok = m.KeptAnswer(once.Key, once.Body, uint64(place)+1) })
	}
	return r, ok
}

func errKeepsChanging() error {
	return api.NewError(api.CodeNotReady, "the behavior, or a blob, keeps changing; nothing was done; try again")
}
