package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/follow"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/top"
)

func topCommand(p *program) *cli.Command {
	const cmd = "top"
	return &cli.Command{
		Name: cmd, Usage: "show what the behaviors and workers do now: on a terminal again and again, elsewhere once", Category: "tasks",
		Flags: clientFlags(
			durationFlag(cmd, "every", follow.Every.String(), "how often, at least "+top.MinEvery.String()),
			boolFlag(cmd, "once", "once on a terminal, too"),
		),
		Action: p.client(showTop),
	}
}

func showTop(c *cli.Context, cl *client) error {
	every, err := durationOf(c, "every")
	if err != nil {
		return err
	}
	if time.Duration(every) < top.MinEvery {
		return usagef(c, "--every is at least %v", top.MinEvery)
	}
	r := top.Run{Client: cl.Client, Namespace: cl.namespace, Every: time.Duration(every), Once: c.Bool("once"), Out: cl.stdout, Columns: cl.columns}
	if cl.json {
		r.Encode = cl.answers.Encode
	}
	return r.Show(cl.ctx)
}
