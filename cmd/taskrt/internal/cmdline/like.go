package cmdline

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"
)

// like is the first of the names that differs least from what was given, "" if none is near: a letter of three may be wrong, two of four.
func like(given string, names []string) (nearest string) {
	least := (len(given)+2)/3 + 1
	for _, name := range names {
		if differ := smetrics.WagnerFischer(strings.ToLower(given), strings.ToLower(name), 1, 1, 1); differ < least {
			nearest, least = name, differ
		}
	}
	return nearest
}

// Meant is the end of an error about a name that nobody knows: what may have been meant.
func Meant(prefix, given string, names []string) string {
	if nearest := like(given, names); nearest != "" {
		return fmt.Sprintf("; did you mean %s%s?", prefix, nearest)
	}
	return ""
}

// commandNames are the names that may follow, and flagNames are the names of the flags that may be given.
func (l *line) commandNames() (names []string) {
	for _, c := range l.commands {
		names = append(names, c.Names()...)
	}
	return names
}

func (l *line) flagNames() (names []string) {
	add := func(flags []cli.Flag) {
		for _, f := range flags {
			names = append(names, f.Names()[0])
		}
	}
	add(l.app.Flags)
	if l.command != nil && len(l.commands) == 0 {
		add(l.command.Flags)
		return names
	}
	eachCommand(l.app.Commands, func(c *cli.Command) { add(c.Flags) })
	return names
}
