package cmdline

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
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

// readConfig reads a file of NAME=VALUE lines, which systemd calls an EnvironmentFile. Empty lines and lines that
// begin with # are skipped; a value may stand in double quotes. A name that belongs to no flag is an error.
func readConfig(file string, known map[string]bool) (map[string]string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	values := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(text, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !known[name] {
			return nil, fmt.Errorf("%s:%d: %q is not NAME=VALUE with the variable of a flag", file, n, name)
		}
		if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("%s:%d: %s is given twice", file, n, name)
		}
		values[name] = value
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	return values, nil
}
