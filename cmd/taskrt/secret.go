package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/keys"
	"github.com/taskrt/taskrt/trust"
)

func secretCommand(p *program) *cli.Command {
	// of prints the lines that are made of a file of secrets.
	of := func(lines func(c *cli.Context, file string) ([]string, error)) cli.ActionFunc {
		return func(c *cli.Context) error {
			all, err := lines(c, c.Args().First())
			if err != nil {
				return exit.With(exit.File, err)
			}
			for _, line := range all {
				if err := p.stdout.Printf("%s\n", line); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return &cli.Command{
		Name: "secret", Usage: "the file by which nodes and workers know each other", Category: "cluster",
		Subcommands: []*cli.Command{
			{
				Name: "new", Usage: "draw a cluster secret: taskrt secret new > FILE, and the same file on every node",
				Action: func(*cli.Context) error { return p.stdout.Printf("%s\n", trust.Draw().Text()) },
			},
			{
				Name: "ca", Usage: "print whom clients trust behind https: the value of their --ca", ArgsUsage: "FILE",
				Flags:  []cli.Flag{boolFlag("", "pem", "a certificate, for browsers and programs that take no fingerprint")},
				Action: of(func(c *cli.Context, file string) ([]string, error) { return keys.CA(file, c.Bool("pem")) }),
			},
			{
				Name: "worker", Usage: "derive what a worker needs on a machine that is trusted less than a node", ArgsUsage: "FILE",
				Action: of(func(_ *cli.Context, file string) ([]string, error) { return keys.Worker(file) }),
			},
		},
	}
}

// trustFlag makes the flags of package keys.
func trustFlag(name, value, usage string) cli.Flag { return stringFlag("", name, value, usage) }

// keyError gives an error of package keys its exit code.
func keyError(c *cli.Context, err error) error {
	if wrong, ok := errors.AsType[*keys.UsageError](err); ok {
		return usagef(c, "%w", wrong.Err)
	}
	return exit.With(exit.File, err)
}
