package main

import (
	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api/jobs"
)

func (p *program) rmCommand() *cli.Command {
	return &cli.Command{
		Name: "rm", Usage: "delete a task's record; one that runs is killed", ArgsUsage: "[ID]", Category: "tasks",
		Flags: clientFlags(append(massFlags("rm"), keyFlag())...),
		Action: p.client(many(jobs.Remove, func(c *cli.Context, cl *client) error {
			return cl.Remove(cl.ctx, cl.namespace, c.Args().First())
		})),
	}
}
