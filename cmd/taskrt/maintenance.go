package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/task"
)

func (p *program) maintenanceCommand() *cli.Command {
	const cmd = "maintenance"
	return &cli.Command{
		Name: cmd, Usage: "remove what the cluster no longer needs: see when it does, or ask for it now", Category: "cluster",
		Subcommands: []*cli.Command{
			{
				Name: "run", Usage: "ask for a run now; prints its number", Flags: clientFlags(
					boolFlag(cmd, "dry-run", "count what would be deleted, delete nothing"),
					intFlag(cmd, "supersede-run", 0, "end this unfinished run, and no other"),
					keyFlag(),
					boolFlag(cmd, "wait", "wait for its end and show its record"),
					durationFlag(cmd, "timeout", "", "with --wait: give up after this"),
				),
				Action: p.client(maintenanceRun),
			},
			{Name: "info", Usage: "show how it is set up and what it does now", Flags: clientFlags(), Action: p.client(maintenanceInfo)},
			{
				Name: "log", Usage: "list the last runs, or show one", ArgsUsage: "[RUN]", Flags: clientFlags(columnsFlag(cmd)), Action: p.client(maintenanceLog),
			},
		},
	}
}

func maintenanceRun(c *cli.Context, cl *client) error {
	timeout, err := waitTimeout(c)
	if err != nil {
		return err
	}
	if c.IsSet("supersede-run") && c.Int("supersede-run") < 1 {
		return usagef(c, "--supersede-run must be the number of a run")
	}
	started, err := cl.StartMaintenance(cl.once(c), api.MaintenanceRequest{
		DryRun: c.Bool("dry-run"), SupersedeRun: int64(c.Int("supersede-run")),
	})
	if err != nil {
		return cl.explainRun(err)
	}
	if !c.Bool("wait") {
		return cl.print(func(w *terminal.Table) { w.Row(started.Run) })
	}
	return cl.awaitRun(started.Run, time.Duration(timeout))
}

// explainRun adds to the refusal of a run what the unfinished run does, and how to end it.
func (c *client) explainRun(err error) error {
	refused, ok := errors.AsType[*api.Error](err)
	if !ok || refused.Run == 0 {
		return err
	}
	what := "it has not begun"
	switch r, lookErr := c.MaintenanceRun(c.ctx, refused.Run); {
	case lookErr != nil:
		what = "what it does cannot be found out now"
	case r.StartedAt != nil:
		what = fmt.Sprintf("it began at %s on %s", r.StartedAt, show.OrDash(r.Worker))
	}
	return fmt.Errorf("%w; %s; --supersede-run %d ends it and begins another", err, what, refused.Run)
}

// awaitRun waits for the end of a run, or of the run that takes it over, and prints its record.
func (c *client) awaitRun(run int64, timeout time.Duration) error {
	end := time.Now().Add(timeout)
	for {
		o := api.GetOptions{Wait: maxWait, Until: "attempt:" + strconv.FormatInt(run, 10)}
		if timeout > 0 {
			o.Wait = max(time.Until(end), time.Millisecond)
		}
		stop := c.showRun(run)
		_, err := c.Task(c.ctx, task.SystemNamespace, task.MaintenanceTask, o)
		stop()
		if err != nil {
			return err
		}
		r, err := c.MaintenanceRun(c.ctx, run)
		if err != nil {
			return err
		}
		switch r.Status {
		case "SUCCESS":
			return c.print(func(w *terminal.Table) { show.Run(w, r) })
		case "LOST", "GIVEN_BACK", "SNOOZED":
			run++ // the next attempt takes it over
			continue
		case "WAITING", "RUNNING":
			err = exit.With(exit.TimedOut, fmt.Errorf("run %d: wait timed out after %v; it is %s", run, timeout, r.Status))
		default:
			err = exit.With(exit.TaskFailed, fmt.Errorf("run %d: %s: %s", run, r.Status, show.OrDash(r.Message)))
		}
		if perr := c.print(func(w *terminal.Table) { show.Run(w, r) }); perr != nil {
			return perr
		}
		return err
	}
}

// showRun keeps a line about a run on standard error while the command waits for the run, if standard error is a
// terminal.
func (c *client) showRun(run int64) (stop func()) {
	return c.whileWaiting(func(ctx context.Context, client *apiclient.Client, line func(string)) {
		for rev := uint64(0); ; {
			o := api.GetOptions{Wait: time.Second, Until: fmt.Sprintf("rev:%d", rev)}
			t, err := client.Task(ctx, task.SystemNamespace, task.MaintenanceTask, o)
			if err != nil {
				return // the wait itself says what is wrong
			}
			line(fmt.Sprintf("run %d  %s  %s", run, show.State(t), show.Progress(t.Progress)))
			rev = t.Rev + 1
		}
	})
}

func maintenanceInfo(_ *cli.Context, cl *client) error {
	info, err := cl.Maintenance(cl.ctx)
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) { show.Maintenance(w, info) })
}

func maintenanceLog(c *cli.Context, cl *client) error {
	if arg := c.Args().First(); arg != "" {
		run, err := strconv.ParseInt(arg, 10, 64)
		if err != nil {
			return usagef(c, "%q is not the number of a run", arg)
		}
		r, err := cl.MaintenanceRun(cl.ctx, run)
		if err != nil {
			return err
		}
		return cl.print(func(w *terminal.Table) { show.Run(w, r) })
	}
	runs, err := cl.MaintenanceRuns(cl.ctx)
	if err != nil {
		return err
	}
	return cl.print(func(w *terminal.Table) { show.Runs(w, runs) })
}
