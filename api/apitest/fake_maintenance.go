package apitest

import (
	"context"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/runs"
	"github.com/taskrt/taskrt/task"
)

// seedMaintenance makes the behavior and its task, which repeats after an hour. f.mu is held.
func (f *Fake) seedMaintenance() {
	policy := task.DefaultPolicy()
	policy.RepeatEvery, policy.RepeatAny = task.Millis(time.Hour.Milliseconds()), true
	f.apply(task.Activate{
		Namespace: task.SystemNamespace, Module: task.Module{Digest: task.NativeMaintenance, Version: "fake"},
		Behaviors: []task.Activated{{Name: task.MaintenanceBehavior, Policy: policy}},
	})
	f.apply(task.Submit{
		Namespace: task.SystemNamespace, ID: task.MaintenanceTask, Behavior: task.MaintenanceBehavior, Priority: 4, Delay: policy.RepeatEvery,
	})
}

// purges reports whether a command leaves something to maintenance that its callers wait for.
func purges(c task.Command) bool {
	switch c := c.(type) {
	case task.DeleteBehavior:
		return c.Purge
	case task.SetNamespaceStatus:
		return c.Status == task.NamespaceIsPurging
	}
	return false
}

// maintain carries a run out, as far as it purges, and says when the next should follow; 0: in an hour. f.mu is held.
func (f *Fake) maintain(t *task.Task) (again task.Time) {
	token, dry := t.Lease.Token, runs.DryRun(t)
	if !dry {
		for _, b := range f.machine.BehaviorsAfter("", "", 1000) {
			if b.Purge {
				f.apply(task.TrimBehavior{Token: token, Namespace: b.Namespace, Name: b.Name, Max: task.MaxDrop})
			}
		}
		for _, n := range f.machine.Namespaces() {
			if n.Status == task.NamespaceIsPurging && !f.purge(token, n.Name) {
				again = f.machine.Now() + 50
			}
		}
	}
	f.apply(task.RecordRun{Token: token, Run: task.MaintenanceRun{FinishedAt: 1, Success: true, DryRun: dry}})
	return again
}

// purge empties a namespace and says whether it is PURGED: not while something runs, or is removed by Ticks.
func (f *Fake) purge(token uint64, name string) bool {
	for {
		r := f.apply(task.PurgeNamespace{Token: token, Namespace: name, Max: task.MaxDrop})
		if r.Left == 0 {
			return f.apply(task.EndPurge{Token: token, Namespace: name}).Code == task.OK
		}
		if r.Count == 0 {
			return false
		}
	}
}

// StartMaintenance implements api.Service.
func (f *Fake) StartMaintenance(ctx context.Context, r api.MaintenanceRequest) (*api.MaintenanceStarted, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	res, err := f.propose(ctx, runs.Command(&r))
	if err != nil {
		return nil, err
	}
	return &api.MaintenanceStarted{Run: task.UnfinishedRun(res.Task)}, nil
}

// MaintenanceRuns implements api.Service.
func (f *Fake) MaintenanceRuns(context.Context) ([]api.MaintenanceRun, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return runs.All(f.machine), nil
}

// MaintenanceRun implements api.Service.
func (f *Fake) MaintenanceRun(ctx context.Context, run int64) (*api.MaintenanceRun, error) {
	if err := api.CheckRun(run); err != nil {
		return nil, err
	}
	all, _ := f.MaintenanceRuns(ctx)
	return runs.Find(all, run)
}

// Maintenance implements api.Service.
func (f *Fake) Maintenance(context.Context) (*api.MaintenanceInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info := &api.MaintenanceInfo{
		Every: api.Duration(time.Hour), Grace: api.Duration(3 * time.Hour), ScanRate: 50_000, DeleteRate: 2_000, Batch: 200,
	}
	runs.Info(f.machine, info)
	return info, nil
}
