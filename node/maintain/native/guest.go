package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/api/runs"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
)

// codeMaintenance is the error code of a run that failed. The run's record says why.
const codeMaintenance = "maintenance_failed"

// Guest runs maintenance as a module is run: in a slot of the worker, under its session, with a token (SPEC M1).
type Guest struct {
	Config  maintain.Config
	Cluster maintain.Cluster
	Disks   maintain.Disks
	Now     func() time.Time // wall clock
}

var _ worker.Guest = Guest{}

// errCancelled ends a run that was told to end.
var errCancelled = fmt.Errorf("%w: cancelled", maintain.ErrStopped)

// Run implements worker.Guest.
func (g Guest) Run(ctx context.Context, a runtime.Attempt, host runtime.Host) runtime.Outcome {
	var params runs.Params
	var info abi.TaskInfo
	if len(a.Params) > 0 {
		if err := json.Unmarshal(a.Params, &params); err != nil {
			return failedRun("params: " + err.Error())
		}
	}
	if err := json.Unmarshal(a.InfoJSON(), &info); err != nil {
		return failedRun("task info: " + err.Error())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, a.RunTimeout, runtime.ErrKilledTimeout)
	defer cancel()
	run := maintain.New(g.Config, g.Cluster, g.Disks, maintain.Job{
		Run: info.Attempt, Token: info.Token, Worker: info.Worker, DryRun: params.DryRun,
		Progress: func(phase string, done int64) error { return heard(host.Beat(done, 0, []byte(phase))) },
	})
	out, err := run.Do(ctx)
	if err != nil {
		return g.broken(ctx, err)
	}
	host.Log(abi.LogInfo, []byte(summary(&out.Record)))
	if !out.Record.Success {
		return failedRun(out.Record.Message)
	}
	o := runtime.Outcome{Kind: runtime.Succeeded, HasResult: true, Result: totals(&out.Record)}
	if out.Again > 0 {
		o.NextTime = g.Now().Add(out.Again).UnixMilli()
	}
	return o
}

// heard turns the signals that the worker gives a guest into a reason to end, or nil.
func heard(s abi.Signals) error {
	switch {
	case s&abi.SignalLeaseLost != 0:
		return maintain.ErrHalt
	case s&abi.SignalCancel != 0:
		return errCancelled
	case s&abi.SignalDraining != 0:
		return maintain.ErrStopped
	}
	return nil
}

// broken is the outcome of a run that may say nothing more.
func (g Guest) broken(ctx context.Context, err error) runtime.Outcome {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, runtime.ErrKilledTimeout):
		return runtime.Outcome{Kind: runtime.Failed, Class: runtime.ClassTimeout, Code: runtime.CodeTimeout, Message: "the run took too long"}
	case ctx.Err() != nil:
		return runtime.Outcome{Kind: runtime.Killed, Cause: cause}
	case errors.Is(err, errCancelled):
		return runtime.Outcome{Kind: runtime.Cancelled, Message: "the run was cancelled"}
	case errors.Is(err, maintain.ErrStopped):
		return runtime.Outcome{Kind: runtime.Yielded}
	case errors.Is(err, maintain.ErrHalt):
		return runtime.Outcome{Kind: runtime.Killed, Cause: runtime.ErrKilledLease}
	}
	return failedRun(err.Error())
}

func failedRun(message string) runtime.Outcome {
	return runtime.Outcome{Kind: runtime.Failed, Class: runtime.ClassGuest, Code: codeMaintenance, Message: message}
}

// totals makes the result of a run. The details stand in its record.
func totals(rec *task.MaintenanceRun) []byte {
	var sum struct {
		DryRun   bool  `json:"dry_run"`
		Scanned  int64 `json:"scanned"`
		Retained int64 `json:"retained"`
		Newer    int64 `json:"newer"`
		Deleted  int64 `json:"deleted"`
	}
	sum.DryRun = rec.DryRun
	for i := range rec.Objects {
		o := &rec.Objects[i]
		sum.Scanned += o.Scanned
		sum.Retained += o.Retained
		sum.Newer += o.Newer
		sum.Deleted += o.Deleted
	}
	text, err := json.Marshal(sum)
	if err != nil {
		panic(err) // integers always marshal
	}
	return text
}

func summary(rec *task.MaintenanceRun) string {
	text := fmt.Sprintf("run %d: %s", rec.Run, totals(rec))
	if rec.Message != "" {
		text += ": " + rec.Message
	}
	return text
}
