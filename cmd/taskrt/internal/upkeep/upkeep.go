// Package upkeep reads the flags by which a node is told how its maintenance runs (SPEC M1).
package upkeep

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/cmdline"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/task"
)

// Kit makes flags of a command.
type Kit struct {
	Duration func(command, name, value, usage string) cli.Flag
	Int      func(command, name string, value int, usage string) cli.Flag
	Bool     func(command, name, usage string) cli.Flag
}

// Flags are the flags of a node that say how maintenance runs.
func Flags(k Kit) []cli.Flag {
	return []cli.Flag{
		k.Duration("", "maintenance-every", maintain.DefaultEvery.String(), "how long after a run of maintenance the next one begins; 0s: only on demand"),
		k.Duration("", "maintenance-grace", maintain.DefaultGrace.String(), "how old a blob must be before maintenance may delete it; at least "+maintain.MinGrace.String()),
		k.Int("", "maintenance-scan-rate", maintain.DefaultScanRate, "objects that maintenance looks at per second"),
		k.Int("", "maintenance-delete-rate", maintain.DefaultDeleteRate, "objects that maintenance deletes per second"),
		k.Int("", "maintenance-batch", maintain.DefaultBatch, fmt.Sprintf("objects that maintenance deletes at once; at most %d", task.MaxDrop)),
		k.Bool("", "maintenance-grace-for-tests", "let --maintenance-grace be shorter than that: only for tests, blobs that are being uploaded may be deleted and have to be sent again"),
	}
}

// Read reads these flags.
func Read(c *cli.Context) (maintain.Config, error) {
	every, err := durationOf(c, "maintenance-every")
	if err != nil {
		return maintain.Config{}, err
	}
	grace, err := durationOf(c, "maintenance-grace")
	if err != nil {
		return maintain.Config{}, err
	}
	m := maintain.Config{
		Every: every, Grace: max(grace, 1), UnsafeGrace: c.Bool("maintenance-grace-for-tests"),
		ScanRate: int64(c.Int("maintenance-scan-rate")), DeleteRate: int64(c.Int("maintenance-delete-rate")), Batch: int64(c.Int("maintenance-batch")),
	}
	if m.Every == 0 {
		m.Every = -1
	}
	switch { // Validate names fields, not flags
	case m.Every > 0 && m.Every < maintain.MinEvery:
		return m, cmdline.Usagef(c, "--maintenance-every must be at least %v, or 0s", maintain.MinEvery)
	case m.Grace < maintain.MinGrace && !m.UnsafeGrace:
		return m, cmdline.Usagef(c, "--maintenance-grace must be at least %v", maintain.MinGrace)
	case m.ScanRate < 1 || m.DeleteRate < 1:
		return m, cmdline.Usagef(c, "--maintenance-scan-rate and --maintenance-delete-rate must be positive")
	case m.Batch < 1 || m.Batch > task.MaxDrop:
		return m, cmdline.Usagef(c, "--maintenance-batch must be 1 to %d", task.MaxDrop)
	}
	return m, nil
}

// durationOf parses a duration; 0 if it is empty.
func durationOf(c *cli.Context, name string) (time.Duration, error) {
	s := c.String(name)
	if s == "" {
		return 0, nil
	}
	d, err := api.ParseDuration(s)
	if err != nil {
		return 0, cmdline.Usagef(c, "--%s: %w", name, err)
	}
	return d, nil
}
