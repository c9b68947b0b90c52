package mass

import (
	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/internal/terminal"
)

// JobCommand is the command that shows and cancels bulk jobs. flags makes the flags of each, action what it does with a Session.
func JobCommand(flags func(...cli.Flag) []cli.Flag, all cli.Flag, action func(func(*cli.Context, *Session) error) cli.ActionFunc) *cli.Command {
	return &cli.Command{
		Name: "job", Usage: "bulk jobs: what cancel, retry, resubmit and rm begin when flags say which tasks are meant", Category: "tasks",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the jobs under way, and the 50 that ended last, the newest first", Flags: flags(all),
				Action: action(func(c *cli.Context, s *Session) error {
					namespace := s.Namespace
					if c.Bool("all-namespaces") {
						namespace = ""
					}
					r, err := s.Jobs.List(s.Context, namespace)
					if err != nil {
						return err
					}
					return s.Print(func(w *terminal.Table) { List(w, r.Jobs) })
				}),
			},
			{Name: "get", Usage: "show a job", ArgsUsage: "ID", Flags: flags(), Action: action(func(c *cli.Context, s *Session) error {
				r, err := s.Jobs.Job(s.Context, c.Args().First())
				if err != nil {
					return err
				}
				return s.Print(func(w *terminal.Table) { Show(w, r.Job) })
			})},
			{Name: "wait", Usage: "wait until a job has ended; fails if the job did", ArgsUsage: "ID", Flags: flags(), Action: action(func(c *cli.Context, s *Session) error {
				return s.wait(c.Args().First())
			})},
			{Name: "cancel", Usage: "end a job; what it has done stays done", ArgsUsage: "ID", Flags: flags(), Action: action(func(c *cli.Context, s *Session) error {
				r, err := s.Jobs.Cancel(s.Context, c.Args().First())
				if err != nil {
					return err
				}
				return s.Print(func(w *terminal.Table) { Show(w, r.Job) })
			})},
		},
	}
}
