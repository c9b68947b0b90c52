package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/input"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

func (p *program) pushCommand() *cli.Command {
	const cmd = "push"
	return &cli.Command{
		Name: cmd, Usage: "upload a module and activate its behaviors", ArgsUsage: "FILE.wasm", Category: "behaviors",
		Flags: clientFlags(
			stringFlag(cmd, "name", "", "name of the behavior, for a module without a manifest"),
			stringFlag(cmd, "manifest", "", "manifest FILE.json; wins over the module's own"),
		),
		Action: p.client(push),
	}
}

func push(c *cli.Context, cl *client) error {
	r := api.PushRequest{Namespace: cl.namespace, Name: c.String("name"), Size: -1}
	if file := c.String("manifest"); file != "" {
		var err error
		if r.Manifest, err = os.ReadFile(file); err != nil {
			return usagef(c, "--manifest: %w", err)
		}
	}
	file, size, err := input.Open(c.Args().First(), cl.stdin, api.MaxBlob)
	if err != nil {
		return usagef(c, "%w", err)
	}
	defer file.Close()
	r.Wasm = file
	stop := show.Sending(cl.stderr, &cl.sent, input.Name(c.Args().First()), size)
	m, err := cl.Push(cl.ctx, r)
	stop()
	if e := api.ErrorOf(err); e != nil && e.Field == "behaviors[0].name" && r.Name == "" {
		return fmt.Errorf("%w: say --name NAME, or give a --manifest with a name", err)
	}
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) {
		w.Row("BEHAVIOR", "VERSION", "MODULE", "BYTES")
		for _, b := range m.Behaviors {
			w.Row(b.Name, show.Digest(b.Version), show.Digest(m.Digest), m.Size)
		}
	})
}
