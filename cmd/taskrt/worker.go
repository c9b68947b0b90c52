package main

import (
	"errors"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/guests"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/keys"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/lone"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/member"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/supervisor"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/metrics"
	"github.com/taskrt/taskrt/trust"
)

func (p *program) workerCommand() *cli.Command {
	return &cli.Command{
		Name: "worker", Usage: "run tasks in a process of their own", Category: "cluster",
		Flags: append([]cli.Flag{
			stringFlag("", "id", "", "the worker's identity: unique in the cluster, the same for ever"),
			stringFlag("", "dir", "", "directory for its secret, modules and compiled code"),
			serverFlag(), keys.CAFlag(trustFlag), keys.TokenFlag(trustFlag),
			intFlag("", "worker-slots", 0, "tasks to run at the same time; default four per CPU"),
			workerFlag(""),
			runLogFlag(),
			capabilitiesFlag(""),
			stringFlag("worker", "metrics", "", "HOST:PORT to serve GET /metrics for Prometheus on; default: none"),
			httpHostFlag(""),
			boolFlag("", "insecure", "allow --metrics on an address that others can reach, without TLS and tokens"),
		}, keys.Flags(trustFlag)...),
		Action: p.worker,
	}
}

func (p *program) worker(c *cli.Context) error {
	logging, err := readLogSettings(c, c.String("log-level"))
	if err != nil {
		return err
	}
	log := p.openLog(logging)
	for _, required := range []string{"id", "dir"} {
		if c.String(required) == "" {
			return usagef(c, "--%s is required", required)
		}
	}
	if c.Int("worker-slots") < 0 {
		return usagef(c, "--worker-slots must not be negative")
	}
	kind, err := readWorker(c)
	if err != nil {
		return err
	}
	if kind == member.None {
		return usagef(c, "--worker none leaves a worker nothing to do: say process or inline")
	}
	own, err := keys.Open(c, mux.Worker, c.String("id"), log)
	if err != nil {
		return keyError(c, err)
	}
	nodes, err := findNodes(c, own)
	if err != nil {
		return err
	}
	granted, err := readGrants(c)
	if err != nil {
		return err
	}
	listener, door, err := listenMetrics(c)
	if err != nil {
		return err
	}
	if listener != nil {
		defer listener.Close()
	}
	runs, err := guests.OpenRunLog(c.String("run-log"), log)
	if err != nil {
		return usagef(c, "%w", err)
	}
	defer runs.Close()
	supervisor.EndBySignal(log)
	w := lone.Worker{
		ID: c.String("id"), Dir: c.String("dir"), Slots: c.Int("worker-slots"), Nodes: nodes, Inline: kind == member.Inline, Grants: granted, Runs: runs,
		Settings: guests.Settings{Log: logging, CacheDir: filepath.Join(c.String("dir"), "wasm-cache")},
		Metrics:  metrics.New(metricsConfig(log)), Listener: listener, Door: door, Logger: log,
	}
	go keys.Watch(c.Context, nil, own, log)
	err = w.Run(c.Context)
	if _, early := errors.AsType[*lone.StartError](err); early {
		return exit.With(exit.Start, err)
	}
	return exit.OfMember(err)
}

// findNodes reads where the nodes are, whom to trust there and by which tokens to ask. own may be nil.
func findNodes(c *cli.Context, own *trust.Keys) (*lone.Directory, error) {
	config, err := keys.Client(c)
	if err != nil {
		return nil, keyError(c, err)
	}
	if config == nil && own != nil {
		config = own.APIClient()
	}
	tokens, err := keys.WorkerTokens(c, own)
	if err == nil {
		err = keys.HideToken()
	}
	if err != nil {
		return nil, keyError(c, err)
	}
	nodes, err := lone.NewDirectory(serverURLs(c), lone.Trust{Guard: keys.Guard(own), TLS: config, Tokens: tokens})
	if err != nil {
		return nil, usagef(c, "--server: %w", err)
	}
	return nodes, nil
}

func workerFlag(cmd string) cli.Flag {
	return stringFlag(cmd, "worker", member.Child, "where tasks run: process (a child of this one), inline (in this one: a task can end the node), or none")
}

// readWorker reads the flag.
func readWorker(c *cli.Context) (string, error) {
	switch kind := c.String("worker"); kind {
	case member.Child, member.Inline, member.None:
		return kind, nil
	default:
		return "", usagef(c, "--worker must be process, inline or none, not %q", kind)
	}
}

func runLogFlag() cli.Flag {
	return stringFlag("", "run-log", "", "file to append a JSON line to when guest code begins and ends to execute, in ns of CLOCK_BOOTTIME")
}
