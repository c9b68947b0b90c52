package main

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

func (p *program) waitCommand() *cli.Command {
	const cmd = "wait"
	return &cli.Command{
		Name: cmd, Usage: "wait for a task: its result on standard output, its error on standard error; for several: a table", ArgsUsage: "ID…", Category: "tasks",
		Flags: clientFlags(
			durationFlag(cmd, "timeout", "", "give up after this"),
			stringFlag(cmd, "until", "final", "final, running, waiting, success, failure, outcome (of a cycle), rev:N or attempt:N"),
			rawRefFlag(),
			boolFlag(cmd, "any", "of several tasks: wait for one, not for all"),
			columnsFlag(cmd),
		),
		Action: p.client(wait),
	}
}

func wait(c *cli.Context, cl *client) error {
	timeout, err := durationOf(c, "timeout")
	if err != nil {
		return err
	}
	if _, err := api.ParseUntil(lower(c, "until")); err != nil {
		return usagef(c, "%w", err)
	}
	if c.NArg() > 1 {
		return cl.awaitMany(c.Args().Slice(), lower(c, "until"), c.Bool("any"), timeout)
	}
	// The first look also says from which state to wait, so that "success" means a success after this command.
	// Every task has a rev: this look waits for a leader only, in the time of the wait.
	began := time.Now()
	t, err := cl.Task(cl.ctx, cl.namespace, c.Args().First(), api.GetOptions{Wait: cmp.Or(time.Duration(timeout), maxWait), Until: "rev:1"})
	if err != nil {
		return err
	}
	return cl.awaitUntil(t, lower(c, "until"), began, timeout)
}

// awaitCycle waits for the outcome of the cycle that t is in, as a submit has just answered it, and prints the
// outcome. A task that repeats is never final, and a failure that will be retried is no outcome (SPEC W1).
func (c *client) awaitCycle(t *api.Task, timeout api.Duration) error {
	if t.Final {
		return c.awaitUntil(t, "final", time.Now(), timeout)
	}
	return c.awaitUntil(t, "outcome", time.Now(), timeout)
}

// maxWait is "for ever".
const maxWait = time.Duration(math.MaxInt64) / 2

func (c *client) awaitUntil(t *api.Task, until string, began time.Time, timeout api.Duration) error {
	o := api.GetOptions{Wait: maxWait, Until: until, Since: t.Rev}
	if timeout > 0 {
		o.Wait = max(time.Duration(timeout)-time.Since(began), time.Millisecond)
	}
	stop := c.showProgress(t)
	t, err := c.Task(c.ctx, t.Namespace, t.ID, o)
	stop()
	if err != nil {
		return err
	}
	// An answer that comes after the whole time is the state at that moment. It is a time-out, unless the state is
	// what the command waited for.
	if !t.Final && timeout > 0 && time.Since(began) >= time.Duration(timeout) {
		if err := c.printJSON(); err != nil {
			return err
		}
		return exit.With(exit.TimedOut, fmt.Errorf("task %s: wait timed out after %v; it is %s%s", t.ID, time.Duration(timeout), show.State(t), show.Because(c.ctx, apiclient.NewInsight(c.Client), t)))
	}
	return c.printOutcome(t, until == "success" || until == "failure" || until == "outcome")
}

// awaitMany waits for all of several tasks, or for any one of them, and prints their states then. The exit code is 1
// if a task has failed or does not exist any more.
func (c *client) awaitMany(ids []string, until string, anyOne bool, timeout api.Duration) error {
	r := api.WaitRequest{Namespace: c.namespace, IDs: ids, Until: until, Mode: "all", Timeout: new(api.Duration(0))}
	if anyOne {
		r.Mode = "any"
	}
	end := time.Now().Add(cmp.Or(time.Duration(timeout), maxWait))
	var reply *api.WaitReply
	for left := time.Until(end); reply == nil || reply.TimedOut && left > 0; left = time.Until(end) {
		if reply != nil {
			r.Timeout = new(api.Duration(min(left, api.MaxWait*time.Second)))
		}
		next, err := c.WaitTasks(c.ctx, r)
		switch {
		case apiclient.Passes(err) && c.ctx.Err() == nil && left > 0: // nobody leads: the wait goes on
			continue
		case err != nil:
			return err
		case reply == nil: // the first look: only an outcome after this command counts, as in wait for one task
			for _, t := range next.Tasks {
				if t != nil {
					r.Since = max(r.Since, t.Rev)
				}
			}
		}
		reply = next
	}
	if err := c.print(func(w *terminal.Table) { show.Waited(w, ids, reply.Tasks) }); err != nil {
		return err
	}
	if reply.TimedOut {
		return exit.With(exit.TimedOut, fmt.Errorf("wait timed out after %v", time.Duration(timeout)))
	}
	for _, t := range reply.Tasks {
		if t == nil || t.Final && t.Status == "FAILURE" {
			return exit.With(exit.TaskFailed, nil)
		}
	}
	return nil
}

// printOutcome prints the result, or the error; a failure is exit code 1. outcome says that the command waited for an
// outcome, and t has one, also if the task runs again later.
func (c *client) printOutcome(t *api.Task, outcome bool) error {
	if err := c.printJSON(); err != nil {
		return err
	}
	switch {
	case !t.Final && (!outcome || t.Status != "SUCCESS" && t.Status != "FAILURE"):
		if c.json {
			return nil
		}
		return c.stdout.Printf("%s\n", show.State(t))
	case t.Status == "FAILURE":
		return failed("task "+t.ID, t.Error)
	case c.json:
		return nil
	}
	return show.Result(c.ctx, c.stdout, c.files, t.Result, t.ResultBase64)
}

// failed is the end of a command whose task or operation has failed.
func failed(what string, e *api.TaskError) error {
	if e == nil {
		return exit.With(exit.TaskFailed, fmt.Errorf("%s failed", what))
	}
	return exit.With(exit.TaskFailed, fmt.Errorf("%s failed: %s", what, show.Error(e)))
}
