package main

import (
	"encoding/json"
	"io"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/input"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

func (p *program) opCommand() *cli.Command {
	const cmd = "op"
	return &cli.Command{
		Name: cmd, Usage: "run operations: one task per partition, a completion, one outcome", Category: "operations",
		Subcommands: []*cli.Command{
			{
				Name: "start", Usage: "start an operation; prints its ID", ArgsUsage: "BEHAVIOR",
				Flags: clientFlags(append(markFlags(cmd),
					stringFlag(cmd, "partitions", "1", "how many, or their names: a,b,c, or a JSON list, or @FILE with one, or - for standard input"),
					stringFlag(cmd, "target", "", "what it runs on; which operations may run on one target at the same time, the behavior says"),
					stringFlag(cmd, "object", "", "what of the target"),
					stringFlag(cmd, "arg", "", "given to every task: JSON, or @FILE, or - for standard input"),
					stringFlag(cmd, "id", "", "the operation's ID; without it one is drawn"),
					keyFlag(),
					boolFlag(cmd, "wait", "wait for the end: the result on standard output, an error on standard error"),
					durationFlag(cmd, "timeout", "", "with --wait: give up after this"),
					rawRefFlag(),
				)...),
				Action: p.client(opStart),
			},
			{Name: "get", Usage: "show an operation", ArgsUsage: "ID", Flags: clientFlags(), Action: p.client(opGet)},
			{
				Name: "list", Usage: "list operations in order of creation",
				Flags: clientFlags(append(pageFlags(cmd, "operations"),
					stringFlag(cmd, "status", "", "RUNNING, COMPLETING, SUCCESS or FAILURE"),
					stringFlag(cmd, "behavior", "", "of this behavior"),
					stringFlag(cmd, "target", "", "on this target"),
				)...),
				Action: p.client(opList),
			},
			{
				Name: "watch", Usage: "print what changes of an operation until it has ended", ArgsUsage: "ID",
				Flags: clientFlags(durationFlag(cmd, "timeout", "", "give up after this")), Action: p.client(opWatch),
			},
			{
				Name: "partitions", Usage: "list the tasks of an operation's partitions", ArgsUsage: "ID",
				Flags: clientFlags(append(pageFlags(cmd, "tasks"),
					stringFlag(cmd, "status", "", "CREATED, RUNNING, SUCCESS or FAILURE"),
				)...),
				Action: p.client(opPartitions),
			},
			{
				Name: "cancel", Usage: "cancel the partitions that have not ended; the completion runs all the same", ArgsUsage: "ID",
				Flags: clientFlags(), Action: p.client(opCancel),
			},
			{
				Name: "retry", Usage: "run again what failed of an operation that has failed", ArgsUsage: "ID",
				Flags: clientFlags(keyFlag()), Action: p.client(opRetry),
			},
			{
				Name: "rm", Usage: "delete an operation and its tasks; those that run are killed", ArgsUsage: "ID",
				Flags: clientFlags(), Action: p.client(opRemove),
			},
		},
	}
}

func opStart(c *cli.Context, cl *client) error {
	timeout, err := waitTimeout(c)
	if err != nil {
		return err
	}
	r := api.StartOperationRequest{
		Namespace: cl.namespace, ID: c.String("id"), Behavior: c.Args().First(), Target: c.String("target"), Object: c.String("object"),
	}
	if r.Partitions, err = readPartitions(c, cl.stdin); err != nil {
		return err
	}
	if r.Arg, err = input.JSON(c, "arg", cl.stdin, api.MaxBody); err != nil {
		return err
	}
	if r.Priority, r.Labels, err = marksOf(c); err != nil {
		return err
	}
	o, err := cl.StartOperation(cl.once(c), r)
	if err != nil {
		return err
	}
	if !c.Bool("wait") {
		return cl.print(func(w *terminal.Table) { w.Row(o.ID) })
	}
	return cl.awaitOperation(o, timeout)
}

// readPartitions reads --partitions.
func readPartitions(c *cli.Context, stdin io.Reader) (p api.Partitions, err error) {
	s := c.String("partitions")
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return api.Partitions{Count: n}, nil
	}
	if s != "" && s != "-" && s[0] != '@' && s[0] != '[' {
		names := splitList(s)
		return api.Partitions{Count: int64(len(names)), Names: names}, nil
	}
	text, err := input.JSON(c, "partitions", stdin, api.MaxBody)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, usagef(c, "--partitions %w", err)
	}
	return p, nil
}

func opGet(c *cli.Context, cl *client) error {
	o, err := cl.Operation(cl.ctx, cl.namespace, c.Args().First(), api.OperationGet{})
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) { show.Operation(w, o) })
}

func opList(c *cli.Context, cl *client) error {
	reply, err := cl.Operations(cl.ctx, api.OperationsRequest{
		Namespace: cl.namespace, Status: upper(c, "status"), Behavior: c.String("behavior"), Target: c.String("target"),
		Limit: c.Int("limit"), Cursor: c.String("cursor"),
	})
	if err != nil {
		return err
	}
	return cl.printPage(reply.Cursor, func(w *terminal.Table) { show.Operations(w, reply.Operations) })
}

func opPartitions(c *cli.Context, cl *client) error {
	reply, err := cl.Partitions(cl.ctx, api.PartitionsRequest{
		Namespace: cl.namespace, ID: c.Args().First(), Status: upper(c, "status"), Limit: c.Int("limit"), Cursor: c.String("cursor"),
	})
	if err != nil {
		return err
	}
	return cl.printPage(reply.Cursor, func(w *terminal.Table) { show.Partitions(w, reply.Tasks) })
}

func opCancel(c *cli.Context, cl *client) error {
	o, err := cl.CancelOperation(cl.ctx, cl.namespace, c.Args().First())
	return cl.printOperation(o, err)
}

func opRetry(c *cli.Context, cl *client) error {
	o, err := cl.RetryOperation(cl.once(c), cl.namespace, c.Args().First())
	return cl.printOperation(o, err)
}

func (c *client) printOperation(o *api.Operation, err error) error {
	if err != nil {
		return err
	}
	return c.print(func(w *terminal.Table) { w.Printf("%s, %s\n", show.OperationState(o), show.OperationCounts(o)) })
}

func opRemove(c *cli.Context, cl *client) error {
	return cl.RemoveOperation(cl.ctx, cl.namespace, c.Args().First())
}
