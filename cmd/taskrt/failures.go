package main

import (
	"github.com/urfave/cli/v2"

	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

func failuresCommand(p *program) *cli.Command {
	const cmd = "failures"
	return &cli.Command{
		Name: cmd, Usage: "count the tasks that have failed, by behavior, version and code", Category: "tasks",
		Flags: clientFlags(
			listFlag(cmd, "behavior", "of this behavior; * stands for any text; given several times: any of them"),
			listFlag(cmd, "error", "with this code of an error; given several times: any of them"),
			intFlag(cmd, "limit", insight.DefaultGroups, "groups; all others are counted together"),
		),
		Action: p.client(func(c *cli.Context, cl *client) error {
			r := insight.FailuresRequest{Namespace: cl.namespace, Behaviors: c.StringSlice("behavior"), Errors: c.StringSlice("error"), Limit: c.Int("limit")}
			reply, err := apiclient.NewInsight(cl.Client).Failures(cl.ctx, r)
			if err != nil {
				return err
			}
			return cl.print(func(w *terminal.Table) { show.Failures(w, reply) })
		}),
	}
}
