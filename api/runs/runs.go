// Package runs shows the runs of maintenance that the state machine remembers, as the API shows them (SPEC M1, M4). The
// packages below node use it.
package runs

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// Params are the params of a run that somebody asked for. A run that repeats has none.
type Params struct {
	DryRun bool `json:"dry_run,omitempty"`
}

// Command returns the command that does what a request asks for.
func Command(r *api.MaintenanceRequest) task.StartMaintenance {
	text, err := json.Marshal(Params{DryRun: r.DryRun})
	if err != nil {
		panic(err) // cannot happen: a bool always marshals
	}
	return task.StartMaintenance{Params: task.Payload{Encoding: task.JSON, Data: text}, Supersede: r.SupersedeRun}
}

// Refusal adds to a refusal the number of the run that is unfinished.
func Refusal(e *api.Error, r *task.Result) {
	if r.Code != task.MaintenanceRunning && r.Code != task.RunNotFound || r.Task == nil {
		return
	}
	e.Run = task.UnfinishedRun(r.Task)
	e.Detail = "no run of maintenance is unfinished"
	if e.Run != 0 {
		e.Detail = fmt.Sprintf("run %d of maintenance is unfinished", e.Run)
	}
}

// All returns the runs that are remembered, the newest first. A run that was asked for and has not begun comes first of all.
func All(m *task.Machine) []api.MaintenanceRun {
	all := []api.MaintenanceRun{}
	if t := m.Task(task.MaintenanceKey()); t != nil {
		if n := task.UnfinishedRun(t); n > t.Attempt {
			all = append(all, waiting(t, n))
		}
	}
	for _, r := range m.MaintenanceRuns() {
		all = append(all, show(r))
	}
	return all
}

// Find returns the run of this number among all, which All returned.
func Find(all []api.MaintenanceRun, run int64) (*api.MaintenanceRun, error) {
	for i := range all {
		if all[i].Run == run {
			return &all[i], nil
		}
	}
	return nil, api.FieldError(string(task.RunNotFound), "run", "no run %d of maintenance is remembered", run)
}

func waiting(t *task.Task, run int64) api.MaintenanceRun {
	return api.MaintenanceRun{Run: run, Status: "WAITING", DryRun: dryRun(t), Objects: []api.MaintenanceCount{}}
}

// dryRun reports whether the run that the task makes, or will make, is a dry run.
func dryRun(t *task.Task) bool {
	var params Params
	return json.Unmarshal(t.Params.Data, &params) == nil && params.DryRun
}

func show(r *task.MaintenanceRun) api.MaintenanceRun {
	run := api.MaintenanceRun{
		Run: r.Run, Status: status(r), Worker: r.Worker, DryRun: r.DryRun, Success: r.Success, Message: r.Message, SucceededBy: r.By,
		StartedAt: api.TimeOrNil(r.StartedAt), FinishedAt: api.TimeOrNil(r.FinishedAt), Before: api.TimeOrNil(max(r.Before, 0)),
		Objects: make([]api.MaintenanceCount, len(r.Objects)),
		Filter: api.MaintenanceFilter{
			Items: r.Filter.Items, Bits: r.Filter.Bits, Hashes: r.Filter.Hashes, FalsePositiveRate: float64(r.Filter.PPB) / 1e9,
		},
	}
	for i, o := range r.Objects {
		run.Objects[i] = api.MaintenanceCount{
			Kind: o.Kind, Namespace: o.Namespace, Scanned: o.Scanned, Retained: o.Retained, Newer: o.Newer, Deleted: o.Deleted,
		}
	}
	return run
}

func status(r *task.MaintenanceRun) string {
	switch {
	case r.Ended != "":
		return strings.ToUpper(r.Ended)
	case r.FinishedAt == 0:
		return task.Running.String()
	case r.Success:
		return task.Success.String()
	}
	return task.Failure.String()
}

// Info fills in what the state knows of GET /v1/maintenance.
func Info(m *task.Machine, info *api.MaintenanceInfo) {
	if b := m.Behavior(task.SystemNamespace, task.MaintenanceBehavior); b != nil {
		info.Paused = b.Paused
	}
	if t := m.Task(task.MaintenanceKey()); t != nil {
		info.Status, info.Unfinished = t.Status.String(), task.UnfinishedRun(t)
		if t.NotBefore != task.MaxTime { // it repeats, or was asked for
			info.NextRun = api.TimeOrNil(int64(t.NotBefore))
		}
	}
	for _, r := range m.MaintenanceRuns() {
		if r.FinishedAt != 0 {
			last := show(r)
			info.Last = &last
			return
		}
	}
}
