// Package settings is what a process was told, and what of it can be changed while the process runs.
package settings

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/runtime/grants"
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

// Differ lists the flags that have another value in now, except the flags that are named, in the order of their names.
func (v Values) Differ(now Values, except ...string) (names []string) {
	for name, value := range v { // order-free: sorted below
		if now[name] != value && !slices.Contains(except, name) {
			names = append(names, "--"+name)
		}
	}
	slices.Sort(names)
	return names
}

// Live are the settings of a server or a worker that can be changed while it runs, and the values of all.
type Live struct {
	Values Values
	Grants *grants.Grants
	Level  *slog.LevelVar
	Log    *slog.Logger
}

// Take makes what can be changed now as it was said since: the grants and the level of the log. It names the flags whose new values have to wait.
func (l Live) Take(said Live) {
	l.Grants.Replace(said.Grants)
	l.Level.Set(said.Level.Level())
	l.Log.Info("the settings were read again", "log_level", said.Level.Level(), "capabilities", said.Values["capabilities"])
	if later := l.Values.Differ(said.Values, "capabilities", "log-level"); len(later) > 0 {
		l.Log.Warn("these flags have other values now, which count from the next start on", "flags", later)
	}
}
