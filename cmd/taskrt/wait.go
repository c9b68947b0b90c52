package main

import (
	"fmt"
	"math"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
)

func (p *program) waitCommand() *cli.Command {
	const cmd = "wait"
	return &cli.Command{
		Name: cmd, Usage: "wait for a task: its result on standard output, its error on standard error", ArgsUsage: "ID", Category: "tasks",
		Flags: clientFlags(
			durationFlag(cmd, "timeout", "", "give up after this"),
			stringFlag(cmd, "until", "final", "final, running, waiting, success, failure, rev:N or attempt:N"),
		),
		Action: p.client(wait),
	}
}

func wait(c *cli.Context, cl *client) error {
	timeout, err := durationOf(c, "timeout")
	if err != nil {
		return err
	}
	if _, err := api.ParseUntil(c.String("until")); err != nil {
		return usagef(c, "%w", err)
	}
	// The first look also says what to be waiting from, so that "success" means one that comes after this command.
	t, err := cl.Task(cl.ctx, cl.namespace, c.Args().First(), api.GetOptions{})
	if err != nil {
		return err
	}
	return cl.awaitUntil(t, c.String("until"), timeout)
}

// await waits for the outcome of t and prints it.
func (c *client) await(t *api.Task, timeout api.Duration) error {
	return c.awaitUntil(t, "final", timeout)
}

// maxWait is "for ever".
const maxWait = time.Duration(math.MaxInt64) / 2

func (c *client) awaitUntil(t *api.Task, until string, timeout api.Duration) error {
	o := api.GetOptions{Wait: maxWait, Until: until, Since: t.Rev}
	if timeout > 0 {
		o.Wait = time.Duration(timeout)
	}
	began := time.Now()
	stop := c.showProgress(t)
	t, err := c.Task(c.ctx, t.Namespace, t.ID, o)
	stop()
	if err != nil {
		return err
	}
	// An answer after the whole time is the state as it then was, unless that is what was waited for.
	if !t.Final && timeout > 0 && time.Since(began) >= o.Wait {
		if err := c.printJSON(); err != nil {
			return err
		}
		return &exitError{exitTimeout, fmt.Errorf("task %s: wait timed out after %v; it is %s", t.ID, time.Duration(timeout), state(t))}
	}
	return c.printOutcome(t)
}

func (c *client) printJSON() error {
	if !c.json {
		return nil
	}
	_, err := c.stdout.Write(c.meta.Body())
	return err
}

// printOutcome prints the result, or the error; a failure is exit code 1.
func (c *client) printOutcome(t *api.Task) error {
	if err := c.printJSON(); err != nil {
		return err
	}
	switch {
	case !t.Final:
		if !c.json {
			fmt.Fprintln(c.stdout, state(t))
		}
		return nil
	case t.Status == "FAILURE":
		if t.Error == nil {
			return &exitError{exitTaskFailed, fmt.Errorf("task %s failed", t.ID)}
		}
		return &exitError{exitTaskFailed, fmt.Errorf("task %s failed: %s: %s", t.ID, t.Error.Code, t.Error.Message)}
	case c.json:
		return nil
	case t.ResultBase64 != nil:
		_, err := c.stdout.Write(t.ResultBase64)
		return err
	}
	result := t.Result
	if result == nil {
		result = []byte("null")
	}
	_, err := fmt.Fprintf(c.stdout, "%s\n", result)
	return err
}

// state is a task's state in a few words.
func state(t *api.Task) string {
	s := t.Status
	if t.CancelRequested && !t.Final {
		s += ", being cancelled"
	}
	switch {
	case t.Lease != nil:
		s += fmt.Sprintf(", attempt %d on %s", t.Attempt, t.Lease.Worker)
	case t.NotBefore != nil && t.NotBefore.After(time.Now()):
		s += ", due " + t.NotBefore.String()
	case !t.Final && t.Attempt > 0:
		s += fmt.Sprintf(", after attempt %d", t.Attempt)
	}
	if t.Status == "FAILURE" && t.Error != nil {
		s += ": " + t.Error.Code
	}
	return s
}
