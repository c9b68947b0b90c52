package service

import (
	"context"

	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
)

// Log reads and writes the state for other rooms of the node as the Service does: its errors are *api.Error, and it knows idempotency keys.
type Log struct{ svc *Service }

// Log returns the Service's Log.
func (svc *Service) Log() Log { return Log{svc} }

// Propose proposes a command and turns a rejection into an error.
func (l Log) Propose(ctx context.Context, c task.Command) (task.Result, error) {
	return l.svc.proposeOne(ctx, c)
}

// Read runs fn on a state that has whatever was acknowledged before, and again as long as it wants more. fn must be short and must not block.
func (l Log) Read(ctx context.Context, fn func(*task.Machine) (more bool)) error {
	return l.svc.look(ctx, readOptions{}, fn)
}

// Local runs fn on this node's state as it is.
func (l Log) Local(fn func(*task.Machine)) { l.svc.store.Local(fn) }

// Await waits until this node has applied an index that the leader has.
func (l Log) Await(ctx context.Context, index uint64) error { return l.svc.catchUpTo(ctx, index) }

// Done reports whether the only command of a request was carried out before, under the idempotency key of the request.
func (l Log) Done(ctx context.Context) bool {
	r, ok := l.svc.kept(ctx, 0)
	if !ok {
		return false
	}
	_, err := view.Accepted(&r)
	return err == nil
}
