package native

import (
	"context"

	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
)

// Store is what a run needs of the replicated store. raftstore.Store implements it.
type Store interface {
	Propose(context.Context, ...task.Command) ([]task.Result, error)
	Read(context.Context, func(*task.Machine)) error
	Local(func(*task.Machine))
	WaitIndex(ctx context.Context, index uint64) error
}

// Cluster is how a run reaches the replicated state.
type Cluster struct{ Store Store }

var _ maintain.Cluster = Cluster{}

// Local implements maintain.Cluster.
func (c Cluster) Local(fn func(*task.Machine)) { c.Store.Local(fn) }

// CatchUp implements maintain.Cluster.
func (c Cluster) CatchUp(ctx context.Context) error {
	return raftstore.Persist(ctx, func() error { return c.Store.Read(ctx, func(*task.Machine) {}) })
}

// Propose implements maintain.Cluster. Every command of a run may be applied twice: the second time it finds nothing to
// do.
func (c Cluster) Propose(ctx context.Context, cmd task.Command) (r task.Result, err error) {
	err = raftstore.Persist(ctx, func() error {
		rs, err := c.Store.Propose(ctx, cmd)
		if err != nil {
			return err
		}
		r = rs[0]
		// The node must have this command by the time that the run reads again.
		return c.Store.WaitIndex(ctx, r.Index)
	})
	return r, err
}
