package show

import (
	"maps"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/terminal"
)

var taskColumns = []Column[*api.Task]{
	{Name: "ID", Cell: func(t *api.Task) any { return t.ID }},
	{Name: "BEHAVIOR", Cell: func(t *api.Task) any { return t.Behavior }},
	{Name: "STATUS", Cell: func(t *api.Task) any { return t.Status }},
	{Name: "FINAL", Cell: func(t *api.Task) any { return t.Final }},
	{Name: "ATTEMPT", Cell: func(t *api.Task) any { return t.Attempt }},
	{Name: "AGE", Cell: func(t *api.Task) any { return Age(t.CreatedAt) }},
	{Name: "ERROR", Cell: func(t *api.Task) any { return code(t.Status, t.Error) }},
	{Name: "NAMESPACE", Wide: true, Cell: func(t *api.Task) any { return t.Namespace }},
	{Name: "VERSION", Wide: true, Cell: func(t *api.Task) any { return OrDash(Digest(t.Version)) }},
	{Name: "PRIORITY", Wide: true, Cell: func(t *api.Task) any { return t.Priority }},
	{Name: "FAILURES", Wide: true, Cell: func(t *api.Task) any { return t.Failures }},
	{Name: "LOST", Wide: true, Cell: func(t *api.Task) any { return t.LostCount }},
	{Name: "WORKER", Wide: true, Cell: func(t *api.Task) any { worker, _ := runner(t); return OrDash(worker) }},
	{Name: "NODE", Wide: true, Cell: func(t *api.Task) any { _, node := runner(t); return OrDash(node) }},
	{Name: "CREATED", Wide: true, Cell: func(t *api.Task) any { return t.CreatedAt }},
	{Name: "DUE", Wide: true, Cell: func(t *api.Task) any { return Time(t.NotBefore) }},
	{Name: "STARTED", Wide: true, Cell: func(t *api.Task) any { return Time(t.StartedAt) }},
	{Name: "FINISHED", Wide: true, Cell: func(t *api.Task) any { return Time(t.FinishedAt) }},
	{Name: "PARENT", Wide: true, Cell: func(t *api.Task) any { return OrDash(t.Parent) }},
	{Name: "LABELS", Wide: true, Cell: func(t *api.Task) any { return labels(t.Labels) }},
	{Name: "BY", Wide: true, Cell: func(t *api.Task) any { return OrDash(t.CreatedBy) }},
}

// Tasks lists tasks; head says that these are the first ones.
func Tasks(w *terminal.Table, tasks []*api.Task, head bool) { List(w, tasks, head, taskColumns) }

// runner is who runs a task, or ran its last attempt, and where.
func runner(t *api.Task) (worker, node string) {
	if t.Lease != nil {
		return t.Lease.Worker, t.Lease.Node
	}
	if n := len(t.History); n > 0 {
		return t.History[n-1].Worker, t.History[n-1].Node
	}
	return "", ""
}

func labels(all map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		pairs = append(pairs, name+"="+all[name])
	}
	return list(pairs)
}

// waited is a task that was waited for by its ID. A task that is nil was removed.
type waited struct {
	id   string
	task *api.Task
}

// Waited lists tasks that were waited for, by their IDs.
func Waited(w *terminal.Table, ids []string, tasks []*api.Task) {
	var all []waited
	for i, t := range tasks {
		all = append(all, waited{ids[i], t})
	}
	List(w, all, true, []Column[waited]{
		{Name: "ID", Cell: func(x waited) any { return x.id }},
		{Name: "FINAL", Cell: func(x waited) any { return x.task == nil || x.task.Final }},
		{Name: "STATE", Cell: func(x waited) any {
			if x.task == nil {
				return "removed"
			}
			return State(x.task)
		}},
	})
}

// Partitions lists the tasks of an operation's partitions.
func Partitions(w *terminal.Table, tasks []*api.Task) {
	own := []Column[*api.Task]{
		{Name: "PARTITION", Cell: func(t *api.Task) any { return t.Partition }},
		taskColumns[0],
		{Name: "FINAL", Cell: func(t *api.Task) any { return t.Final }},
		{Name: "STATE", Cell: func(t *api.Task) any { return State(t) }},
	}
	for _, c := range taskColumns {
		if c.Name != "ID" && c.Name != "FINAL" {
			c.Wide = true
			own = append(own, c)
		}
	}
	List(w, tasks, true, own)
}
