package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/urfave/cli/v2"

	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/backup/sealed"
	"github.com/taskrt/taskrt/backup/series"
	"github.com/taskrt/taskrt/backup/target"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/cmdline"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/schedule"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
)

// fileOrTarget is what commands read that read a backup.
const fileOrTarget = "FILE|TARGET"

// clusterFlag says whose backups of a target are meant, and targetFlags which of them.
func (k *Kit) clusterFlag() cli.Flag {
	return k.String(name, "cluster", "", "with a TARGET that has backups of several clusters: the ID of one")
}

func (k *Kit) targetFlags() []cli.Flag {
	return []cli.Flag{k.clusterFlag(), k.String(name, "at", "", "with a TARGET: the name of a backup, or a time like 2026-11-28T06:00:00Z: the newest that was begun by then; without it the newest of all")}
}

// chosen is one backup of a target.
type chosen struct {
	series series.Series
	entry  series.Entry
}

// choose finds the backup that a command means; nil if the command names a file.
func choose(c *cli.Context, ctx context.Context) (*chosen, error) { //nolint:revive // a cli.Context comes first everywhere
	text, at := c.Args().First(), c.String("at")
	if !schedule.IsTarget(text) {
		if at != "" || c.String("cluster") != "" {
			return nil, cmdline.Usagef(c, "--at and --cluster choose a backup of a TARGET, and %s is none: a directory, or s3://BUCKET/PREFIX", text)
		}
		return nil, nil //nolint:nilnil // a file is an answer
	}
	t, err := schedule.Open(text)
	if err != nil {
		return nil, cmdline.Usagef(c, "%w", err)
	}
	id, err := clusterOf(c, ctx, t)
	if err != nil {
		return nil, err
	}
	x := &chosen{series: series.Series{Target: t, Cluster: id}}
	moment, err := time.Parse(time.RFC3339, at)
	switch {
	case at == "":
		x.entry, err = x.series.Find(ctx, time.Time{})
	case err == nil:
		x.entry, err = x.series.Find(ctx, moment)
	default:
		x.entry, err = x.series.Named(ctx, at)
	}
	return x, err
}

// clusterOf returns the ID of the cluster whose backups are meant.
func clusterOf(c *cli.Context, ctx context.Context, t target.Target) (string, error) { //nolint:revive // a cli.Context comes first everywhere
	if id := c.String("cluster"); id != "" {
		return id, nil
	}
	ids, err := series.Clusters(ctx, t)
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", fmt.Errorf("%w in %s", series.ErrNone, t)
	case len(ids) > 1:
		return "", cmdline.Usagef(c, "%s has backups of the clusters %s: choose one by --cluster", t, strings.Join(ids, ", "))
	}
	return ids[0], nil
}

// open opens the backup, decrypted if it is encrypted.
func (x *chosen) open(ctx context.Context, keys []age.Identity) (*opened, error) {
	if x.entry.Encrypted && len(keys) == 0 {
		return nil, sealed.ErrSealed
	}
	in := x.series.Open(ctx, x.entry, func(r io.Reader) (io.Reader, error) {
		plain, _, err := sealed.Open(r, keys)
		return plain, err
	})
	return &opened{Reader: in, Closer: in, size: x.entry.Bytes(), sealed: x.entry.Encrypted}, nil
}

// runList lists the backups of a target.
func runList(c *cli.Context, ctx context.Context, _ *apiclient.Client, out terminal.Answer) error { //nolint:revive // a cli.Context comes first everywhere
	t, err := schedule.Open(c.Args().First())
	if err != nil {
		return cmdline.Usagef(c, "%w", err)
	}
	ids := []string{c.String("cluster")}
	if ids[0] == "" {
		if ids, err = series.Clusters(ctx, t); err != nil {
			return err
		}
	}
	all := []series.Entry{}
	for _, id := range ids {
		some, err := series.Series{Target: t, Cluster: id}.List(ctx)
		if err != nil {
			return errors.Join(fmt.Errorf("cluster %s", id), err)
		}
		all = append(all, some...)
	}
	return out.Show(all, func(w *terminal.Table) { show.List(w, all, true, backupColumns) })
}

var backupColumns = []show.Column[series.Entry]{
	{Name: "BACKUP", Cell: func(e series.Entry) any { return e.Name }},
	{Name: "CLUSTER", Cell: func(e series.Entry) any { return e.Header.Cluster }},
	{Name: "STATE AT", Cell: func(e series.Entry) any { return e.Header.Time.Format(time.RFC3339) }},
	{Name: "INDEX", Cell: func(e series.Entry) any { return e.Header.Index }},
	{Name: "TASKS", Cell: func(e series.Entry) any { return e.Header.Tasks }},
	{Name: "BLOBS", Cell: func(e series.Entry) any { return e.Header.Blobs }},
	{Name: "SIZE", Cell: func(e series.Entry) any { return show.Bytes(e.Bytes()) }},
	{Name: "NEW", Cell: func(e series.Entry) any { return show.Bytes(e.NewBytes) }},
	{Name: "ENCRYPTED", Cell: func(e series.Entry) any { return map[bool]string{true: "yes", false: "no"}[e.Encrypted] }},
	{Name: "BY", Cell: func(e series.Entry) any { return e.Header.Node }},
}
