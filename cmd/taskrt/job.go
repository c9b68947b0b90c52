package main

import (
	"context"

	"github.com/urfave/cli/v2"

	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/jobs"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/filters"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/mass"
)

func jobCommand(p *program) *cli.Command {
	all := boolFlag("job", "all-namespaces", "of all namespaces")
	return mass.JobCommand(clientFlags, all, func(do func(*cli.Context, *mass.Session) error) cli.ActionFunc {
		return p.client(func(c *cli.Context, cl *client) error { return do(c, cl.session(c)) })
	})
}

func (c *client) session(flags *cli.Context) *mass.Session {
	once := func() context.Context { return c.once(flags) }
	return &mass.Session{Jobs: apiclient.NewJobs(c.Client), Namespace: c.namespace, Context: c.ctx, Once: once, In: c.stdin, Err: c.stderr, Print: c.print}
}

// massFlags are flags by which a command means many tasks. many returns a command that then carries out a on them, and otherwise does one.
func massFlags(cmd string) []cli.Flag {
	return mass.Flags(mass.Kit{Kit: filters.Kit{String: stringFlag, List: listFlag}, Bool: boolFlag, Int: intFlag}, cmd)
}

func many(a jobs.Action, one func(*cli.Context, *client) error) func(*cli.Context, *client) error {
	return func(c *cli.Context, cl *client) error {
		meant, err := mass.Meant(c)
		switch {
		case err != nil:
			return err
		case meant:
			return cl.session(c).Run(c, a)
		}
		return one(c, cl)
	}
}
