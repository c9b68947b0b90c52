package main

import (
	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api/jobs"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

func (p *program) cancelCommand() *cli.Command {
	return &cli.Command{
		Name: "cancel", Usage: "end a task as CANCELLED; one that runs is told to stop, then killed", ArgsUsage: "[ID]", Category: "tasks",
		Flags: clientFlags(append(massFlags("cancel"), keyFlag())...),
		Action: p.client(many(jobs.Cancel, func(c *cli.Context, cl *client) error {
			reply, err := cl.Cancel(cl.ctx, cl.namespace, c.Args().First())
			if err != nil {
				return err
			}
			return cl.print(func(w *terminal.Table) {
				if reply.Told {
					w.Row("told its worker to stop")
				} else {
					w.Printf("done: %s\n", show.State(reply.Task))
				}
			})
		})),
	}
}
