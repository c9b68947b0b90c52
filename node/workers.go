package node

import (
	"context"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
)

// Workers implements api.Service: sessions by ID, then the programs that hold external leases, by name.
func (n *Node) Workers(ctx context.Context) ([]api.Worker, error) {
	ws := []api.Worker{}
	err := n.read(ctx, readOptions{}, func(m *task.Machine) { ws = view.Workers(m) })
	if err != nil {
		return nil, err
	}
	return ws, nil
}
