package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"
)

func (p *program) cancelCommand() *cli.Command {
	return &cli.Command{
		Name: "cancel", Usage: "end a task as CANCELLED; one that runs is told to stop, then killed", ArgsUsage: "ID", Category: "tasks",
		Flags: clientFlags(),
		Action: p.client(func(c *cli.Context, cl *client) error {
			reply, err := cl.Cancel(cl.ctx, cl.namespace, c.Args().First())
			if err != nil {
				return err
			}
			return cl.print(func(w io.Writer) {
				if reply.Told {
					fmt.Fprintln(w, "told its worker to stop")
				} else {
					fmt.Fprintln(w, "done:", state(reply.Task))
				}
			})
		}),
	}
}
