// Package schedule reads the flags by which a server backs the cluster up by itself, and opens the targets of backups (SPEC C8).
package schedule

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/backup/sealed"
	"github.com/taskrt/taskrt/backup/series"
	"github.com/taskrt/taskrt/backup/target"
	"github.com/taskrt/taskrt/backup/target/bucket"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/cmdline"
	"github.com/taskrt/taskrt/node/scheduled"
)

// Kit makes flags of a server.
type Kit struct {
	String func(command, name, value, usage string, aliases ...string) cli.Flag
	Int    func(command, name string, value int, usage string) cli.Flag
	List   func(command, name, usage string) cli.Flag
}

// Flags say where, how often and how a server backs the cluster up.
func Flags(k Kit) []cli.Flag {
	return []cli.Flag{
		k.String("", "backup-to", "", "back the cluster up to DIR, which all nodes share, or s3://BUCKET/PREFIX; the same on all nodes"),
		k.String("", "backup-every", scheduled.DefaultEvery.String(), "how long after a backup the next one is made; at least "+scheduled.MinEvery.String()+" (like 30s or 1h30m)"),
		k.Int("", "backup-keep", scheduled.DefaultKeep, "how many backups are kept in --backup-to"),
		k.Int("", "backup-rate", scheduled.DefaultRate>>20, "MiB per second that a backup reads and writes"),
		k.List("", "backup-encrypt-to", "public key of age (age1…) whose owner alone can read the backups; may be repeated"),
	}
}

// Read reads the flags.
func Read(c *cli.Context) (config scheduled.Config, err error) {
	to := c.String("backup-to")
	if to == "" {
		for _, name := range []string{"backup-every", "backup-keep", "backup-rate", "backup-encrypt-to"} {
			if c.IsSet(name) {
				return config, cmdline.Usagef(c, "--%s needs --backup-to", name)
			}
		}
		return config, nil
	}
	if config.Target, err = Open(to); err != nil {
		return config, cmdline.Usagef(c, "--backup-to: %w", err)
	}
	if config.Every, err = api.ParseDuration(c.String("backup-every")); err != nil {
		return config, cmdline.Usagef(c, "--backup-every: %w", err)
	}
	config.Keep, config.Rate = c.Int("backup-keep"), int64(c.Int("backup-rate"))<<20
	switch {
	case config.Every < scheduled.MinEvery:
		return config, cmdline.Usagef(c, "--backup-every must be at least %v", scheduled.MinEvery)
	case config.Keep < 1:
		return config, cmdline.Usagef(c, "--backup-keep must be at least 1")
	case config.Rate < 1<<20:
		return config, cmdline.Usagef(c, "--backup-rate must be at least 1 MiB per second")
	}
	if config.Seal, err = seal(c.StringSlice("backup-encrypt-to")); err != nil {
		return config, cmdline.Usagef(c, "--backup-encrypt-to: %w", err)
	}
	return config, nil
}

// seal returns how backups are encrypted to public keys; nil without one.
func seal(texts []string) (*series.Seal, error) {
	keys, err := sealed.Recipients(texts)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	var names []string
	for _, k := range keys {
		names = append(names, fmt.Sprint(k))
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(names), "\n")))
	return &series.Seal{Tag: series.Tag(sum[:8]), Wrap: func(w io.Writer) (io.WriteCloser, error) { return sealed.Seal(w, keys) }}, nil
}

// Open opens a target that --backup-to and the commands about backups name.
func Open(text string) (target.Target, error) {
	if strings.HasPrefix(text, bucket.Scheme) {
		return bucket.Open(text)
	}
	if scheme, _, ok := strings.Cut(text, "://"); ok {
		return nil, fmt.Errorf("%s:// is no place that backups can be put to: name a directory, or s3://BUCKET/PREFIX", scheme)
	}
	dir, err := filepath.Abs(text)
	return target.Dir(dir), err
}

// IsTarget reports whether a text names a target, and not a file with one backup.
func IsTarget(text string) bool {
	info, err := os.Stat(text)
	return strings.HasPrefix(text, bucket.Scheme) || err == nil && info.IsDir()
}
