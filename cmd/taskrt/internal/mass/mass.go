// Package mass lets a command act on all tasks that its filters select, by a bulk job (SPEC Q3): it shows how many they are, and asks, before it
// begins.
package mass

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/jobs"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/cmdline"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/filters"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/input"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/internal/terminal"
)

// Kit makes flags of a command.
type Kit struct {
	filters.Kit
	Bool func(command, name, usage string) cli.Flag
	Int  func(command, name string, value int, usage string) cli.Flag
}

// Flags are the flags by which a command acts on many tasks.
func Flags(k Kit, cmd string) []cli.Flag {
	return append(filters.Flags(k.Kit, cmd),
		k.Bool(cmd, "all", "without other filters: all tasks of the namespace"),
		k.Bool(cmd, "dry-run", "only count the tasks that are meant"),
		k.Bool(cmd, "yes", "do not ask"),
		k.Int(cmd, "rate", jobs.DefaultRate, "with filters: tasks per second, at most"),
		k.Bool(cmd, "wait", "with filters: until the job has ended"),
	)
}

// own are the flags that make sense only with filters.
var own = []string{"all", "dry-run", "yes", "rate", "wait"}

// Meant reports whether a command means many tasks: it names none, but says which. What is both is an error.
func Meant(c *cli.Context) (bool, error) {
	var given []string
	for _, f := range append(filters.Names(), own...) {
		if c.IsSet(f) {
			given = append(given, f)
		}
	}
	switch {
	case c.Args().Present() && len(given) > 0:
		return false, cmdline.Usagef(c, "give the ID of a task, or flags that say which tasks are meant, not both: --%s", given[0])
	case c.Args().Len() == 0 && len(given) == 0:
		return false, cmdline.Usagef(c, "give the ID of a task, or flags that say which tasks are meant")
	}
	return len(given) > 0, nil
}

// Session is how a command reaches its cluster and its people.
type Session struct {
	Jobs      jobs.Jobs
	Namespace string
	Context   context.Context
	Once      func() context.Context // of a request that is done once
	In        io.Reader
	Err       *terminal.Output
	Print     func(func(*terminal.Table)) error // of the last answer
}

// alone are flags of commands that mean one task, which many tasks cannot have.
var alone = []string{"params", "params-bytes", "not-before", "deadline"}

// Run counts, asks, and starts the job.
func (s *Session) Run(c *cli.Context, a jobs.Action) error {
	for _, f := range alone {
		if c.IsSet(f) {
			return cmdline.Usagef(c, "--%s is for one task, by its ID", f)
		}
	}
	if !c.Bool("all") && !slices.ContainsFunc(filters.Names(), c.IsSet) {
		return cmdline.Usagef(c, "say which tasks are meant, or --all")
	}
	r := jobs.JobRequest{Version: c.String("version"), KeepCheckpoint: c.Bool("keep-checkpoint")}
	if c.String("delay") != "" {
		d, err := api.ParseDuration(c.String("delay"))
		if err != nil {
			return cmdline.Usagef(c, "--delay: %w", err)
		}
		delay := api.Duration(d)
		r.Delay = &delay
	}
	list, err := filters.Read(c, s.Namespace, time.Now())
	if err != nil {
		return err
	}
	r.Namespace, r.Filter, r.All, r.Rate = s.Namespace, jobs.Of(&list), c.Bool("all"), int64(c.Int("rate"))
	if c.Bool("dry-run") || !c.Bool("yes") {
		counted := r
		counted.DryRun = true
		reply, err := s.Jobs.Start(s.Context, a, counted)
		if err != nil {
			return err
		}
		if c.Bool("dry-run") {
			return s.Print(func(w *terminal.Table) { w.Row(plural(*reply.Matches)) })
		}
		if err := s.ask(c, a, *reply.Matches); err != nil {
			return err
		}
	}
	reply, err := s.Jobs.Start(s.Once(), a, r)
	if err != nil {
		return err
	}
	if c.Bool("wait") {
		return s.wait(reply.Job.ID)
	}
	return s.Print(func(w *terminal.Table) { Show(w, reply.Job) })
}

// ask asks people at a terminal, and everybody else for --yes.
func (s *Session) ask(c *cli.Context, a jobs.Action, n int64) error {
	if !terminal.IsTerminal(s.In) {
		return cmdline.Usagef(c, "%s would be meant by %s: say --yes if that is meant", plural(n), a)
	}
	answer, err := input.Answer(s.In, s.Err, "%s of the namespace %s: %s? [y/N] ", plural(n), s.Namespace, a)
	if err != nil {
		return err
	}
	if said := strings.ToLower(answer); said != "y" && said != "yes" {
		return cmdline.Usagef(c, "nothing was done")
	}
	return nil
}

func plural(n int64) string {
	if n == 1 {
		return "1 task"
	}
	return fmt.Sprintf("%d tasks", n)
}

// look is how often wait looks at a job.
const look = 300 * time.Millisecond

// wait waits until a job has ended, and shows on a terminal how far it is.
func (s *Session) wait(id string) error {
	defer s.Err.EndStatus()
	for {
		r, err := s.Jobs.Job(s.Context, id)
		if err != nil {
			return err
		}
		j := r.Job
		if !j.Ended() {
			s.Err.Status("job %s: %s %s %d of %d", j.ID, strings.ToLower(j.Status), terminal.Bar(j.Position, j.Selected), j.Position, j.Selected)
			if !idle.For(s.Context, look) {
				return s.Context.Err()
			}
			continue
		}
		s.Err.EndStatus()
		if err := s.Print(func(w *terminal.Table) { Show(w, j) }); err != nil {
			return err
		}
		switch {
		case j.Error != nil:
			return exit.With(exit.TaskFailed, fmt.Errorf("the job %s failed: %s: %s", j.ID, j.Error.Code, j.Error.Message))
		case j.Status != jobs.Success:
			return exit.With(exit.TaskFailed, fmt.Errorf("the job %s was cancelled", j.ID))
		}
		return nil
	}
}

// Show writes one job.
func Show(w *terminal.Table, j *jobs.Job) {
	w.Field("id", j.ID)
	w.Field("action", j.Action)
	w.Field("namespace", j.Namespace)
	w.Field("status", j.Status)
	if e := j.Error; e != nil {
		w.Field("error", e.Code+": "+e.Message)
	}
	if j.Creator != "" {
		w.Field("creator", j.Creator)
	}
	w.Field("rate", fmt.Sprintf("%d/s", j.Rate))
	w.Field("tasks", fmt.Sprintf("%d of %d had their turn", j.Position, j.Selected))
	for _, n := range []struct {
		name  string
		count int64
	}{{"done", j.Done}, {"changed", j.Changed}, {"gone", j.Gone}, {"refused", j.Refused}, {"forbidden", j.Forbidden}} {
		if n.count > 0 {
			w.Field(n.name, n.count)
		}
	}
	w.Field("created", show.Time(j.CreatedAt))
	if j.EndedAt != nil {
		w.Field("ended", show.Time(j.EndedAt))
	}
}

// List writes jobs as a table.
func List(w *terminal.Table, all []jobs.Job) {
	w.Row("ID", "ACTION", "NAMESPACE", "STATUS", "TASKS", "DONE", "OTHERS", "CREATED", "ENDED")
	for i := range all {
		j := &all[i]
		w.Row(j.ID, j.Action, j.Namespace, j.Status, fmt.Sprintf("%d/%d", j.Position, j.Selected), j.Done, j.Position-j.Done, show.Time(j.CreatedAt), show.Time(j.EndedAt))
	}
}
