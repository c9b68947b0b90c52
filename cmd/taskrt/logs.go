package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

func (p *program) logsCommand() *cli.Command {
	return &cli.Command{
		Name: "logs", Usage: "print what a task's attempts logged", ArgsUsage: "ID", Category: "tasks",
		Flags: clientFlags(),
		Action: p.client(func(c *cli.Context, cl *client) error {
			reply, err := cl.Logs(cl.ctx, cl.namespace, c.Args().First())
			if err != nil {
				return err
			}
			if cl.json {
				return cl.printJSON()
			}
			for _, a := range reply.Attempts {
				err := cl.stdout.Printf("--- attempt %d\n", a.Attempt)
				if err == nil {
					err = cl.stdout.Content(strings.NewReader(endLine(a.Text)))
				}
				if err != nil {
					return err
				}
			}
			return nil
		}),
	}
}

func endLine(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
