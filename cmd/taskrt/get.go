package main

import (
	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

func (p *program) getCommand() *cli.Command {
	return &cli.Command{
		Name: "get", Usage: "show a task", ArgsUsage: "ID", Category: "tasks", Flags: clientFlags(),
		Action: p.client(func(c *cli.Context, cl *client) error {
			t, err := cl.Task(cl.ctx, cl.namespace, c.Args().First(), api.GetOptions{})
			if err != nil {
				return err
			}
			return cl.print(func(w *terminal.Table) { show.Task(w, t); show.Waiting(cl.ctx, w, apiclient.NewInsight(cl.Client), t) })
		}),
	}
}
