package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"
)

func (p *program) behaviorCommand() *cli.Command {
	return &cli.Command{
		Name: "behavior", Usage: "show behaviors", Category: "behaviors",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list the behaviors", Flags: clientFlags(), Action: p.client(behaviorList)},
			{Name: "show", Usage: "show a behavior, its policy and its versions", ArgsUsage: "NAME", Flags: clientFlags(), Action: p.client(behaviorShow)},
		},
	}
}

func behaviorList(_ *cli.Context, cl *client) error {
	behaviors, err := cl.Behaviors(cl.ctx, cl.namespace)
	if err != nil {
		return err
	}
	return cl.print(func(w io.Writer) {
		fmt.Fprintln(w, "NAME\tVERSION\tKIND\tPAUSED")
		for _, b := range behaviors {
			fmt.Fprintf(w, "%s\t%s\t%s\t%v\n", b.Name, short(b.Version), b.Kind, b.Paused)
		}
	})
}

func behaviorShow(c *cli.Context, cl *client) error {
	b, err := cl.Behavior(cl.ctx, cl.namespace, c.Args().First())
	if err != nil {
		return err
	}
	return cl.print(func(w io.Writer) {
		fmt.Fprintf(w, "name\t%s\nkind\t%s\nversion\t%s\nmodule\t%s\npaused\t%v\n", b.Name, b.Kind, short(b.Version), short(b.Module), b.Paused)
		for _, v := range b.Versions {
			active := ""
			if v.Active {
				active = ", active"
			}
			fmt.Fprintf(w, "kept\t%s of %s%s\n", short(v.Version), v.ActivatedAt, active)
		}
		var manifest bytes.Buffer
		if json.Indent(&manifest, b.Manifest, "", "  ") == nil {
			fmt.Fprintf(w, "manifest\t\n%s\n", manifest.String())
		}
	})
}
