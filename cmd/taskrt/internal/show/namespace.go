package show

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/terminal"
)

// Namespace shows a namespace, its limits, and what it holds.
func Namespace(w *terminal.Table, n *api.Namespace) {
	row := w.Field
	row("name", n.Name)
	row("status", n.Status)
	row("tasks", ofLimit(n.Usage.Tasks, n.Quota.MaxTasks))
	row("running", ofLimit(n.Usage.Running, n.Share.MaxRunning))
	if n.Share.Weight > 0 {
		row("weight", n.Share.Weight)
	}
	row("bytes", ofLimit(n.Usage.Bytes, n.Quota.MaxBytes))
	row("operations", n.Usage.Operations)
	row("records", n.Usage.Records)
	row("behaviors", n.Usage.Behaviors)
	if rate := n.Quota.SubmitsPerSecond; rate > 0 {
		row("submits per second", rate)
	}
	row("keep success", keepText(n.Retention.Success))
	row("keep failure", keepText(n.Retention.Failure))
	if n.Retention.Count > 0 {
		row("keep count", n.Retention.Count)
	}
	if n.Usage.Forever > 0 {
		row("kept for ever", n.Usage.Forever)
	}
	if n.Usage.Excess > 0 {
		row("too many to be kept for ever", n.Usage.Excess)
	}
	row("created", Time(n.CreatedAt))
}

// Namespaces lists namespaces.
func Namespaces(w *terminal.Table, all []api.Namespace) {
	List(w, all, true, []Column[api.Namespace]{
		{Name: "NAME", Cell: func(n api.Namespace) any { return n.Name }},
		{Name: "STATUS", Cell: func(n api.Namespace) any { return n.Status }},
		{Name: "TASKS", Cell: func(n api.Namespace) any { return ofLimit(n.Usage.Tasks, n.Quota.MaxTasks) }},
		{Name: "RUNNING", Cell: func(n api.Namespace) any { return n.Usage.Running }},
		{Name: "BYTES", Cell: func(n api.Namespace) any { return ofLimit(n.Usage.Bytes, n.Quota.MaxBytes) }},
		{Name: "OPERATIONS", Cell: func(n api.Namespace) any { return n.Usage.Operations }},
		{Name: "RECORDS", Cell: func(n api.Namespace) any { return n.Usage.Records }},
		{Name: "BEHAVIORS", Cell: func(n api.Namespace) any { return n.Usage.Behaviors }},
		{Name: "WEIGHT", Wide: true, Cell: func(n api.Namespace) any { return orDash0(n.Share.Weight) }},
		{Name: "MAX-RUNNING", Wide: true, Cell: func(n api.Namespace) any { return orDash0(n.Share.MaxRunning) }},
		{Name: "KEEP-SUCCESS", Wide: true, Cell: func(n api.Namespace) any { return keepText(n.Retention.Success) }},
		{Name: "KEEP-FAILURE", Wide: true, Cell: func(n api.Namespace) any { return keepText(n.Retention.Failure) }},
		{Name: "CREATED", Wide: true, Cell: func(n api.Namespace) any { return Time(n.CreatedAt) }},
	})
}

// ofLimit says how many there are, and how many there may be.
func ofLimit(n, limit int64) string {
	if limit == 0 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%d of %d", n, limit)
}

func keepText(k api.Keep) string {
	if k == (api.Keep{}) {
		return "default"
	}
	return k.String()
}

// Imported shows what an import has taken up.
func Imported(w *terminal.Table, n *api.ImportReply) {
	w.Field("tasks", n.Tasks)
	w.Field("operations", n.Operations)
	w.Field("records", n.Records)
	w.Field("behaviors", n.Behaviors)
	w.Field("modules", n.Modules)
	w.Field("blobs", n.Blobs)
	w.Field("were there", n.Skipped)
	if n.Rehashed > 0 {
		w.Field("rehashed", n.Rehashed)
	}
	if n.ForeignIDs > 0 {
		w.Field("foreign IDs", fmt.Sprintf("%d; they follow from params in the namespace that was exported: equal submits make other tasks here. --rehash gives those of this one", n.ForeignIDs))
	}
}

// Refusals says which lines of an export were refused.
func Refusals(n *api.ImportReply) error {
	text := fmt.Sprintf("%d lines were refused, the others taken up", n.Refused)
	for _, r := range n.Refusals {
		field := ""
		if r.Field != "" {
			field = r.Field + ": "
		}
		text += fmt.Sprintf("\nline %d: %s: %s%s", r.Line, r.Code, field, r.Detail)
	}
	return errors.New(text)
}
