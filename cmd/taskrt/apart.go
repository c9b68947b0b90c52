package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api/children"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/heap"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/compiler"
	"github.com/taskrt/taskrt/runtime/grants"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
	"github.com/taskrt/taskrt/worker/child"
)

// Commands that this program starts by itself, in processes of their own (SPEC L5). They are no commands for people.
const (
	guestsCommand  = "guests"
	compileCommand = "compile"
)

// apart runs this process as one of those, if it is.
func apart(args []string) (code int, is bool) {
	if len(args) < 2 {
		return 0, false
	}
	switch args[1] {
	case guestsCommand:
		return child.Run(args[2:], guestsParts), true
	case compileCommand:
		return compiler.Run(), true
	}
	return 0, false
}

// Where a server's tasks run.
const (
	workerChild  = "process"
	workerInline = "inline"
	workerNone   = "none"
)

func workerFlag(cmd, value string) cli.Flag {
	return stringFlag(cmd, "worker", value, "where tasks run: process (a child of this one), inline (in this one: a task can end the node), or none")
}

// readWorker reads the flag.
func readWorker(c *cli.Context) (string, error) {
	switch kind := c.String("worker"); kind {
	case workerChild, workerInline, workerNone:
		return kind, nil
	default:
		return "", usagef(c, "--worker must be process, inline or none, not %q", kind)
	}
}

// guestsMemory is what a process with guests may take besides their linear memory: compiled code, modules, its own heap.
const guestsMemory = 1 << 30

// guestsSettings is what the guests' process needs to know beside what its worker does.
type guestsSettings struct {
	Node     string
	Log      logSettings
	CacheDir string
	Grants   string // file; "": nothing is granted
}

// outside compiles and runs the modules of a member in other processes.
type outside struct {
	service  *compiler.Service
	settings guestsSettings
	runs     *runLog
	compiled func(runtime.Compiled)
}

func newOutside(s guestsSettings, runs *runLog, log *slog.Logger, compiled func(runtime.Compiled)) *outside {
	return &outside{
		service: compiler.New(compiler.Config{
			Args: []string{compileCommand}, CacheDir: s.CacheDir, CacheBytes: runtime.DefaultCacheBytes, OnCompile: compiled, Logger: log,
		}),
		settings: s, runs: runs, compiled: compiled,
	}
}

// guests is node.Config's Guests.
func (o *outside) guests(w worker.Config, crashed func(context.Context, task.CrashSession)) (node.Guests, error) {
	return o.parent(w, crashed)
}

// parent makes the parent of a worker in a child.
func (o *outside) parent(w worker.Config, crashed func(context.Context, task.CrashSession)) (outsideGuests, error) {
	cfg := child.Config{
		Worker: w, AloneDir: filepath.Join(filepath.Dir(w.Dir), "alone"), Args: []string{guestsCommand}, Settings: o.settings, OnCompile: o.compiled,
		MemoryBytes: runtime.DefaultMemoryBudget + guestsMemory,
		Compile: func(ctx context.Context, digest string, size int64) error {
			wasm, err := w.Modules.Fetch(ctx, digest, size)
			if err != nil {
				return err
			}
			return o.service.Compile(ctx, wasm)
		},
	}
	cfg.OnCrash = func(ctx context.Context, c child.Crash) {
		o.runs.died(c.PID, c.Session.Tokens, c.At)
		if c.Session.Proof != nil {
			crashed(ctx, c.Session)
		}
	}
	if o.runs != nil {
		cfg.Files = []*os.File{o.runs.file}
	}
	parent, err := child.New(cfg)
	return outsideGuests{parent, o.service}, err
}

// outsideGuests are the guests of a child; only compiling knows the size of the cache.
type outsideGuests struct {
	*child.Parent
	service *compiler.Service
}

// Report implements node.Guests.
func (g outsideGuests) Report() (worker.Status, runtime.Stats) {
	w, e := g.Parent.Report()
	e.CacheBytes = g.service.CacheBytes()
	return w, e
}

// guestsParts makes what is special about taskrt's guests' process.
func guestsParts(m child.Means) (child.Parts, error) {
	var s guestsSettings
	if err := json.Unmarshal(m.Settings, &s); err != nil {
		return child.Parts{}, err
	}
	heap.Tend()
	log := s.Log.open(os.Stderr)
	if s.Node != "" {
		log = log.With("node", s.Node)
	}
	config := runtime.Config{CacheDir: s.CacheDir, Compile: m.Compile, CheckChild: children.Check, Logger: log, OnCompile: m.OnCompile}
	if s.Grants != "" {
		var err error
		if config.Grants, err = grants.Read(s.Grants); err != nil {
			return child.Parts{}, err
		}
	}
	engine, err := runtime.New(config)
	if err != nil {
		return child.Parts{}, err
	}
	p := child.Parts{Runner: worker.Engine(engine), Stats: engine.Stats, Logger: log, Close: engine.Close}
	if len(m.Files) == 1 {
		p.OnRun = (&runLog{file: m.Files[0], log: log}).hook()
	}
	return p, nil
}

// logSettings is how a log is written.
type logSettings struct {
	Level slog.Level
	JSON  bool
}

func (s logSettings) open(w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: s.Level}
	if s.JSON {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
