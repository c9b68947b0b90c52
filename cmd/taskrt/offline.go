package main

import (
	"errors"
	"io/fs"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/atrest"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/cmdline"
	"github.com/taskrt/taskrt/raftstore/logstore"
)

func logStoreFlag(command string) cli.Flag {
	return stringFlag(command, "log-store", string(logstore.Bolt), "format of a new node's log: bolt or wal; a node keeps the one that it has (cluster migrate-log)")
}

func readLogStore(c *cli.Context) (logstore.Kind, error) {
	kind, err := logstore.Parse(c.String("log-store"))
	if err != nil {
		return "", usagef(c, "--log-store: %w", err)
	}
	return kind, nil
}

func migrateLogCommand(p *program) *cli.Command {
	const cmd = "migrate-log"
	return offline(p, atrest.MigrateLog, &cli.Command{
		Name: cmd, Usage: "convert a stopped node's log to another format",
		Description: "The new log is written beside the old one, synced, and compared with it entry by entry; then it takes its place at\n" +
			"once, and the old one is removed. Interrupted at any time, the node has the one or the other; run it again to go on.\n" +
			"Start the node with the same --log-store afterwards.",
		Flags: []cli.Flag{stringFlag(cmd, "to", "", "bolt or wal")},
	})
}

// recoverCommand founds a new cluster of what a survivor has (SPEC C2).
func recoverCommand(p *program) *cli.Command {
	const cmd = "recover"
	return offline(p, atrest.Recover, &cli.Command{
		Name: cmd, Usage: "found a new cluster of a stopped node's directory, after a majority was lost for good",
		Description: "Without --cluster it shows what the directory has and what may be lost, and changes nothing. With the ID of the cluster that the\n" +
			"directory belongs to, it makes the directory the first node of a new cluster. What the former cluster has given to workers\n" +
			"and clients holds no longer: leases, sessions, answers under idempotency keys. Interrupted at any time, run it again.",
		Flags: []cli.Flag{
			stringFlag(cmd, "cluster", "", "ID of the cluster that the node belongs to, as this command shows it: go on"),
			listFlag(cmd, "approve", "ID of another node that votes as soon as it has joined with an empty directory; may be repeated"),
		},
	})
}

// offline completes a command for the directory of a node that does not run.
func offline(p *program, run func(*cli.Context, atrest.Output) error, c *cli.Command) *cli.Command {
	c.Flags = append([]cli.Flag{stringFlag(c.Name, "dir", "", "--dir of the node's server, which must not run")}, append(c.Flags, outputFlag())...)
	c.Action = func(c *cli.Context) error {
		asJSON, err := wantsJSON(c)
		if err != nil {
			return err
		}
		if c.String("dir") == "" {
			return usagef(c, "--dir is required")
		}
		out := atrest.Output{Output: p.stdout, Status: p.stderr}
		if asJSON {
			out.JSON = func(v any) error { return p.encodeJSON(v, "") }
		}
		err = run(c, out)
		if _, usage := errors.AsType[*cmdline.Error](err); usage || err == nil || c.Err() != nil {
			return err
		}
		if errors.Is(err, fs.ErrNotExist) {
			return usagef(c, "--dir: there is no node in %s: %w", c.String("dir"), err)
		}
		return &exitError{exitStopped, err}
	}
	return c
}
