// Command taskrt is the one binary of taskrt: cluster member, worker, and client. `taskrt help` lists the commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/tracing"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/cmdline"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/complete"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/guests"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/heap"
	"github.com/taskrt/taskrt/internal/subproc"
	"github.com/taskrt/taskrt/internal/terminal"
)

func main() {
	if code, is := guests.Main(os.Args); is {
		os.Exit(code)
	}
	heap.Tend()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for a clean stop. After it the default action is back, so a second signal ends the
	// process.
	context.AfterFunc(ctx, stop)
	if os.Getpid() == 1 { // the first process of a container
		go func() {
			if err := subproc.ReapOrphans(ctx); err != nil {
				slog.Warn("orphans are not reaped any more", "err", err)
			}
		}()
	}
	code := run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// program is what every command is given.
type program struct {
	args   []string // the command line
	stdin  io.Reader
	stdout *terminal.Output
	stderr *terminal.Output
}

// run is the whole program; the result is the exit code (SPEC section 12).
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{args: args, stdin: stdin, stdout: terminal.New(stdout), stderr: terminal.New(stderr)}
	app := p.app()
	err := func() error {
		if cmdline.Complete(app, args) || complete.Answer(ctx, app, args, defaultServer, p.stdout) {
			return nil
		}
		ordered, err := cmdline.Arrange(app, args)
		if err != nil {
			return err
		}
		return app.RunContext(tracing.WithState(tracing.WithParent(ctx, os.Getenv("TRACEPARENT")), os.Getenv("TRACESTATE")), ordered)
	}()
	return p.report(ctx, err)
}

// app describes the command line. Flags and arguments are checked by package cmdline, which reads this description.
func (p *program) app() *cli.App {
	app := &cli.App{
		Name:      "taskrt",
		Usage:     "run tasks reliably on a small cluster, from one binary",
		UsageText: "taskrt COMMAND [flags] [arguments]",
		Description: "Every flag can also be given as a TASKRT_… variable, in the environment or in a file of NAME=VALUE lines\n" +
			"named by --config. A flag wins over the environment, the environment over the file. How a cluster is reached can also be\n" +
			"kept in a context: taskrt context --help.\n\n" +
			exit.Help(),
		Flags:                     rootFlags(),
		Writer:                    p.stdout.Exact(),
		ErrWriter:                 p.stderr.Exact(),
		HideVersion:               true, // it is a command
		HideHelpCommand:           true, // cmdline turns `help X` into `X --help`
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*cli.Context, error) {}, // the default calls os.Exit
		OnUsageError:              onUsageError,
		Commands: []*cli.Command{
			p.devCommand(), p.serverCommand(), p.workerCommand(), p.newCommand(), p.runCommand(),
			p.pushCommand(), p.behaviorCommand(),
			p.submitCommand(), p.getCommand(), p.listCommand(), failuresCommand(p), whyCommand(p), topCommand(p), p.waitCommand(), p.watchCommand(),
			p.cancelCommand(), p.retryCommand(), p.resubmitCommand(), p.rmCommand(), jobCommand(p), p.logsCommand(),
			p.blobCommand(),
			p.opCommand(),
			p.namespaceCommand(), p.maintenanceCommand(), p.clusterCommand(), snapshotCommand(p), secretCommand(p), tokenCommand(p), auditCommand(p), contextCommand(p), loginCommand(p), logoutCommand(p), oidcCommand(p), p.benchCommand(), observeCommand(p), explainCommand(p), complete.Command(p.stdout), p.versionCommand(),
		},
	}
	prepare(app.Commands, app.Name)
	return app
}

// prepare sets what is the same for all commands.
func prepare(commands []*cli.Command, path string) {
	for _, c := range commands {
		name := path + " " + c.Name
		c.HideHelpCommand = true // or `taskrt get help` would not get the task "help"
		c.OnUsageError = onUsageError
		c.UsageText = name + flagsWord + c.ArgsUsage
		if len(c.Subcommands) > 0 {
			c.UsageText = name + flagsWord + "COMMAND"
		}
		prepare(c.Subcommands, name)
	}
}

// flagsWord stands in every command's UsageText behind its name.
const flagsWord = " [flags] "

func onUsageError(c *cli.Context, err error, _ bool) error {
	return &cmdline.Error{Command: c.Command, Err: err}
}

// usagef is the error of a command line that makes no sense.
func usagef(c *cli.Context, format string, args ...any) error {
	return cmdline.Usagef(c, format, args...)
}

// report prints an error and finds its exit code.
func (p *program) report(ctx context.Context, err error) int {
	if err == nil {
		return exit.OK
	}
	if coded, ok := errors.AsType[*exit.Error](err); ok {
		if coded.Err != nil {
			p.complain(coded.Err)
		}
		return coded.Code
	}
	code := exit.CodeOf(ctx, err)
	if code == exit.Interrupted && api.CodeOf(err) != api.CodeOutcomeUnknown {
		err = errors.New("interrupted")
	}
	p.complain(err)
	if known := api.CodeOf(err); known != "" && p.stderr.IsTerminal() {
		_ = p.stderr.Printf("taskrt explain %s says more\n", known)
	}
	if usage, ok := errors.AsType[*cmdline.Error](err); ok && code != exit.File {
		_ = p.stderr.Printf("%s\n", hint(usage))
		return exit.Usage
	}
	return code
}

// complain prints what went wrong. If printing fails, nobody is left to be told.
func (p *program) complain(err error) {
	_ = p.stderr.Printf("taskrt: %s\n", terminal.Lines(err.Error()))
}

// hint says how the command is used.
func hint(e *cmdline.Error) string {
	if e.Command == nil {
		return "usage: taskrt COMMAND [flags] [arguments]; taskrt help lists the commands"
	}
	name, _, _ := strings.Cut(e.Command.UsageText, flagsWord)
	return fmt.Sprintf("usage: %s; %s --help says more", strings.TrimSpace(e.Command.UsageText), name)
}
