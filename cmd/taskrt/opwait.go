package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
)

// operationPulse is how often the command looks at the counts of an operation: they change without a new rev.
const operationPulse = time.Second

// followOperation looks at an operation until it has ended, ctx ends, or see returns an error. see gets each state
// that differs from the state before.
func followOperation(ctx context.Context, cl *apiclient.Client, o *api.Operation, see func(*api.Operation) error) error {
	for {
		if err := see(o); err != nil || o.Final() {
			return err
		}
		last := *o
		for o.Rev == last.Rev && o.Counts == last.Counts && o.Cleanups == last.Cleanups {
			next, err := cl.Operation(ctx, o.Namespace, o.ID, api.OperationGet{Wait: operationPulse, Until: fmt.Sprintf("rev:%d", o.Rev+1)})
			if apiclient.Passes(err) && ctx.Err() == nil {
				continue // nobody leads: ctx says when to give up
			}
			if err != nil {
				return err
			}
			o = next
		}
	}
}

// opWatch prints a line for every change until the end. Changes of counts within a second are one line.
func opWatch(c *cli.Context, cl *client) error {
	timeout, err := durationOf(c, "timeout")
	if err != nil {
		return err
	}
	wait := cmp.Or(time.Duration(timeout), maxWait)
	ctx, cancel := context.WithTimeout(cl.ctx, wait)
	defer cancel()
	o, err := cl.Operation(cl.ctx, cl.namespace, c.Args().First(), api.OperationGet{Wait: wait, Until: "rev:1"}) // waits for a leader only
	if err != nil {
		return err
	}
	last := o
	err = followOperation(ctx, cl.Client, o, func(o *api.Operation) error {
		last = o
		return cl.operationLine(o)
	})
	switch {
	case err == nil:
	case ctx.Err() != nil && cl.ctx.Err() == nil:
		return operationTimedOut(last, timeout)
	default:
		return err
	}
	if last.Status == "FAILURE" {
		return exit.With(exit.TaskFailed, nil)
	}
	return nil
}

// operationLine prints a state; for programs it prints the API's JSON as it came.
func (c *client) operationLine(o *api.Operation) error {
	if c.json {
		return c.printJSON()
	}
	return c.stdout.Printf("%s  rev %d  %s, %s\n", api.Time{Time: time.Now()}, o.Rev, show.OperationState(o), show.OperationCounts(o))
}

func operationTimedOut(o *api.Operation, timeout api.Duration) error {
	return exit.With(exit.TimedOut, fmt.Errorf("operation %s: wait timed out after %v; it is %s, %s", o.ID, time.Duration(timeout), show.OperationState(o), show.OperationCounts(o)))
}

// awaitOperation waits for the end of an operation and prints its result, or its error: a failure is exit code 1.
func (c *client) awaitOperation(o *api.Operation, timeout api.Duration) error {
	stop := c.showOperation(o)
	o, err := c.Operation(c.ctx, o.Namespace, o.ID, api.OperationGet{Wait: cmp.Or(time.Duration(timeout), maxWait)})
	stop()
	if err != nil {
		return err
	}
	if err := c.printJSON(); err != nil {
		return err
	}
	switch {
	case !o.Final():
		return operationTimedOut(o, timeout)
	case o.Status == "FAILURE":
		return failed("operation "+o.ID, o.Error)
	case c.json:
		return nil
	}
	return show.Result(c.ctx, c.stdout, c.files, o.Result, o.ResultBase64)
}

// showOperation keeps a bar over the partitions on standard error while the command waits for the operation, if
// standard error is a terminal.
func (c *client) showOperation(o *api.Operation) (stop func()) {
	return c.whileWaiting(func(ctx context.Context, client *apiclient.Client, line func(string)) {
		_ = followOperation(ctx, client, o, func(o *api.Operation) error { // the wait itself says what is wrong
			line(show.OperationBar(o))
			return nil
		})
	})
}
