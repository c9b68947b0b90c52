package main

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/internal/terminal"
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

func (p *program) migrateLogCommand() *cli.Command {
	const cmd = "migrate-log"
	return &cli.Command{
		Name: cmd, Usage: "convert a stopped node's log to another format",
		Description: "The new log is written beside the old one, synced, and compared with it entry by entry; then it takes its place at\n" +
			"once, and the old one is removed. Interrupted at any time, the node has the one or the other; run it again to go on.\n" +
			"Start the node with the same --log-store afterwards.",
		Flags: []cli.Flag{
			stringFlag(cmd, "dir", "", "--dir of the node's server, which must not run"),
			stringFlag(cmd, "to", "", "bolt or wal"),
			outputFlag(),
		},
		Action: p.migrateLog,
	}
}

func (p *program) migrateLog(c *cli.Context) error {
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	if c.String("dir") == "" {
		return usagef(c, "--dir is required")
	}
	to, err := logstore.Parse(c.String("to"))
	if err != nil {
		return usagef(c, "--to: %w", err)
	}
	last := -1
	progress := func(done, total uint64) {
		if now := int(1000 * done / total); now != last {
			last = now
			p.stderr.Status("%s copied and compared", terminal.Bar(int64(done), int64(total)))
		}
	}
	dir := filepath.Join(c.String("dir"), "raft")
	m, err := logstore.Migrate(c.Context, dir, to, logstore.Options{}, progress)
	p.stderr.EndStatus()
	switch {
	case errors.Is(err, fs.ErrNotExist) && m.From == "":
		return usagef(c, "--dir: there is no node in %s: %w", c.String("dir"), err)
	case c.Err() != nil && err != nil:
		return err
	case err != nil:
		return &exitError{exitStopped, err}
	}
	if asJSON {
		return p.encodeJSON(m, "")
	}
	if !m.Changed {
		return p.stdout.Printf("the log is %s already\n", m.To)
	}
	return p.stdout.Printf("the log is %s now: %d entries; start the node with --log-store %s\n", m.To, m.Entries(), m.To)
}
