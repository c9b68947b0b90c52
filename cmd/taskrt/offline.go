package main

import (
	"errors"
	"io/fs"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/atrest"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/cmdline"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/raftstore/logstore"
)

func logStoreFlag(command string) cli.Flag {
	return stringFlag(command, "log-store", string(logstore.Bolt), "format of a new node's log: bolt or wal; a node keeps the one that it has (cluster migrate-log)")
}

func readLogStore(c *cli.Context) (logstore.Kind, error) {
	kind, err := logstore.Parse(lower(c, "log-store"))
	if err != nil {
		return "", usagef(c, "--log-store: %w", err)
	}
	return kind, nil
}

// offlineCommands are the commands for the directory of a node that does not run.
func offlineCommands(p *program) (commands []*cli.Command) {
	for _, c := range atrest.Commands() {
		for _, f := range c.Flags {
			switch f := f.(type) {
			case *cli.StringFlag:
				f.EnvVars = []string{envName(c.Name, f.Name)}
			case *cli.StringSliceFlag:
				f.EnvVars = []string{envName(c.Name, f.Name)}
			}
		}
		c.Flags = append([]cli.Flag{stringFlag(c.Name, "dir", "", "--dir of the node's server, which must not run")}, append(c.Flags, outputFlag())...)
		c.Action = func(ctx *cli.Context) error { return offline(p, ctx, c.Run) }
		commands = append(commands, c.Command)
	}
	return commands
}

func offline(p *program, c *cli.Context, run func(*cli.Context, terminal.Answer) error) error {
	out, err := answer(p, c)
	if err != nil {
		return err
	}
	if c.String("dir") == "" {
		return usagef(c, "--dir is required")
	}
	err = run(c, out)
	if _, usage := errors.AsType[*cmdline.Error](err); usage || err == nil || c.Err() != nil {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return usagef(c, "--dir: there is no node in %s: %w", c.String("dir"), err)
	}
	return exit.With(exit.Stopped, err)
}
