// Package settings tells which flags of a process have other values than when it started.
package settings

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"
)

// Values are the values of a command's flags, by name.
type Values map[string]string

// Of reads all flags of a command, as flags, variables and the file of --config have set them.
func Of(c *cli.Context) Values {
	v := Values{}
	for _, f := range slices.Concat(c.App.Flags, c.Command.Flags) {
		name := f.Names()[0]
		v[name] = fmt.Sprint(c.Value(name))
	}
	return v
}

// Differ lists the flags that have another value in now, except those that are named, in the order of their names.
func (v Values) Differ(now Values, except ...string) (names []string) {
	for name, value := range v { // order-free: sorted below
		if now[name] != value && !slices.Contains(except, name) {
			names = append(names, "--"+name)
		}
	}
	slices.Sort(names)
	return names
}
