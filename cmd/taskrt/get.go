package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
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
		row("version", short(t.Version))
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
		row("params", clip(t.Params, 200))
	}
	row("created", t.CreatedAt)
	row("started", shortTime(t.StartedAt))
	row("finished", shortTime(t.FinishedAt))
	if t.NotBefore != nil {
		row("not before", t.NotBefore)
	}
	if t.Deadline != nil {
		row("deadline", t.Deadline)
	}
	if t.Progress != nil {
		row("progress", clip(t.Progress, 200))
	}
	if t.Result != nil {
		row("result", clip(t.Result, 200))
	}
	if t.Error != nil {
		row("error", errorText(t.Error))
	}
	for _, a := range t.History {
		what := fmt.Sprintf("%s by %s, %s to %s", a.Outcome, a.Worker, a.StartedAt, shortTime(a.FinishedAt))
		if a.FuelUsed > 0 {
			what += fmt.Sprintf(", fuel %d", a.FuelUsed)
		}
		row(fmt.Sprintf("attempt %d", a.Attempt), what)
	}
}
