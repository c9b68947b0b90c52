package show

import (
	"fmt"
	"strconv"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/terminal"
)

// Maintenance shows how maintenance is set up, and what it does now.
func Maintenance(w *terminal.Table, info *api.MaintenanceInfo) {
	row := w.Field
	every := "only on demand"
	if info.Every > 0 {
		every = time.Duration(info.Every).String()
	}
	row("every", every)
	row("paused", info.Paused)
	row("status", OrDash(info.Status))
	row("next run", Time(info.NextRun))
	row("unfinished run", orDash0(info.Unfinished))
	row("grace", time.Duration(info.Grace))
	row("scans per second", info.ScanRate)
	row("deletes per second", info.DeleteRate)
	row("batch", info.Batch)
	if info.Last != nil {
		row("last run", fmt.Sprintf("%d, %s, %s", info.Last.Run, info.Last.Status, Ago(*info.Last.FinishedAt)))
	}
}

func orDash0(n int64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

// Runs lists runs of maintenance.
func Runs(w *terminal.Table, runs []api.MaintenanceRun) {
	List(w, runs, true, []Column[api.MaintenanceRun]{
		{Name: "RUN", Cell: func(r api.MaintenanceRun) any { return r.Run }},
		{Name: "STATUS", Cell: func(r api.MaintenanceRun) any { return r.Status }},
		{Name: "DRY", Cell: func(r api.MaintenanceRun) any { return r.DryRun }},
		{Name: "STARTED", Cell: func(r api.MaintenanceRun) any { return Time(r.StartedAt) }},
		{Name: "TOOK", Cell: func(r api.MaintenanceRun) any { return took(&r) }},
		{Name: "WORKER", Cell: func(r api.MaintenanceRun) any { return OrDash(r.Worker) }},
		{Name: "SCANNED", Cell: func(r api.MaintenanceRun) any { return totalsOf(&r).Scanned }},
		{Name: "RETAINED", Cell: func(r api.MaintenanceRun) any { return totalsOf(&r).Retained }},
		{Name: "NEWER", Cell: func(r api.MaintenanceRun) any { return totalsOf(&r).Newer }},
		{Name: "DELETED", Cell: func(r api.MaintenanceRun) any { return totalsOf(&r).Deleted }},
		{Name: "MESSAGE", Cell: func(r api.MaintenanceRun) any { return OrDash(terminal.Clip(r.Message, 80)) }},
		{Name: "FINISHED", Wide: true, Cell: func(r api.MaintenanceRun) any { return Time(r.FinishedAt) }},
	})
}

func took(r *api.MaintenanceRun) string {
	if r.StartedAt == nil || r.FinishedAt == nil {
		return "-"
	}
	return r.FinishedAt.Sub(r.StartedAt.Time).Round(time.Millisecond).String()
}

// totalsOf adds up the lines of a run.
func totalsOf(r *api.MaintenanceRun) (sum api.MaintenanceCount) {
	for _, o := range r.Objects {
		sum.Scanned += o.Scanned
		sum.Retained += o.Retained
		sum.Newer += o.Newer
		sum.Deleted += o.Deleted
	}
	return sum
}

// Run shows a record, and then its counts.
func Run(w *terminal.Table, r *api.MaintenanceRun) {
	row := w.Field
	row("run", r.Run)
	row("status", r.Status)
	row("dry run", r.DryRun)
	row("worker", OrDash(r.Worker))
	row("started", Time(r.StartedAt))
	row("finished", Time(r.FinishedAt))
	if r.Message != "" {
		row("message", r.Message)
	}
	if r.SucceededBy != 0 {
		row("succeeded by", r.SucceededBy)
	}
	row("nothing deleted from", Time(r.Before))
	row("filter", fmt.Sprintf("%d marks in %d bits, false positives %.2g", r.Filter.Items, r.Filter.Bits, r.Filter.FalsePositiveRate))
	if len(r.Objects) == 0 {
		return
	}
	w.Printf("\n")
	w.Row("KIND", "NAMESPACE", "SCANNED", "RETAINED", "NEWER", "DELETED")
	for _, o := range r.Objects {
		w.Row(o.Kind, OrDash(o.Namespace), o.Scanned, o.Retained, o.Newer, o.Deleted)
	}
}
