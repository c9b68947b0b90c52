// Package guests compiles and runs the modules of a server or a worker in processes of their own (SPEC L5).
package guests

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/taskrt/taskrt/api/children"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/heap"
	"github.com/taskrt/taskrt/internal/cgroup"
	"github.com/taskrt/taskrt/internal/wall"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/codecache"
	"github.com/taskrt/taskrt/runtime/compiler"
	"github.com/taskrt/taskrt/runtime/grants"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
	"github.com/taskrt/taskrt/worker/child"
)

// Commands that this program starts by itself. They are no commands for people.
const (
	guestsCommand  = "guests"
	compileCommand = "compile"
)

// Main runs this process as one of these commands, if args name one.
func Main(args []string) (code int, is bool) {
	if len(args) < 2 {
		return 0, false
	}
	switch args[1] {
	case guestsCommand:
		return child.Run(args[2:], parts), true
	case compileCommand:
		return compiler.Run(), true
	}
	return 0, false
}

// besidesMemory is what a process with guests may take besides their linear memory: compiled code, modules, its own heap.
const besidesMemory = 1 << 30

// group is the cgroup of this process. All nodes of a process have one.
var group = sync.OnceValue(cgroup.Own)

// Settings is what the guests' process needs to know beside what its worker needs.
type Settings struct {
	Node     string
	Log      LogSettings
	CacheDir string
}

// Outside compiles and runs modules in other processes.
type Outside struct {
	// Service compiles.
	Service  *compiler.Service
	settings Settings
	granted  *grants.Grants
	runs     *RunLog
	compiled func(runtime.Compiled)
}

// New returns an Outside. granted and runs may be nil; compiled is told of every module that was made ready.
func New(s Settings, granted *grants.Grants, runs *RunLog, log *slog.Logger, compiled func(runtime.Compiled)) *Outside {
	return &Outside{
		Service: compiler.New(compiler.Config{
			Args: []string{compileCommand}, Cgroup: group(), CacheDir: s.CacheDir, CacheBytes: runtime.DefaultCacheBytes, OnCompile: compiled, Logger: log,
		}),
		settings: s, granted: granted, runs: runs, compiled: compiled,
	}
}

// Guests is node.Config's Guests.
func (o *Outside) Guests(w worker.Config, crashed func(context.Context, task.CrashSession)) (node.Guests, error) {
	return o.Parent(w, crashed)
}

// Parent makes the parent of a worker in a child. crashed is told of each session whose process has died.
func (o *Outside) Parent(w worker.Config, crashed func(context.Context, task.CrashSession)) (Parent, error) {
	cfg := child.Config{
		Worker: w, AloneDir: filepath.Join(filepath.Dir(w.Dir), "alone"), Args: []string{guestsCommand}, Settings: o.settings, OnCompile: o.made,
		Grants: o.granted, CheckChild: children.Check, Cgroup: group(), MemoryBytes: runtime.DefaultMemoryBudget + besidesMemory,
		Compile: func(ctx context.Context, digest string, size int64) error {
			wasm, err := w.Modules.Fetch(ctx, digest, size)
			if err != nil {
				return err
			}
			return o.Service.Compile(ctx, wasm)
		},
	}
	cfg.OnCrash = func(ctx context.Context, c child.Crash) {
		o.runs.died(c.PID, c.Session.Tokens, c.At)
		if c.Session.Proof != nil {
			crashed(ctx, c.Session)
		}
	}
	if err := codecache.Prepare(o.settings.CacheDir); err != nil { // behind its wall the child opens no directory that is made later
		return Parent{}, err
	}
	if o.runs != nil {
		cfg.Files = []*os.File{o.runs.file}
	}
	parent, err := child.New(cfg)
	return Parent{parent, o.Service}, err
}

// made is told of a module that a child has made ready. The child reads the cache and cannot say there that it has used it.
func (o *Outside) made(c runtime.Compiled) {
	if c.Cached {
		codecache.Used(o.settings.CacheDir, c.Digest)
	}
	o.compiled(c)
}

// guestFiles is how many files a guests' process may have open: each slot has a call to the server and 10 blobs at most, and each module
// an image.
const guestFiles = 16 << 10

// Parent is the parent of a child that runs guests. Only the service that compiles knows the size of the cache.
type Parent struct {
	*child.Parent
	service *compiler.Service
}

// Report implements node.Guests.
func (g Parent) Report() (worker.Status, runtime.Stats) {
	w, e := g.Parent.Report()
	e.CacheBytes = g.service.CacheBytes()
	return w, e
}

// parts makes what is special about taskrt's guests' process.
func parts(m child.Means) (child.Parts, error) {
	var s Settings
	if err := json.Unmarshal(m.Settings, &s); err != nil {
		return child.Parts{}, err
	}
	heap.Tend()
	log := s.Log.Open(os.Stderr)
	if s.Node != "" {
		log = log.With("node", s.Node)
	}
	config := runtime.Config{CacheDir: s.CacheDir, Compile: m.Compile, CheckChild: children.Check, Logger: log, OnCompile: m.OnCompile}
	engine, err := runtime.New(config)
	if err != nil {
		return child.Parts{}, err
	}
	p := child.Parts{
		Runner: worker.Engine(engine), Stats: engine.Stats, Logger: log, Close: engine.Close,
		Wall: &wall.Plan{Reads: []string{s.CacheDir}, Files: guestFiles},
	}
	if len(m.Files) == 1 {
		p.OnRun = (&RunLog{file: m.Files[0], log: log}).Hook()
	}
	return p, nil
}

// LogSettings is how a log is written. The level may be changed while it is written; a process that is started later begins with the level that holds then.
type LogSettings struct {
	Level *slog.LevelVar
	JSON  bool
}

// Open returns a log that is written to w.
func (s LogSettings) Open(w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: s.Level}
	if s.JSON {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
