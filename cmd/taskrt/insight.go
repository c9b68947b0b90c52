package main

import (
	"github.com/urfave/cli/v2"

	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/filters"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

func failuresCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "failures", Usage: "count the tasks that have failed, by behavior, version and code", Category: "tasks",
		Flags: clientFlags(filters.FailureFlags(filters.Kit{List: listFlag, Int: intFlag}, "failures")...),
		Action: p.client(func(c *cli.Context, cl *client) error {
			reply, err := apiclient.NewInsight(cl.Client).Failures(cl.ctx, filters.ReadFailures(c, cl.namespace))
			if err != nil {
				return err
			}
			return cl.print(func(w *terminal.Table) { show.Failures(w, reply) })
		}),
	}
}

func whyCommand(p *program) *cli.Command {
	return &cli.Command{
		Name: "why", Usage: "say why a task waits", ArgsUsage: "ID", Category: "tasks", Flags: clientFlags(),
		Action: p.client(func(c *cli.Context, cl *client) error {
			r, err := apiclient.NewInsight(cl.Client).Why(cl.ctx, cl.namespace, c.Args().First())
			if err != nil {
				return err
			}
			return cl.print(func(w *terminal.Table) { show.Why(w, r) })
		}),
	}
}
