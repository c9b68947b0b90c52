package show

import (
	"fmt"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/terminal"
)

// Operation shows an operation.
func Operation(w *terminal.Table, o *api.Operation) {
	row := w.Field
	row("id", o.ID)
	row("namespace", o.Namespace)
	row("behavior", o.Behavior)
	row("version", Digest(o.Version))
	row("target", OrDash(o.Target))
	row("object", OrDash(o.Object))
	row("instance", o.Instance)
	row("state", OperationState(o))
	row("partitions", o.Partitions)
	row("counts", OperationCounts(o))
	if o.Cleanups != (api.OperationCleanups{}) {
		row("cleanups", fmt.Sprintf("%d made, %d dropped", o.Cleanups.Made, o.Cleanups.Dropped))
	}
	row("priority", o.Priority)
	for _, name := range slices.Sorted(maps.Keys(o.Labels)) {
		row("label", name+"="+o.Labels[name])
	}
	if o.Arg != nil {
		row("arg", Clip(o.Arg, 200))
	}
	row("created", o.CreatedAt)
	row("finished", Time(o.FinishedAt))
	if o.Completion != "" {
		row("completion", o.Completion)
	}
	if o.Result != nil {
		row("result", Clip(o.Result, 200))
	}
	if o.Error != nil {
		row("error", Error(o.Error))
	}
}

// OperationState is an operation's state in a few words.
func OperationState(o *api.Operation) string {
	switch {
	case o.Stopping:
		return o.Status + ", being stopped"
	case o.Status == "FAILURE" && o.Error != nil:
		return o.Status + ": " + o.Error.Code
	}
	return o.Status
}

// OperationCounts says what the partitions do; the partitions that it does not mention have not begun.
func OperationCounts(o *api.Operation) string {
	n := o.Counts
	s := fmt.Sprintf("%d of %d done", n.Success+n.Failure, o.Partitions)
	for _, x := range []struct {
		n    int64
		word string
	}{{n.Running, "running"}, {n.Retrying, "retrying"}, {n.Failure, "failed"}} {
		if x.n > 0 {
			s += fmt.Sprintf(", %d %s", x.n, x.word)
		}
	}
	return s
}

// OperationBar shows how many partitions have ended.
func OperationBar(o *api.Operation) string {
	done := o.Counts.Success + o.Counts.Failure
	s := terminal.Bar(done, o.Partitions) + "  " + OperationCounts(o)
	if o.Status != "RUNNING" || o.Stopping {
		s += "  " + OperationState(o)
	}
	return s
}

var operationColumns = []Column[*api.Operation]{
	{Name: "ID", Cell: func(o *api.Operation) any { return o.ID }},
	{Name: "BEHAVIOR", Cell: func(o *api.Operation) any { return o.Behavior }},
	{Name: "TARGET", Cell: func(o *api.Operation) any { return OrDash(o.Target) }},
	{Name: "OBJECT", Cell: func(o *api.Operation) any { return OrDash(o.Object) }},
	{Name: "INSTANCE", Cell: func(o *api.Operation) any { return o.Instance }},
	{Name: "STATUS", Cell: func(o *api.Operation) any { return o.Status }},
	{Name: "DONE", Cell: func(o *api.Operation) any {
		return fmt.Sprintf("%d/%d", o.Counts.Success+o.Counts.Failure, o.Partitions)
	}},
	{Name: "FAILED", Cell: func(o *api.Operation) any { return o.Counts.Failure }},
	{Name: "AGE", Cell: func(o *api.Operation) any { return Age(o.CreatedAt) }},
	{Name: "ERROR", Cell: func(o *api.Operation) any { return code(o.Status, o.Error) }},
	{Name: "NAMESPACE", Wide: true, Cell: func(o *api.Operation) any { return o.Namespace }},
	{Name: "VERSION", Wide: true, Cell: func(o *api.Operation) any { return OrDash(Digest(o.Version)) }},
	{Name: "RUNNING", Wide: true, Cell: func(o *api.Operation) any { return o.Counts.Running }},
	{Name: "RETRYING", Wide: true, Cell: func(o *api.Operation) any { return o.Counts.Retrying }},
	{Name: "PRIORITY", Wide: true, Cell: func(o *api.Operation) any { return o.Priority }},
	{Name: "CREATED", Wide: true, Cell: func(o *api.Operation) any { return o.CreatedAt }},
	{Name: "FINISHED", Wide: true, Cell: func(o *api.Operation) any { return Time(o.FinishedAt) }},
	{Name: "LABELS", Wide: true, Cell: func(o *api.Operation) any { return labels(o.Labels) }},
	{Name: "BY", Wide: true, Cell: func(o *api.Operation) any { return OrDash(o.CreatedBy) }},
}

// Operations lists operations.
func Operations(w *terminal.Table, all []*api.Operation) { List(w, all, true, operationColumns) }
