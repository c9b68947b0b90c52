// Package atrest is the commands for the directory of a node that does not run: its log converted, the directory moved, and a new cluster founded of it (SPEC C2, C7).
package atrest

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/cmdline"
	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/raftstore/home"
	"github.com/taskrt/taskrt/raftstore/logstore"
)

// migrateLog converts a log to the format --to.
func migrateLog(c *cli.Context, out terminal.Answer) error {
	to, err := logstore.Parse(c.String("to"))
	if err != nil {
		return cmdline.Usagef(c, "--to: %w", err)
	}
	last := -1
	progress := func(done, total uint64) {
		if now := int(1000 * done / total); now != last {
			last = now
			out.Status.Status("%s copied and compared", terminal.Bar(int64(done), int64(total)))
		}
	}
	m, err := logstore.Migrate(c.Context, filepath.Join(c.String("dir"), "raft"), to, logstore.Options{}, progress)
	out.Status.EndStatus()
	switch {
	case err != nil && m.From != "":
		return fmt.Errorf("%s: %v", c.String("dir"), err) //nolint:errorlint // a node is there: an error of the system says nothing about --dir
	case err != nil:
		return err
	case out.JSON != nil:
		return out.JSON(m)
	case !m.Changed:
		return out.Printf("the log is %s already\n", m.To)
	}
	return out.Printf("the log is %s now: %d entries; start the node with --log-store %s\n", m.To, m.Entries(), m.To)
}

// moved says that a copied directory is the only one of its node.
func moved(c *cli.Context, out terminal.Answer) error {
	was, err := home.Moved(filepath.Join(c.String("dir"), "raft"))
	switch {
	case err != nil:
		return err
	case out.JSON != nil:
		return out.JSON(map[string]bool{"was_copy": was})
	case !was:
		return out.Printf("the directory is no copy: nothing was changed\n")
	}
	return out.Printf("the directory is the node's own now: start its server as before\n")
}

// recoverNode shows what a survivor has, or founds a new cluster of it if --cluster says which cluster it belongs to.
func recoverNode(c *cli.Context, out terminal.Answer) (err error) {
	n, err := open(c.String("dir"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if id := c.String("cluster"); id != "" {
		if err := n.found(id, c.StringSlice("approve")); err != nil {
			return err
		}
	}
	return out.Show(n.survivor, func(w *terminal.Table) { n.survivor.show(w, c.String("dir")) })
}
