package main

import (
	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/jobs"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

func (p *program) retryCommand() *cli.Command {
	const cmd = "retry"
	return &cli.Command{
		Name: cmd, Usage: "run a task again that has failed, on the version it is pinned to or another one", ArgsUsage: "[ID]", Category: "tasks",
		Flags: clientFlags(append(append(whenFlags(cmd, "start"), massFlags(cmd)...),
			stringFlag(cmd, "version", "", "active, or a kept version of its behavior; without it the task keeps its own"),
			boolFlag(cmd, "keep-checkpoint", "with another --version: let it go on from the old one's checkpoint"),
			keyFlag(),
		)...),
		Action: p.client(many(jobs.Retry, retry)),
	}
}

func retry(c *cli.Context, cl *client) error {
	r := api.RetryRequest{
		Namespace: cl.namespace, ID: c.Args().First(), Version: c.String("version"), KeepCheckpoint: c.Bool("keep-checkpoint"),
	}
	var err error
	if r.Delay, r.NotBefore, r.Deadline, err = timesOf(c); err != nil {
		return err
	}
	if r.Version != "" && r.Version != "active" {
		t, err := cl.Task(cl.ctx, cl.namespace, r.ID, api.GetOptions{})
		if err != nil {
			return err
		}
		if r.Version, err = cl.keptVersion(t.Behavior, r.Version); err != nil {
			return err
		}
	}
	t, err := cl.Retry(cl.once(c), r)
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) { w.Row(show.Retried(t)) })
}

func (p *program) resubmitCommand() *cli.Command {
	const cmd = "resubmit"
	return &cli.Command{
		Name: cmd, Usage: "make a task due again, whatever its state, with new params if given", ArgsUsage: "[ID]", Category: "tasks",
		Flags: clientFlags(append(append(whenFlags(cmd, "start"), massFlags(cmd)...),
			paramsFlag(cmd), paramsBytesFlag(cmd),
			keyFlag(),
		)...),
		Action: p.client(many(jobs.Resubmit, resubmit)),
	}
}

func resubmit(c *cli.Context, cl *client) error {
	r := api.ResubmitRequest{Namespace: cl.namespace, ID: c.Args().First()}
	var err error
	if r.Params, r.ParamsBase64, err = cl.params(c); err != nil {
		return err
	}
	if r.Delay, r.NotBefore, r.Deadline, err = timesOf(c); err != nil {
		return err
	}
	reply, err := cl.Resubmit(cl.once(c), r)
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) { w.Printf("%s: %s\n", reply.Outcome, show.State(reply.Task)) })
}
