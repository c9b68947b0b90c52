// Package cmdline reads command lines as urfave/cli v2 does not: flags may stand anywhere, and whatever makes no sense is an
// error.
package cmdline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// errNoCommand is why `taskrt` alone, or a group of commands alone, prints its help and is bad usage all the same.
var errNoCommand = errors.New("which command?")

// Error is a command line that makes no sense.
type Error struct {
	Command *cli.Command // nil: none was found
	Err     error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Usagef returns what is wrong with the command line of a command.
func Usagef(c *cli.Context, format string, args ...any) error {
	return &Error{Command: c.Command, Err: fmt.Errorf(format, args...)}
}

// Arrange brings a command line into the only order that urfave/cli v2 reads completely: it stops parsing flags at
// the first positional argument and silently ignores the rest. Here flags may stand anywhere, `--` ends them, and `-`
// is an argument or a value. An unknown flag, a missing value, and a missing or surplus argument are errors. A flag
// that is neither given nor in the environment is taken from the --config file.
func Arrange(app *cli.App, args []string) ([]string, error) {
	if asksVersion(args) {
		args = append([]string{args[0], "version"}, args[2:]...)
	}
	l := line{app: app, commands: app.Commands}
	if err := l.read(args[1:]); err != nil {
		return nil, &Error{l.command, err}
	}
	if l.help {
		return append(append([]string{args[0]}, l.path...), "--help"), nil
	}
	if l.command == nil || len(l.command.Subcommands) > 0 {
		return nil, &Error{l.command, errNoCommand}
	}
	if err := l.checkArguments(); err != nil {
		return nil, &Error{l.command, err}
	}
	if err := l.addConfig(); err != nil {
		return nil, &Error{l.command, err}
	}
	out := []string{args[0]}
	out = append(out, l.flagsOf(app.Flags)...)
	out = append(out, l.path...)
	out = append(out, l.flagsOf(l.command.Flags)...)
	out = append(out, "--")
	return append(out, l.arguments...), nil
}

// asksVersion reports whether --version stands where a command should, as people know it from other programs. A
// command's own flag of this name has a value.
func asksVersion(args []string) bool {
	return len(args) > 1 && args[1] == "--version" && (len(args) == 2 || strings.HasPrefix(args[2], "-"))
}

// line is a command line that is being read.
type line struct {
	app       *cli.App
	commands  []*cli.Command // that may follow
	command   *cli.Command   // found so far
	path      []string       // its names
	given     []givenFlag
	arguments []string
	help      bool
}

// givenFlag is one flag with its value.
type givenFlag struct {
	name  string // as written, without dashes
	value string
}

func (l *line) read(args []string) error {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "--":
			for _, rest := range args[i+1:] {
				if err := l.word(rest); err != nil {
					return err
				}
			}
			return l.checkFlags()
		case len(a) > 1 && a[0] == '-':
			used, err := l.flag(a, args[i+1:])
			if err != nil {
				return err
			}
			i += used
		default:
			if err := l.word(a); err != nil {
				return err
			}
		}
	}
	return l.checkFlags()
}

// word takes a command's name or an argument.
func (l *line) word(a string) error {
	if l.command != nil && len(l.commands) == 0 {
		l.arguments = append(l.arguments, a)
		return nil
	}
	if a == "help" && l.command == nil && !l.help {
		l.help = true
		return nil
	}
	for _, c := range l.commands {
		if c.HasName(a) {
			l.command, l.commands = c, c.Subcommands
			l.path = append(l.path, c.Name)
			return nil
		}
	}
	return fmt.Errorf("there is no command %q%s", strings.Join(append(slices.Clone(l.path), a), " "), Meant("", a, l.commandNames()))
}

// flag reads one flag, and its value from rest if it needs one; used is how many words of rest it took.
func (l *line) flag(a string, rest []string) (used int, err error) {
	name, value, has := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(a, "-"), "-"), "=")
	if name == "help" || name == "h" {
		l.help = true
		return 0, nil
	}
	f := l.lookup(name)
	if f == nil {
		return 0, fmt.Errorf("there is no flag %s%s", strings.SplitN(a, "=", 2)[0], Meant("--", name, l.flagNames()))
	}
	if l.differs(name) {
		return 0, fmt.Errorf("--%s is not the same for all commands: write it behind the command", name)
	}
	if !has {
		if takesValue(f) {
			if len(rest) == 0 {
				return 0, fmt.Errorf("flag %s needs a value", a)
			}
			value, used = rest[0], 1
		} else {
			value = "true"
		}
	}
	l.given = append(l.given, givenFlag{name, value})
	return used, nil
}

