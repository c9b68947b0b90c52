package main

import (
	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/observe"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/reach"
)

// observeCommand prints what monitoring needs (SPEC U2).
func observeCommand(p *program) *cli.Command {
	return observe.Command(observe.Kit{
		Out: p.stdout.Exact(), String: stringFlag, List: listFlag, Reach: append([]cli.Flag{serverFlag()}, reach.Flags(trustFlag)...),
		Online: func(do func(*cli.Context, func() (*api.Cluster, error)) error) cli.ActionFunc {
			return p.client(func(c *cli.Context, cl *client) error {
				return do(c, func() (*api.Cluster, error) { return cl.Cluster(cl.ctx) })
			})
		},
	})
}
