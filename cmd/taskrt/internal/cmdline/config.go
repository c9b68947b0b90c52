package cmdline

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// addConfig adds flags from the --config file.
func (l *line) addConfig() error {
	file := os.Getenv(envVars(findFlag(l.app.Flags, "config"))[0])
	for _, g := range l.given {
		if g.name == "config" {
			file = g.value
		}
	}
	if file == "" {
		return nil
	}
	known := map[string]bool{}
	collect := func(flags []cli.Flag) {
		for _, f := range flags {
			for _, v := range envVars(f) {
				known[v] = true
			}
		}
	}
	collect(l.app.Flags)
	eachCommand(l.app.Commands, func(c *cli.Command) { collect(c.Flags) })
	values, err := readConfig(file, known)
	if err != nil {
		return err
	}
	for _, f := range slices.Concat(l.app.Flags, l.command.Flags) {
		for _, v := range envVars(f) {
			value, ok := values[v]
			if _, inEnv := os.LookupEnv(v); ok && !inEnv && !l.isGiven(f) {
				l.given = append(l.given, givenFlag{f.Names()[0], value})
			}
		}
	}
	return nil
}

// ownPrefix begins the names of taskrt's variables.
const ownPrefix = "TASKRT_"

// variableName is what a variable may be called, as systemd has it.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// readConfig reads a file of NAME=VALUE lines in the form of systemd's EnvironmentFile, so that one file can be both. Empty lines and lines
// that begin with # or ; are skipped, a backslash at the end of a line joins the next one to it, and a value may stand in quotes of either
// kind. Variables of others are skipped, too. A variable of taskrt that belongs to no flag is an error: it is a slip of the pen.
func readConfig(file string, known map[string]bool) (map[string]string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	values := map[string]string{}
	rest := strings.Split(string(b), "\n")
	for n := 1; len(rest) > 0; {
		text, used := joined(rest)
		at := fmt.Sprintf("%s:%d", file, n)
		rest, n = rest[used:], n+used
		if text == "" || text[0] == '#' || text[0] == ';' {
			continue
		}
		name, value, ok := strings.Cut(text, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !ok || !variableName.MatchString(name):
			return nil, fmt.Errorf("%s: %q is not NAME=VALUE", at, name)
		case !known[name] && strings.HasPrefix(strings.ToUpper(name), ownPrefix):
			return nil, fmt.Errorf("%s: %q is the variable of no flag", at, name)
		case !known[name]:
			continue
		}
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("%s: %s is given twice", at, name)
		}
		values[name] = unquoted(value)
	}
	return values, nil
}

// joined is the first line, with the lines that its backslashes join to it; used is how many lines it takes. A comment is not joined.
func joined(lines []string) (text string, used int) {
	for used < len(lines) {
		text += strings.TrimRight(lines[used], " \t\r")
		used++
		if comment := strings.IndexAny(strings.TrimSpace(text), "#;") == 0; comment || !strings.HasSuffix(text, `\`) {
			break
		}
		text = strings.TrimSuffix(text, `\`)
	}
	return strings.TrimSpace(text), used
}

// unquoted is a value without the quotes around it.
func unquoted(value string) string {
	for _, quote := range []string{`"`, `'`} {
		if len(value) >= 2 && strings.HasPrefix(value, quote) && strings.HasSuffix(value, quote) {
			return value[1 : len(value)-1]
		}
	}
	return value
}