// checkTwice refuses a flag that is given twice and does not add up: nobody can tell which of the two is meant.
func (l *line) checkTwice() error {
	seen := map[string]bool{}
	for _, g := range l.given {
		f := findFlag(slices.Concat(l.app.Flags, l.command.Flags), g.name)
		name := f.Names()[0]
		if seen[name] && !addsUp(f) {
			return fmt.Errorf("--%s is given twice", name)
		}
		seen[name] = true
	}
	return nil
}

// differs reports whether the command is not known yet, and whether the flag takes a value depends on it.
func (l *line) differs(name string) bool {
	if l.known() || findFlag(l.app.Flags, name) != nil {
		return false
	}
	var with, without bool
	eachCommand(l.app.Commands, func(c *cli.Command) {
		if f := findFlag(c.Flags, name); f != nil {
			with, without = with || takesValue(f), without || !takesValue(f)
		}
	})
	return with && without
}

// known reports whether the command is known.
func (l *line) known() bool { return l.command != nil && len(l.commands) == 0 }

// lookup finds a flag of the command; while the command is not known yet, of any command.
func (l *line) lookup(name string) cli.Flag {
	if f := findFlag(l.app.Flags, name); f != nil {
		return f
	}
	if l.known() {
		return findFlag(l.command.Flags, name)
	}
	var found cli.Flag
	eachCommand(l.app.Commands, func(c *cli.Command) {
		if f := findFlag(c.Flags, name); f != nil {
			found = f
		}
	})
	return found
}

// checkFlags refuses flags that stood before a command that does not have them, and flags that are given twice.
func (l *line) checkFlags() error {
	if l.command == nil || len(l.commands) > 0 {
		return nil
	}
	for _, g := range l.given {
		if findFlag(l.app.Flags, g.name) == nil && findFlag(l.command.Flags, g.name) == nil {
			return fmt.Errorf("%s has no flag --%s%s", l.command.Name, g.name, Meant("--", g.name, l.flagNames()))
		}
	}
	return l.checkTwice()
}

// checkArguments compares the number of arguments with ArgsUsage: words in brackets are optional, and a last word
// that ends in … stands for any number.
func (l *line) checkArguments() error {
	names := strings.Fields(l.command.ArgsUsage)
	required := 0
	for _, name := range names {
		if name[0] != '[' {
			required++
		}
	}
	if len(l.arguments) < required {
		return fmt.Errorf("%s is missing", names[len(l.arguments)])
	}
	if more := len(names) > 0 && strings.HasSuffix(strings.TrimSuffix(names[len(names)-1], "]"), "…"); len(l.arguments) > len(names) && !more {
		return fmt.Errorf("unexpected argument %q", l.arguments[len(names)])
	}
	return nil
}

// flagsOf returns those given flags that are among flags, each as one word.
func (l *line) flagsOf(flags []cli.Flag) []string {
	var out []string
	for _, g := range l.given {
		if f := findFlag(flags, g.name); f != nil {
			out = append(out, "--"+f.Names()[0]+"="+g.value)
		}
	}
	return out
}

// isGiven reports whether the flag stands on the command line.
func (l *line) isGiven(f cli.Flag) bool {
	return slices.ContainsFunc(l.given, func(g givenFlag) bool { return slices.Contains(f.Names(), g.name) })
}

func eachCommand(commands []*cli.Command, f func(*cli.Command)) {
	for _, c := range commands {
		f(c)
		eachCommand(c.Subcommands, f)
	}
}

func findFlag(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return !ok || d.TakesValue()
}

// addsUp reports whether a flag may be given several times.
func addsUp(f cli.Flag) bool {
	_, ok := f.(*cli.StringSliceFlag)
	return ok
}

func envVars(f cli.Flag) []string {
	if d, ok := f.(cli.DocGenerationFlag); ok {
		return d.GetEnvVars()
	}
	return nil
}
