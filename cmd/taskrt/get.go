package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

func (p *program) getCommand() *cli.Command {
	return &cli.Command{
		Name: "get", Usage: "show a task", ArgsUsage: "ID", Category: "tasks",
		Flags: clientFlags(),
		Action: p.client(func(c *cli.Context, cl *client) error {
			t, err := cl.Task(cl.ctx, cl.namespace, c.Args().First(), api.GetOptions{})
			if err != nil {
				return err
			}
			return cl.print(func(w *terminal.Table) { describeTask(w, t) })
		}),
	}
}

func describeTask(w *terminal.Table, t *api.Task) {
	row := w.Field
	row("id", t.ID)
	row("namespace", t.Namespace)
	row("behavior", t.Behavior)
	if t.Version != "" {
		row("version", show.Digest(t.Version))
	}
	row("state", state(t))
	row("final", t.Final)
	row("attempt", t.Attempt)
	if t.Failures > 0 {
		row("failures", t.Failures)
	}
	if t.LostCount > 0 {
		row("lost", t.LostCount)
	}
	row("priority", t.Priority)
	for _, name := range slices.Sorted(maps.Keys(t.Labels)) {
		row("label", name+"="+t.Labels[name])
	}
	if t.Params != nil {
		row("params", show.Clip(t.Params, 200))
	}
	row("created", t.CreatedAt)
	row("started", show.Time(t.StartedAt))
	row("finished", show.Time(t.FinishedAt))
	if t.NotBefore != nil {
		row("not before", t.NotBefore)
	}
	if t.Deadline != nil {
		row("deadline", t.Deadline)
	}
	if t.Progress != nil {
		row("progress", show.Clip(t.Progress, 200))
	}
	if t.Result != nil {
		row("result", show.Clip(t.Result, 200))
	}
	if t.Error != nil {
		row("error", errorText(t.Error))
	}
	for _, a := range t.History {
		what := fmt.Sprintf("%s by %s, %s to %s", a.Outcome, a.Worker, a.StartedAt, show.Time(a.FinishedAt))
		if a.FuelUsed > 0 {
			what += fmt.Sprintf(", fuel %d", a.FuelUsed)
		}
		row(fmt.Sprintf("attempt %d", a.Attempt), what)
	}
}
