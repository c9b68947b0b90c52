package node

import (
	"context"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/runs"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
)

// StartMaintenance implements api.Service (SPEC M1): the run begins as soon as a worker has a slot.
func (n *Node) StartMaintenance(ctx context.Context, r api.MaintenanceRequest) (*api.MaintenanceStarted, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if err := n.seedOnDemand(ctx); err != nil {
		return nil, err
	}
	res, err := n.proposeOne(ctx, runs.Command(&r))
	if err != nil {
		return nil, err
	}
	return &api.MaintenanceStarted{Run: task.UnfinishedRun(res.Task)}, nil
}

// seedOnDemand makes what a run needs where maintenance does not repeat by itself, or was removed.
func (n *Node) seedOnDemand(ctx context.Context) error {
	var cmds []task.Command
	var failed error
	err := n.read(ctx, readOptions{}, func(m *task.Machine) {
		if m.Task(task.MaintenanceKey()) == nil {
			cmds, failed = maintain.Seeds(m, n.cfg.Maintenance, true)
		}
	})
	if err := firstError(err, failed); err != nil || len(cmds) == 0 {
		return err
	}
	// Not under the client's key: that is for what the client asked.
	rs, err := n.store.Propose(ctx, cmds...)
	if err != nil {
		return storeError(err, true)
	}
	for i := range rs {
		if _, err := view.Accepted(&rs[i]); err != nil {
			return err
		}
	}
	return nil
}

// hurryTimeout is above an election, and bounds how much longer than its own command a request may take for it.
const hurryTimeout = 5 * time.Second

// hurry makes maintenance run now, for what a request has left to it (SPEC B8, N1). While a run goes on it does nothing:
// that one asks for another at its end if it has not seen what there is to do. What was asked for is done: a client that has
// gone does not stop it, and one that waits is not held up by a cluster that has lost its leader meanwhile.
func (n *Node) hurry(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hurryTimeout)
	defer cancel()
	err := n.seedOnDemand(ctx)
	if err == nil {
		_, err = n.store.Propose(ctx, task.StartMaintenance{})
	}
	if err != nil {
		n.cfg.Logger.Debug("maintenance was not told that there is something to do; it comes to it by itself", "err", err)
	}
}

// MaintenanceRuns implements api.Service.
func (n *Node) MaintenanceRuns(ctx context.Context) ([]api.MaintenanceRun, error) {
	all := []api.MaintenanceRun{}
	if err := n.read(ctx, readOptions{}, func(m *task.Machine) { all = runs.All(m) }); err != nil {
		return nil, err
	}
	return all, nil
}

// MaintenanceRun implements api.Service.
func (n *Node) MaintenanceRun(ctx context.Context, run int64) (*api.MaintenanceRun, error) {
	if err := api.CheckRun(run); err != nil {
		return nil, err
	}
	all, err := n.MaintenanceRuns(ctx)
	if err != nil {
		return nil, err
	}
	return runs.Find(all, run)
}

// Maintenance implements api.Service.
func (n *Node) Maintenance(ctx context.Context) (*api.MaintenanceInfo, error) {
	c := n.cfg.Maintenance
	info := &api.MaintenanceInfo{
		Every: api.Duration(max(c.Every, 0)), Grace: api.Duration(c.Grace),
		ScanRate: c.ScanRate, DeleteRate: c.DeleteRate, Batch: c.Batch,
	}
	if err := n.read(ctx, readOptions{}, func(m *task.Machine) { runs.Info(m, info) }); err != nil {
		return nil, err
	}
	return info, nil
}
