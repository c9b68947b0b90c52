package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/cmdline"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/health"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/keys"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/member"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/preflight"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/settings"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/supervisor"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/node"
)

// serverSettings are what a server is told.
type serverSettings struct {
	member.Config
	values settings.Values
}

// readServer reads all that a server is told: flags, variables, the file of --config, and the files that they name.
func readServer(p *program, c *cli.Context) (config serverSettings, err error) {
	logging, err := readLogSettings(c, c.String("log-level"))
	if err != nil {
		return config, err
	}
	log := p.openLog(logging)
	if config.Config, err = serverConfig(c); err != nil {
		return config, err
	}
	config.Log, config.LogSettings, config.values = log, logging, settings.Of(c)
	if config.Keys, err = keys.Open(c, mux.Node, config.ID, log); err != nil {
		return config, keyError(c, err)
	}
	if config.Pair, err = keys.OpenPair(c); err != nil {
		return config, keyError(c, err)
	}
	return config, nil
}

// checkServer is `taskrt server --check`.
func checkServer(p *program, c serverSettings) error {
	plan := preflight.Plan{
		Node:   node.Config{ID: c.ID, Dir: c.Dir},
		Listen: []preflight.Port{{Flag: "http", Addr: c.HTTP}, {Flag: "raft", Addr: c.Raft}},
		RunLog: c.values["run-log"],
	}
	plan.Node.Raft.LogStore, plan.Node.Raft.AsNewDisk = c.LogStore, c.AsNewDisk
	running, err := preflight.Check(plan)
	if err != nil {
		return exit.With(exit.Start, err)
	}
	if running {
		return p.stdout.Printf("node %s may start; it runs now, so its ports were not tried\n", c.ID)
	}
	return p.stdout.Printf("node %s may start\n", c.ID)
}

// askHealth is `taskrt server --health`. Nothing is printed but what is wrong.
func askHealth(c *cli.Context) error {
	asked, question := health.Server{HTTP: c.String("http"), Secret: c.String("cluster-secret"), Cert: c.String("tls-cert")}, c.String("health")
	if err := health.Check(asked, question); err != nil {
		return usagef(c, "--health %w", err)
	}
	err := health.Ask(c.Context, asked, question)
	if _, ok := errors.AsType[*fs.PathError](err); ok || err == nil {
		return err
	}
	return exit.With(exit.Unreachable, err)
}

// errReread ends the reading of a command line that was only to be read.
var errReread = errors.New("read")

// rereadServer reads again what readServer has read when this process began.
func rereadServer(p *program) (config serverSettings, err error) {
	app := p.app()
	ordered, err := cmdline.Arrange(app, p.args)
	if err != nil {
		return config, err
	}
	for _, command := range app.Commands {
		if command.Name == "server" {
			command.Action = func(c *cli.Context) error {
				if config, err = readServer(p, c); err != nil {
					return err
				}
				return errReread
			}
		}
	}
	if err := app.Run(ordered); !errors.Is(err, errReread) {
		return config, fmt.Errorf("%w", err)
	}
	return config, nil
}

// reloadServer makes what can be changed now as it was said since: the grants and the level of the log. Keys and certificates are read again
// by themselves when their files change; here they are read to say whether they can be. If anything cannot be read, nothing is changed.
func reloadServer(p *program, running serverSettings) error {
	said, err := rereadServer(p)
	if err != nil {
		return err
	}
	running.Grants.Replace(said.Grants)
	running.LogSettings.Level.Set(said.LogSettings.Level.Level())
	running.Log.Info("the settings were read again", "log_level", said.LogSettings.Level.Level(), "capabilities", said.values["capabilities"])
	if later := running.values.Differ(said.values, "capabilities", "log-level"); len(later) > 0 {
		running.Log.Warn("these flags have other values now, which count from the next start on", "flags", later)
	}
	return nil
}

// serveSupervised runs a member, tells its supervisor how it is, and reads the settings again at each SIGHUP.
func serveSupervised(ctx context.Context, p *program, m *member.Member, config serverSettings, s *supervisor.Supervisor, again <-chan os.Signal) error {
	s.Ready("serves " + m.URL)
	watched, stop := context.WithCancel(ctx)
	defer stop()
	context.AfterFunc(ctx, s.Stopping)
	go s.Watch(watched, m.Node.Alive, func(ctx context.Context) string {
		if err := m.Node.Ready(ctx); err != nil {
			return fmt.Sprintf("serves %s, and is not ready: %v", m.URL, err)
		}
		return "ready: serves " + m.URL
	})
	go func() {
		for {
			select {
			case <-again:
				s.Reload(func() error { return reloadServer(p, config) })
			case <-watched.Done():
				return
			}
		}
	}()
	return m.Run(ctx)
}

// hangups takes SIGHUP from now on, so that it ends no process that has not come as far as to read its settings again.
func hangups() (again chan os.Signal, stop func()) {
	again = make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	return again, func() { signal.Stop(again) }
}
