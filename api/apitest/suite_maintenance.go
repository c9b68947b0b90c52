package apitest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// maintained waits until a run has ended and returns its record.
func (s *suite) maintained(ctx context.Context, t *testing.T, run int64) *api.MaintenanceRun {
	t.Helper()
	s.attempted(ctx, t, run)
	got, err := s.MaintenanceRun(ctx, run)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// attempted waits until the attempt that is this run of the task of maintenance has ended.
func (s *suite) attempted(ctx context.Context, t *testing.T, run int64) {
	t.Helper()
	until := api.GetOptions{Wait: patience, Until: fmt.Sprintf("attempt:%d", run)}
	if _, err := s.Task(ctx, task.SystemNamespace, task.MaintenanceTask, until); err != nil {
		t.Fatal(err)
	}
}

// settled waits until no run is unfinished.
func (s *suite) settled(ctx context.Context, t *testing.T) *api.MaintenanceInfo {
	t.Helper()
	for {
		info, err := s.Maintenance(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if info.Unfinished == 0 {
			return info
		}
		s.attempted(ctx, t, info.Unfinished)
	}
}

// maintenance: a run can be asked for, is a task like any other, and leaves a record (SPEC M1, M4).
func (s *suite) maintenance(ctx context.Context, t *testing.T) {
	before := s.settled(ctx, t)
	if before.Every <= 0 || before.Grace <= 0 || before.ScanRate <= 0 || before.DeleteRate <= 0 || before.Batch <= 0 || before.NextRun == nil || before.Paused {
		t.Fatalf("set up as %+v", before)
	}
	var last int64
	for _, dry := range []bool{true, false} {
		started, err := s.StartMaintenance(ctx, api.MaintenanceRequest{DryRun: dry})
		if err != nil || started.Run <= last {
			t.Fatalf("start: %+v after run %d, %v", started, last, err)
		}
		last = started.Run
		got := s.maintained(ctx, t, last)
		if got.Run != last || got.Status != "SUCCESS" || !got.Success || got.DryRun != dry || got.Worker == "" || got.StartedAt == nil || got.Objects == nil {
			t.Errorf("record %+v", got)
		}
		if info := s.settled(ctx, t); info.Last == nil || info.Last.Run != last || info.NextRun == nil {
			t.Errorf("info %+v", info)
		}
	}
	x, err := s.Task(ctx, task.SystemNamespace, task.MaintenanceTask, api.GetOptions{})
	if err != nil || x.Behavior != task.MaintenanceBehavior || x.Attempt != last || x.Final || x.Status != "SUCCESS" {
		t.Errorf("the task: %+v, %v", x, err)
	}
	all, err := s.MaintenanceRuns(ctx)
	if err != nil || len(all) < 2 || all[0].Run != last || all[1].Run != last-1 {
		t.Errorf("runs %+v, %v", all, err)
	}
}

// pauseMaintenance lets no run begin until resume is called.
func (s *suite) pauseMaintenance(ctx context.Context, t *testing.T) (resume func()) {
	t.Helper()
	pause := func(on bool) {
		t.Helper()
		if _, err := s.PauseBehavior(ctx, task.SystemNamespace, task.MaintenanceBehavior, on); err != nil {
			t.Fatal(err)
		}
	}
	pause(true)
	return func() { pause(false) }
}

// maintenanceRefused: a refusal names the unfinished run, which can be superseded by its number only (SPEC M1).
func (s *suite) maintenanceRefused(ctx context.Context, t *testing.T) {
	s.settled(ctx, t)
	resume := s.pauseMaintenance(ctx, t)
	defer resume()
	started, err := s.StartMaintenance(ctx, api.MaintenanceRequest{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := s.MaintenanceRun(ctx, started.Run)
	if err != nil || waiting.Status != "WAITING" || !waiting.DryRun || waiting.StartedAt != nil {
		t.Errorf("waiting: %+v, %v", waiting, err)
	}
	if info, err := s.Maintenance(ctx); err != nil || !info.Paused || info.Unfinished != started.Run {
		t.Errorf("info %+v, %v", info, err)
	}
	if again, err := s.StartMaintenance(ctx, api.MaintenanceRequest{DryRun: true}); err != nil || again.Run != started.Run {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	for _, c := range []struct {
		code, field string
		run         int64
		r           api.MaintenanceRequest
	}{
		{"maintenance_running", "", started.Run, api.MaintenanceRequest{}},
		{"run_not_found", "supersede_run", started.Run, api.MaintenanceRequest{SupersedeRun: started.Run + 1}},
		{"invalid_field", "supersede_run", 0, api.MaintenanceRequest{SupersedeRun: -1}},
	} {
		_, err := s.StartMaintenance(ctx, c.r)
		wantError(t, err, c.code, c.field)
		if e, ok := errors.AsType[*api.Error](err); ok && e.Run != c.run {
			t.Errorf("%+v: the refusal names run %d, not %d", c.r, e.Run, c.run)
		}
	}
	other, err := s.StartMaintenance(ctx, api.MaintenanceRequest{SupersedeRun: started.Run})
	if err != nil {
		t.Fatal(err)
	}
	resume()
	if got := s.maintained(ctx, t, other.Run); got.DryRun || !got.Success {
		t.Errorf("what superseded it: %+v", got)
	}
	s.settled(ctx, t)
	for _, run := range []int64{0, -1} {
		_, err := s.MaintenanceRun(ctx, run)
		wantError(t, err, "invalid_field", "run")
	}
	_, err = s.MaintenanceRun(ctx, 1<<40)
	wantError(t, err, "run_not_found", "run")
	_, err = s.StartMaintenance(ctx, api.MaintenanceRequest{SupersedeRun: other.Run})
	wantError(t, err, "run_not_found", "supersede_run") // because the run has finished
}
