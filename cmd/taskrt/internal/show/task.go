package show

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/terminal"
)

// Task shows a task.
func Task(w *terminal.Table, t *api.Task) {
	row := w.Field
	row("id", t.ID)
	row("namespace", t.Namespace)
	row("behavior", t.Behavior)
	if t.Version != "" {
		row("version", Digest(t.Version))
	}
	row("state", State(t))
	row("final", t.Final)
	row("attempt", t.Attempt)
	if t.Failures > 0 {
		row("failures", t.Failures)
	}
	if t.LostCount > 0 {
		row("lost", t.LostCount)
	}
	row("priority", t.Priority)
	if t.Traceparent != "" {
		row("trace", t.Traceparent)
	}
	if t.Tracestate != "" {
		row("tracestate", t.Tracestate)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Labels)) {
		row("label", name+"="+t.Labels[name])
	}
	if t.Params != nil {
		row("params", Clip(t.Params, 200))
	}
	row("created", t.CreatedAt)
	row("started", Time(t.StartedAt))
	row("finished", Time(t.FinishedAt))
	if t.NotBefore != nil {
		row("not before", t.NotBefore)
	}
	if t.Deadline != nil {
		row("deadline", t.Deadline)
	}
	if t.Progress != nil {
		row("progress", Clip(t.Progress, 200))
	}
	if t.Result != nil {
		row("result", Clip(t.Result, 200))
	}
	if t.Error != nil {
		row("error", Error(t.Error))
	}
	for _, a := range t.History {
		what := fmt.Sprintf("%s by %s, %s to %s", a.Outcome, a.Worker, a.StartedAt, Time(a.FinishedAt))
		if a.FuelUsed > 0 {
			what += fmt.Sprintf(", fuel %d", a.FuelUsed)
		}
		if a.PeakMemoryBytes > 0 {
			what += fmt.Sprintf(", peak memory %d KiB", a.PeakMemoryBytes>>10)
		}
		row(fmt.Sprintf("attempt %d", a.Attempt), what)
	}
}

// State is a task's state in a few words.
func State(t *api.Task) string {
	s := t.Status
	if t.CancelRequested && !t.Final {
		s += ", being cancelled"
	}
	switch {
	case t.Lease != nil:
		s += fmt.Sprintf(", attempt %d on %s", t.Attempt, t.Lease.Worker)
	case t.NotBefore != nil && t.NotBefore.After(time.Now()):
		s += ", due " + t.NotBefore.String()
	case !t.Final && t.Attempt > 0:
		s += fmt.Sprintf(", after attempt %d", t.Attempt)
	}
	if t.Status == "FAILURE" && t.Error != nil {
		s += ": " + t.Error.Code
	}
	return s
}

// Error is an error's code, with the message if there is one.
func Error(e *api.TaskError) string { return strings.TrimSuffix(e.Code+": "+e.Message, ": ") }

// code is the code of what has failed, or "-".
func code(status string, e *api.TaskError) string {
	if status != "FAILURE" || e == nil {
		return "-"
	}
	return OrDash(e.Code)
}

// Retried is the state of a task after a retry. Until its next attempt begins a task is a FAILURE still, and State alone would say of one that is
// due what it said before the retry.
func Retried(t *api.Task) string {
	due := t.NotBefore == nil || !t.NotBefore.After(time.Now())
	if t.Final || t.Lease != nil || t.Status != "FAILURE" || !due {
		return State(t)
	}
	return fmt.Sprintf("FAILURE, due now, after attempt %d: %s", t.Attempt, code(t.Status, t.Error))
}

// Met says that a submit has met a task that was there.
func Met(r *api.SubmitReply) string {
	t := r.Task
	s := fmt.Sprintf("task %s was there: created %s, %s", t.ID, Ago(t.CreatedAt), State(t))
	if t.Version != "" {
		s += ", version " + Digest(t.Version)
	}
	if r.Outcome == "existing_other_params" {
		s += "; its params are others"
	}
	return s
}
