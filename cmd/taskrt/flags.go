package main

import (
	"cmp"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/form"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/reach"
	"github.com/taskrt/taskrt/internal/terminal"
)

// envName is the environment variable of a flag. A flag that says what one command does carries the command's name
// (TASKRT_SUBMIT_ID). So the environment of a server (TASKRT_ID) means nothing to a client in the same shell.
func envName(command, flag string) string {
	name := "TASKRT_"
	if command != "" {
		name += command + "_"
	}
	return strings.ToUpper(strings.ReplaceAll(name+flag, "-", "_"))
}

// The constructors of flags. command is "" for a flag that means the same in every command that has it.

func stringFlag(command, name, value, usage string, aliases ...string) cli.Flag {
	return &cli.StringFlag{Name: name, Aliases: aliases, Value: value, Usage: usage, EnvVars: []string{envName(command, name)}}
}

func boolFlag(command, name, usage string) cli.Flag {
	return &cli.BoolFlag{Name: name, Usage: usage, EnvVars: []string{envName(command, name)}}
}

func intFlag(command, name string, value int, usage string) cli.Flag {
	return &cli.IntFlag{Name: name, Value: value, Usage: usage, EnvVars: []string{envName(command, name)}}
}

func listFlag(command, name, usage string) cli.Flag {
	return &cli.StringSliceFlag{Name: name, Usage: usage, EnvVars: []string{envName(command, name)}}
}

// durationFlag is a string, so that the API's own parser judges it, in the API's words.
func durationFlag(command, name, value, usage string) cli.Flag {
	return stringFlag(command, name, value, usage+" (like 30s or 1h30m)")
}

// rootFlags are known to every command.
func rootFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "config", Usage: "file of NAME=VALUE lines with TASKRT_… variables, as systemd's EnvironmentFile; other variables are skipped", EnvVars: []string{envName("", "config")}},
		stringFlag("", "log-level", "info", "debug, info, warn or error; dev says only errors unless told"),
		stringFlag("", "log-format", "text", "text or json; the log goes to standard error"),
	}
}

// defaultServer is where `taskrt dev` serves.
const defaultServer = "http://127.0.0.1:7070"

// reachFlags are the flags of every command that talks to a cluster, and more.
func reachFlags(more ...cli.Flag) []cli.Flag {
	return append(append([]cli.Flag{serverFlag(), outputFlag()}, reach.Flags(trustFlag)...), more...)
}

// clientFlags are the flags of a command that is also about a namespace, and more.
func clientFlags(more ...cli.Flag) []cli.Flag {
	return append(reachFlags(stringFlag("", "namespace", api.DefaultNamespace, "scope of tasks and behaviors")), more...)
}

func serverFlag() cli.Flag {
	return stringFlag("", "server", defaultServer, "URL of a node; several, separated by commas, are tried in turn")
}

// serverURLs reads --server; an empty variable counts as not given.
func serverURLs(c *cli.Context) []string {
	if urls := splitList(c.String("server")); len(urls) > 0 {
		return urls
	}
	return []string{defaultServer}
}

func outputFlag() cli.Flag { return stringFlag("", "output", string(form.Table), form.Usage, "o") }

// jsonFlag is -o of a command that knows no form but a table and JSON.
func jsonFlag() cli.Flag {
	return stringFlag("", "output", string(form.Table), "table for people, json for programs", "o")
}

// columnsFlag is the flag of a command that shows a list.
func columnsFlag(command string) cli.Flag {
	return stringFlag(command, "columns", "", "columns of the table, separated by commas; -o wide shows all of them")
}

// rawRefFlag is the flag of commands that print a result.
func rawRefFlag() cli.Flag {
	return boolFlag("", "raw-ref", "print the reference of a result that is a blob, not its content")
}

// lower and upper are the value of a flag that has one of a few words, in any case.
func lower(c *cli.Context, name string) string { return strings.ToLower(c.String(name)) }
func upper(c *cli.Context, name string) string { return strings.ToUpper(c.String(name)) }

// durationOf parses a duration flag; 0 if it is empty.
func durationOf(c *cli.Context, name string) (d api.Duration, err error) {
	s := c.String(name)
	if s == "" {
		return 0, nil
	}
	v, err := api.ParseDuration(s)
	if err != nil {
		return 0, usagef(c, "--%s: %w", name, err)
	}
	return api.Duration(v), nil
}

// waitTimeout reads the --timeout of a command that has --wait.
func waitTimeout(c *cli.Context) (api.Duration, error) {
	if c.IsSet("timeout") && !c.Bool("wait") {
		return 0, usagef(c, "--timeout needs --wait")
	}
	return durationOf(c, "timeout")
}

// wantedForm reads -o and --columns.
func wantedForm(c *cli.Context) (f form.Form, columns terminal.Columns, err error) {
	if f, err = form.Parse(cmp.Or(c.String("output"), string(form.Table))); err != nil { // not every command has the flag
		return f, columns, usagef(c, "--output %w", err)
	}
	columns = terminal.Columns{Names: splitList(c.String("columns")), Wide: f == form.Wide}
	if len(columns.Names) > 0 && !f.IsTable() {
		return f, columns, usagef(c, "--columns are those of a table, not of -o %s", f)
	}
	return f, columns, nil
}

// wantsJSON reads the -o of a command that knows no form but a table and JSON.
func wantsJSON(c *cli.Context) (bool, error) {
	switch o := lower(c, "output"); o {
	case "table":
		return false, nil
	case "json":
		return true, nil
	default:
		return false, usagef(c, "--output must be table or json, not %q", o)
	}
}

// answer is where a command answers in the form that --output names.
func answer(p *program, c *cli.Context) (terminal.Answer, error) {
	f, columns, err := wantedForm(c)
	a := terminal.Answer{Output: p.stdout, Columns: columns, Status: p.stderr}
	if err == nil && !f.IsTable() {
		a.JSON = form.New(f, p.stdout).Encode
	}
	return a, err
}
