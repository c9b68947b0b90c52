package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

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
		Dir:    c.Dir,
		Node:   &node.Config{ID: c.ID, Dir: c.Dir},
		Listen: []preflight.Port{{Flag: "http", Addr: c.HTTP}, {Flag: "raft", Addr: c.Raft}},
		RunLog: c.values["run-log"],
	}
	plan.Node.Raft.LogStore, plan.Node.Raft.AsNewDisk = c.LogStore, c.AsNewDisk
	return checkStart(p, plan, "node "+c.ID)
}

// checkStart says whether what may start.
func checkStart(p *program, plan preflight.Plan, what string) error {
	running, err := preflight.Check(plan)
	if err != nil {
		return exit.With(exit.Start, err)
	}
	if running {
		return p.stdout.Printf("%s may start; it runs now, so its ports were not tried\n", what)
	}
	return p.stdout.Printf("%s may start\n", what)
}

// askHealth is `taskrt server --health`. Nothing is printed but what is wrong.
func askHealth(c *cli.Context) error {
	asked, question := health.Server{HTTP: c.String("http"), Secret: c.String("cluster-secret"), Cert: c.String("tls-cert")}, lower(c, "health")
	if err := health.Check(asked, question); err != nil {
		return usagef(c, "--health %w", err)
	}
	err := health.Ask(c.Context, asked, question)
	if _, ok := errors.AsType[*fs.PathError](err); ok || err == nil {
		return err
	}
	return exit.With(exit.Unreachable, err)
}

// live are the settings that can be changed.
func (c serverSettings) live() settings.Live {
	return settings.Live{Values: c.values, Grants: c.Grants, Level: c.LogSettings.Level, Log: c.Log}
}

// reloadServer reads again what a server was told. Keys and certificates are read again by themselves when their files change; here they are read
// to say whether they can be. If anything cannot be read, nothing is changed.
func reloadServer(p *program, running serverSettings) error {
	var said serverSettings
	err := cmdline.Reread(p.app(), p.args, "server", func(c *cli.Context) (err error) { said, err = readServer(p, c); return err })
	if err == nil {
		running.live().Take(said.live())
	}
	return err
}

// serveSupervised runs a member, and tells its supervisor how it is.
func serveSupervised(ctx context.Context, p *program, m *member.Member, config serverSettings, s *supervisor.Supervisor) error {
	return s.Serve(ctx, supervisor.Process{
		Serves: "serves " + m.URL, Alive: m.Node.Alive, Reload: func() error { return reloadServer(p, config) },
		State: func(ctx context.Context) string {
			if err := m.Node.Ready(ctx); err != nil {
				return fmt.Sprintf("serves %s, and is not ready: %v", m.URL, err)
			}
			return "ready: serves " + m.URL
		},
	}, m.Run)
}
