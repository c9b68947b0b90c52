package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/input"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

func (p *program) behaviorCommand() *cli.Command {
	const cmd = "behavior"
	return &cli.Command{
		Name: cmd, Usage: "show and change behaviors", Category: "behaviors",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list the behaviors", Flags: clientFlags(columnsFlag(cmd)), Action: p.client(behaviorList)},
			{Name: "show", Usage: "show a behavior, its policy and its versions", ArgsUsage: "NAME", Flags: clientFlags(), Action: p.client(behaviorShow)},
			{Name: "stats", Usage: "count the tasks of a behavior", ArgsUsage: "NAME", Flags: clientFlags(), Action: p.client(behaviorStats)},
			{
				Name: "put", Usage: "define an external behavior: FILE (- for standard input) holds its policy as JSON", ArgsUsage: "NAME FILE",
				Flags: clientFlags(), Action: p.client(behaviorPut),
			},
			{
				Name: "activate", Usage: "go back, or forth, to a kept version", ArgsUsage: "NAME VERSION",
				Flags: clientFlags(), Action: p.client(behaviorActivate),
			},
			{Name: "pause", Usage: "start no more of its tasks; those that run go on", ArgsUsage: "NAME", Flags: clientFlags(), Action: p.client(behaviorPause)},
			{Name: "resume", Usage: "start its tasks again", ArgsUsage: "NAME", Flags: clientFlags(), Action: p.client(behaviorPause)},
			{
				Name: "rm", Usage: "take a behavior away; its tasks wait for one of that name", ArgsUsage: "NAME",
				Flags:  clientFlags(boolFlag(cmd, "purge", "remove its tasks that do not run")),
				Action: p.client(behaviorRemove),
			},
		},
	}
}

func behaviorList(_ *cli.Context, cl *client) error {
	behaviors, err := cl.Behaviors(cl.ctx, cl.namespace)
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) { show.Behaviors(w, behaviors) })
}

func behaviorShow(c *cli.Context, cl *client) error {
	b, err := cl.Behavior(cl.ctx, cl.namespace, c.Args().First())
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) { show.Behavior(w, b) })
}

func behaviorStats(c *cli.Context, cl *client) error {
	s, err := cl.BehaviorStats(cl.ctx, cl.namespace, c.Args().First())
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) {
		w.Field("due", s.Due)
		w.Field("delayed", s.Delayed)
		w.Field("running", s.Running)
		w.Field("retrying", s.Retrying)
		w.Field("oldest due", show.Time(s.Oldest))
	})
}

func behaviorPut(c *cli.Context, cl *client) error {
	policy, err := readPolicy(c, cl.stdin)
	if err != nil {
		return err
	}
	reply, err := cl.PutBehavior(cl.once(c), api.PutBehaviorRequest{Namespace: cl.namespace, Name: c.Args().First(), Policy: policy})
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) { show.Behavior(w, reply.Behavior) })
}

func readPolicy(c *cli.Context, stdin io.Reader) ([]byte, error) {
	file := c.Args().Get(1)
	from := file
	if file != "-" {
		from = "@" + file
	}
	policy, err := input.Of(c, "FILE", from, stdin, api.MaxBody)
	if err != nil {
		return nil, err
	}
	policy = bytes.TrimPrefix(policy, []byte("\ufeff"))
	if err := input.WhyNotJSON(policy); err != nil {
		return nil, usagef(c, "%s is not JSON: %w", file, err)
	}
	return policy, nil
}

func behaviorActivate(c *cli.Context, cl *client) error {
	name := c.Args().First()
	version, err := cl.keptVersion(name, c.Args().Get(1))
	if err != nil {
		return err
	}
	b, err := cl.ActivateVersion(cl.once(c), cl.namespace, name, version)
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) { show.Behavior(w, b) })
}

// keptVersion completes the beginning of a version, which is what tables show.
func (c *client) keptVersion(behavior, given string) (string, error) {
	b, err := c.Behavior(c.ctx, c.namespace, behavior)
	if err != nil {
		return "", err
	}
	found := ""
	for _, v := range b.Versions {
		switch {
		case !strings.HasPrefix(v.Version, given):
		case found != "":
			return "", exit.With(exit.Refused, fmt.Errorf("%q is the beginning of more than one version of %s", given, behavior))
		default:
			found = v.Version
		}
	}
	if found == "" {
		return "", exit.With(exit.Refused, fmt.Errorf("version_not_found: %s keeps no version %s", behavior, given))
	}
	return found, nil
}

// behaviorPause pauses or resumes a behavior.
func behaviorPause(c *cli.Context, cl *client) error {
	b, err := cl.PauseBehavior(cl.once(c), cl.namespace, c.Args().First(), c.Command.Name == "pause")
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) { show.Behavior(w, b) })
}

func behaviorRemove(c *cli.Context, cl *client) error {
	return cl.DeleteBehavior(cl.once(c), cl.namespace, c.Args().First(), c.Bool("purge"))
}
