package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/follow"
)

func (p *program) logsCommand() *cli.Command {
	const cmd = "logs"
	return &cli.Command{
		Name: cmd, Usage: "print what a task's attempts logged", ArgsUsage: "ID", Category: "tasks",
		Flags: clientFlags(
			boolFlag(cmd, "follow", "go on with what they log, until the task is final; with -o json each piece is a line"),
			durationFlag(cmd, "timeout", "", "with --follow: give up after this"),
		),
		Action: p.client(logs),
	}
}

func logs(c *cli.Context, cl *client) error {
	timeout, err := durationOf(c, "timeout")
	if err != nil {
		return err
	}
	id, to := c.Args().First(), follow.Print{Out: cl.stdout}
	if cl.json {
		to.Encode = cl.answers.Encode
	}
	if !c.Bool("follow") {
		reply, err := cl.Logs(cl.ctx, cl.namespace, id, api.LogsGet{})
		if err != nil {
			return err
		}
		if cl.json {
			return cl.printJSON()
		}
		return to.All(reply.Attempts)
	}
	ctx, cancel := context.WithTimeout(cl.ctx, cmp.Or(time.Duration(timeout), maxWait))
	defer cancel()
	err = (&follow.Log{Of: cl.Client, Namespace: cl.namespace, ID: id}).Follow(ctx, to.Piece)
	if err != nil && ctx.Err() != nil && cl.ctx.Err() == nil {
		err = exit.With(exit.TimedOut, fmt.Errorf("task %s is not final after %v", id, time.Duration(timeout)))
	}
	return errors.Join(to.End(), err)
}
