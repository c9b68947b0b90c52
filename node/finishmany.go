package node

import (
	"context"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
)

// FinishMany implements api.Service: what is wrong with one report is its own answer, the others are reported. Those whose
// blobs were deleted under them are checked and proposed again, alone.
func (n *Node) FinishMany(ctx context.Context, rs []api.FinishRequest) ([]api.FinishResult, error) {
	if err := api.CheckReports(rs); err != nil {
		return nil, err
	}
	f := finishes{n: n, rs: rs, out: make([]api.FinishResult, len(rs))}
	for i := range rs {
		f.todo = append(f.todo, i)
	}
	for round := 0; len(f.todo) > 0; round++ {
		err := errKeepsChanging()
		if round < maxRounds {
			err = f.round(ctx, round == 0)
		}
		switch {
		case err != nil && round == 0:
			return nil, err
		case err != nil: // others were reported: it has an answer
			for _, i := range f.todo {
				f.out[i].Error = view.Error(err)
			}
			f.todo = nil
		}
	}
	return f.out, nil
}

// finishes is a FinishMany under way.
type finishes struct {
	n    *Node
	rs   []api.FinishRequest
	out  []api.FinishResult
	todo []int // what has no answer yet
}

// round checks and proposes what has no answer. In the first one, what no report is to blame for is the whole's error:
// nothing was done, all of it can be sent again.
func (f *finishes) round(ctx context.Context, first bool) error {
	cmds := make([]task.Command, len(f.rs)) // nil: not proposed, but keeps its place
	check := reports{looks{n: f.n}}
	var proposed []int
	for _, i := range f.todo {
		r := f.rs[i]
		err := r.Check()
		if err == nil {
			var cmd task.Finish
			if cmd, err = check.finishOf(ctx, &r); err == nil {
				cmds[i], proposed = cmd, append(proposed, i)
				continue
			}
		}
		if f.out[i].Error = view.Error(err); first && f.out[i].Error.Status >= 500 {
			return f.out[i].Error
		}
	}
	if f.todo = proposed; len(proposed) == 0 {
		return nil
	}
	results, err := f.n.propose(ctx, cmds...)
	if err != nil {
		return err
	}
	f.todo = nil
	f.n.store.Local(func(m *task.Machine) {
		for _, i := range proposed {
			r := &results[i]
			if view.CheckAgain(r.Code) {
				f.todo = append(f.todo, i)
				continue
			}
			if f.out[i].Error = view.Refusal(r); f.out[i].Error == nil {
				f.out[i].FinishReply = finishReply(view.Of(m), r)
			}
		}
	})
	if len(f.todo) > 0 {
		return f.n.catchUp(ctx)
	}
	return nil
}
