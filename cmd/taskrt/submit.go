package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

func (p *program) submitCommand() *cli.Command {
	const cmd = "submit"
	return &cli.Command{
		Name: cmd, Usage: "create a task, or meet an existing one; prints its ID", ArgsUsage: "BEHAVIOR", Category: "tasks",
		Flags: clientFlags(append(append(whenFlags(cmd, "start"), markFlags(cmd)...),
			paramsFlag(cmd), paramsBytesFlag(cmd),
			stringFlag(cmd, "id", "", "the task's ID; without it the behavior decides"),
			stringFlag(cmd, "if-exists", "", "join (default), fail, rerun or resubmit"),
			keyFlag(),
			boolFlag(cmd, "wait", "wait for the outcome: the result on standard output, an error on standard error"),
			durationFlag(cmd, "timeout", "", "with --wait: give up after this"),
			rawRefFlag(),
		)...),
		Action: p.client(submit),
	}
}

func submit(c *cli.Context, cl *client) error {
	req, err := submitRequest(c, cl)
	if err != nil {
		return err
	}
	timeout, err := waitTimeout(c)
	if err != nil {
		return err
	}
	req.Minimal = !c.Bool("wait") && !cl.json && !cl.stderr.IsTerminal() // only the ID is shown
	reply, err := cl.Submit(cl.submitting(c), req)
	if err != nil {
		return err
	}
	if strings.HasPrefix(reply.Outcome, "existing") && cl.stderr.IsTerminal() {
		_ = cl.stderr.Printf("taskrt: %s\n", show.Met(reply)) // nobody needs it
	}
	if !c.Bool("wait") {
		return cl.print(func(w *terminal.Table) { w.Row(reply.Task.ID) })
	}
	return cl.awaitCycle(reply.Task, timeout)
}

// keyFlag makes a command safe to send again (SPEC H4).
func keyFlag() cli.Flag {
	return stringFlag("", "idempotency-key", "", "1 to 255 visible characters: the same command with the same key happens once, however often it is sent")
}

// keyed is the context of a request that happens once under --idempotency-key.
func (c *client) keyed(flags *cli.Context) context.Context {
	if key := flags.String("idempotency-key"); key != "" {
		return apiclient.WithIdempotencyKey(c.ctx, key)
	}
	return c.ctx
}

// once is the context of a request that an operator makes once: under --idempotency-key if it is given, else under a
// key of this very command. So the client may send the request again when it had no answer, and an attempt that was
// held up cannot undo what the operator does next.
func (c *client) once(flags *cli.Context) context.Context {
	if flags.String("idempotency-key") != "" {
		return c.keyed(flags)
	}
	return apiclient.WithIdempotencyKey(c.ctx, drawnKey())
}

// submitting is once for a submit. There are many of them, so the key is a spare one: none is refused because the cluster keeps as many keys as it
// can.
func (c *client) submitting(flags *cli.Context) context.Context {
	if flags.String("idempotency-key") != "" {
		return c.keyed(flags)
	}
	return apiclient.WithSpareKey(c.ctx, drawnKey())
}

func drawnKey() string { return "cli-" + rand.Text() }

// whenFlags are the flags that timesOf reads.
func whenFlags(cmd, what string) []cli.Flag {
	return []cli.Flag{
		durationFlag(cmd, "delay", "", "do not "+what+" before this has passed"),
		stringFlag(cmd, "not-before", "", "do not "+what+" before this time (RFC 3339)"),
		stringFlag(cmd, "deadline", "", "fail if not finished by this time (RFC 3339)"),
	}
}

// timesOf reads --delay, --not-before and --deadline.
func timesOf(c *cli.Context) (delay *api.Duration, notBefore, deadline *api.Time, err error) {
	if c.String("delay") != "" {
		d, err := durationOf(c, "delay")
		if err != nil {
			return nil, nil, nil, err
		}
		delay = &d
	}
	if notBefore, err = timeOf(c, "not-before"); err != nil {
		return nil, nil, nil, err
	}
	deadline, err = timeOf(c, "deadline")
	return delay, notBefore, deadline, err
}

func submitRequest(c *cli.Context, cl *client) (api.SubmitRequest, error) {
	req := api.SubmitRequest{
		Namespace: cl.namespace, Behavior: c.Args().First(), ID: c.String("id"), IfExists: lower(c, "if-exists"),
	}
	var err error
	if req.Params, req.ParamsBase64, err = cl.params(c); err != nil {
		return req, err
	}
	if req.Delay, req.NotBefore, req.Deadline, err = timesOf(c); err != nil {
		return req, err
	}
	req.Priority, req.Labels, err = marksOf(c)
	return req, err
}

// markFlags are the flags that marksOf reads.
func markFlags(cmd string) []cli.Flag {
	return []cli.Flag{
		stringFlag(cmd, "priority", "", "0 to 9; default 4"),
		listFlag(cmd, "label", "NAME=VALUE; may be given several times"),
	}
}

// marksOf reads --priority and --label.
func marksOf(c *cli.Context) (priority *int, labels map[string]string, err error) {
	if s := c.String("priority"); s != "" {
		var n int
		if err := json.Unmarshal([]byte(s), &n); err != nil {
			return nil, nil, usagef(c, "--priority must be a number from 0 to 9, not %q", s)
		}
		priority = &n
	}
	for _, l := range c.StringSlice("label") {
		name, value, ok := strings.Cut(l, "=")
		if !ok || name == "" {
			return nil, nil, usagef(c, "--label must be NAME=VALUE, not %q", l)
		}
		if labels == nil {
			labels = map[string]string{}
		}
		if _, twice := labels[name]; twice {
			return nil, nil, usagef(c, "--label %s is given twice", name)
		}
		labels[name] = value
	}
	return priority, labels, nil
}

func timeOf(c *cli.Context, name string) (*api.Time, error) {
	s := c.String(name)
	if s == "" {
		return nil, nil
	}
	t, err := api.ParseTime(s)
	if err != nil {
		return nil, usagef(c, "--%s: %w", name, err)
	}
	return &t, nil
}
