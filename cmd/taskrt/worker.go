package main

import (
	"cmp"
	"errors"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/cmdline"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/guests"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/keys"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/lone"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/member"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/preflight"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/settings"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/supervisor"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/metrics"
	"github.com/taskrt/taskrt/runtime/grants"
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
			boolFlag("worker", "check", "only check flags, files, directory and ports as a start would; start nothing, change nothing"),
		}, keys.Flags(trustFlag)...),
		Action: p.worker,
	}
}

// workerSettings are what a worker is told.
type workerSettings struct {
	lone.Worker
	keys    *trust.Keys
	metrics string // where it listens; "": nowhere
	live    settings.Live
}

// readWorkerSettings reads all that a worker is told but where the nodes are: flags, variables, the file of --config, and the files that they name.
func readWorkerSettings(p *program, c *cli.Context) (w workerSettings, err error) {
	logging, err := readLogSettings(c, c.String("log-level"))
	if err != nil {
		return w, err
	}
	w.Logger = p.openLog(logging)
	w.ID, w.Dir, w.Slots = c.String("id"), c.String("dir"), c.Int("worker-slots")
	w.Settings = guests.Settings{Log: logging, CacheDir: filepath.Join(w.Dir, "wasm-cache")}
	for _, required := range []string{"id", "dir"} {
		if c.String(required) == "" {
			return w, usagef(c, "--%s is required", required)
		}
	}
	if w.Slots < 0 {
		return w, usagef(c, "--worker-slots must not be negative")
	}
	kind, err := readWorker(c)
	if err != nil {
		return w, err
	}
	if w.Inline = kind == member.Inline; kind == member.None {
		return w, usagef(c, "--worker none leaves a worker nothing to do: say process or inline")
	}
	if w.keys, err = keys.Open(c, mux.Worker, w.ID, w.Logger); err != nil {
		return w, keyError(c, err)
	}
	granted, err := readGrants(c)
	if err != nil {
		return w, err
	}
	w.Grants = cmp.Or(granted, &grants.Grants{}) // which can be replaced
	w.live = settings.Live{Values: settings.Of(c), Grants: w.Grants, Level: logging.Level, Log: w.Logger}
	w.metrics, w.Door, err = readMetrics(c)
	return w, err
}

func (p *program) worker(c *cli.Context) error {
	w, err := readWorkerSettings(p, c)
	if err == nil {
		w.Nodes, err = findNodes(c, w.keys)
	}
	if err != nil {
		return err
	}
	if c.Bool("check") {
		plan := preflight.Plan{Dir: w.Dir, RunLog: c.String("run-log")}
		if w.metrics != "" {
			plan.Listen = []preflight.Port{{Flag: "metrics", Addr: w.metrics}}
		}
		return checkStart(p, plan, "worker "+w.ID)
	}
	if w.Supervisor, err = supervisor.Open(w.Logger); err != nil {
		return usagef(c, "%w", err)
	}
	defer w.Supervisor.Close()
	w.Reload = func() error {
		var said workerSettings
		err := cmdline.Reread(p.app(), p.args, "worker", func(c *cli.Context) (err error) { said, err = readWorkerSettings(p, c); return err })
		if err == nil {
			w.live.Take(said.live)
		}
		return err
	}
	if w.Listener, err = listenMetrics(w.metrics); err != nil {
		return err
	}
	if w.Listener != nil {
		defer w.Listener.Close()
	}
	if w.Runs, err = guests.OpenRunLog(c.String("run-log"), w.Logger); err != nil {
		return usagef(c, "%w", err)
	}
	defer w.Runs.Close()
	w.Metrics, w.Version = metrics.New(metricsConfig(w.Logger)), metricsConfig(nil).Version
	go keys.Watch(c.Context, nil, w.keys, w.Logger)
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
	switch kind := lower(c, "worker"); kind {
	case member.Child, member.Inline, member.None:
		return kind, nil
	default:
		return "", usagef(c, "--worker must be process, inline or none, not %q", kind)
	}
}

func runLogFlag() cli.Flag {
	return stringFlag("", "run-log", "", "file to append a JSON line to when guest code begins and ends to execute, in ns of CLOCK_BOOTTIME")
}
