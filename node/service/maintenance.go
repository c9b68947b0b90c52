package service

import (
	"context"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/runs"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
)

// StartMaintenance implements api.Service (SPEC M1). The run begins as soon as a worker has a slot.
func (svc *Service) StartMaintenance(ctx context.Context, r api.MaintenanceRequest) (*api.MaintenanceStarted, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if err := svc.seedOnDemand(ctx); err != nil {
		return nil, err
	}
	res, err := svc.proposeOne(ctx, runs.Command(&r))
	if err != nil {
		return nil, err
	}
	return &api.MaintenanceStarted{Run: task.UnfinishedRun(res.Task)}, nil
}

// seedOnDemand makes the records that a run needs, where maintenance does not repeat by itself or was removed.
func (svc *Service) seedOnDemand(ctx context.Context) error {
	var cmds []task.Command
	var failed error
	err := svc.read(ctx, readOptions{}, func(m *task.Machine) {
		if m.Task(task.MaintenanceKey()) == nil {
			cmds, failed = maintain.Seeds(m, svc.maintenance, true)
		}
	})
	if err := firstError(err, failed); err != nil || len(cmds) == 0 {
		return err
	}
	// Not under the client's idempotency key: the key stands for what the client asked for.
	rs, err := svc.store.Propose(ctx, cmds...)
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

// hurryTimeout is longer than an election. It bounds how much longer than its own command a request may take because of
// hurry.
const hurryTimeout = 5 * time.Second

// hurry makes maintenance run now, because a request has left work to it (SPEC B8, N1). While a run goes on hurry
// changes nothing: a run that has not seen the work asks for another run at its end. The request itself is done by
// then. So a client that has gone does not stop hurry, and a client that waits is not held up by a cluster that has
// lost its leader meanwhile.
func (svc *Service) hurry(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hurryTimeout)
	defer cancel()
	err := svc.seedOnDemand(ctx)
	if err == nil {
		_, err = svc.store.Propose(ctx, task.StartMaintenance{})
	}
	if err != nil {
		svc.logger.Debug("maintenance was not told that there is something to do; it comes to it by itself", "err", err)
	}
}

// MaintenanceRuns implements api.Service.
func (svc *Service) MaintenanceRuns(ctx context.Context) ([]api.MaintenanceRun, error) {
	all := []api.MaintenanceRun{}
	if err := svc.read(ctx, readOptions{}, func(m *task.Machine) { all = runs.All(m) }); err != nil {
		return nil, err
	}
	return all, nil
}

// MaintenanceRun implements api.Service.
func (svc *Service) MaintenanceRun(ctx context.Context, run int64) (*api.MaintenanceRun, error) {
	if err := api.CheckRun(run); err != nil {
		return nil, err
	}
	all, err := svc.MaintenanceRuns(ctx)
	if err != nil {
		return nil, err
	}
	return runs.Find(all, run)
}

// Maintenance implements api.Service.
func (svc *Service) Maintenance(ctx context.Context) (*api.MaintenanceInfo, error) {
	c := svc.maintenance
	info := &api.MaintenanceInfo{
		Every: api.Duration(max(c.Every, 0)), Grace: api.Duration(c.Grace),
		ScanRate: c.ScanRate, DeleteRate: c.DeleteRate, Batch: c.Batch,
	}
	if err := svc.read(ctx, readOptions{}, func(m *task.Machine) { runs.Info(m, info) }); err != nil {
		return nil, err
	}
	return info, nil
}
