package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/taskrt/taskrt/api/children"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/node/access"
	"github.com/taskrt/taskrt/node/audit"
	"github.com/taskrt/taskrt/node/files"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/node/scheduled"
	"github.com/taskrt/taskrt/node/service"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
)

// DefaultSessionTTL and MinSessionTTL bound how fast the loss of a worker is noticed (SPEC L2).
const (
	DefaultSessionTTL = 10 * time.Second
	MinSessionTTL     = 2 * time.Second
)

// Config configures a Node. Zero values mean the defaults.
type Config struct {
	// ID is the identity of the node, and of its built-in worker (SPEC C1).
	ID string
	// Dir holds everything that the node keeps: the log, snapshots, blobs, logs, compiled modules, the worker's secret.
	Dir string
	// Addr is the node-to-node address that other nodes dial. HTTPAdvertise is the HTTP address that clients are told.
	Addr          string
	HTTPAdvertise string
	// Join and BootstrapExpect are raftstore's: the first start, a restart and a rejoin have the same command line (SPEC
	// C1).
	Join            []string
	BootstrapExpect int
	// Net listens on Addr and dials. The node takes its protocols from it. Its owner closes it.
	Net mux.Network
	// Tokens are the hashes of the tokens that follow from the secrets of this process. It is asked with each request (SPEC A4). nil: the
	// cluster is open, and nobody is asked for a token.
	Tokens func() access.Static

	// Worker makes the node run tasks itself, Slots of them at a time (0: the worker's default).
	Worker bool
	Slots  int
	// Maintains makes a node without Worker run maintenance all the same, in a session of one slot that runs nothing
	// else. In a cluster whose nodes only keep state somebody has to run it (SPEC M1).
	Maintains bool
	// Guests starts the process that runs the modules of a node with Worker. It gets the configuration that a worker in
	// this process would have, without Runner and Native; native behaviors then have a session of their own here. When
	// such a process has died, crashed must be told before the next one is started. nil: modules run in this process.
	Guests func(w worker.Config, crashed func(context.Context, task.CrashSession)) (Guests, error)
	// Inspect is runtime.Engine's, for a node that compiles and tries uploads in another process. nil: this process does
	// it.
	Inspect func(ctx context.Context, wasm []byte, given *manifest.Manifest, name string) (*runtime.Inspected, error)
	// SessionTTL is the TTL of the sessions that are opened while this node leads; default 10 s, at least 2 s.
	SessionTTL time.Duration
	// DrainTime is how long running attempts may go on at shutdown before they are stopped (0: the worker's default).
	DrainTime time.Duration

	// Maintenance configures the runs that remove what is no longer needed. It should be the same on all nodes. The
	// leader's configuration says how often a run begins. The node that carries out the run takes the rest from its own
	// configuration.
	Maintenance maintain.Config

	// Backups says where this node backs the cluster up to, if its worker is given the task. It should be the same on all nodes.
	Backups scheduled.Config

	// LogBytes bounds the logs of attempts on this node's disk; default 256 MiB.
	LogBytes int64
	// Version is shown in the cluster's status.
	Version string
	Logger  *slog.Logger // default slog.Default

	// OnFatal is told why the node must stop. Run returns the same error.
	OnFatal func(error)

	// Raft tunes the store: its timeouts and sizes are used, its identity, network and clock are not.
	Raft raftstore.Config
	// Runtime tunes the engine; CacheDir defaults to a folder of Dir.
	Runtime runtime.Config

	// Clock and Boottime are fields so that tests can move them; default: the machine's clocks.
	Clock    raftstore.Clock
	Boottime func() time.Duration
	// CreateBlob is blob.Config's Create: with it tests make a disk full.
	CreateBlob func(dir, pattern string) (blob.TempFile, error)
	// OnRun is told when guest code begins and ends to execute here; by it tests prove SPEC L1.
	OnRun func(worker.Run)
	// OnEnd is worker.Config's: it is told of each assignment of the built-in worker that is over.
	OnEnd func(worker.Ended)
	// OnLapse, if set, has OnEnd told of spans, and is told itself, while this node leads, of records of tasks whose last attempt no worker of a node
	// tells of (SPEC U2). It must not block.
	OnLapse func(*task.Task)
	// OnOverrun is worker.Config's: what to do when a guest cannot be stopped in time. Default: the process exits.
	OnOverrun func(worker.Overrun)
}

func (c Config) withDefaults() (Config, error) {
	if c.SessionTTL == 0 {
		c.SessionTTL = DefaultSessionTTL
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Clock == nil {
		c.Clock = raftstore.SystemClock()
	}
	if c.Runtime.CacheDir == "" {
		c.Runtime.CacheDir = filepath.Join(c.Dir, "wasm-cache")
	}
	c.Logger = c.Logger.With("node", c.ID)
	c.Maintenance = c.Maintenance.WithDefaults()
	return c, c.Validate()
}

// Validate reports the first field that makes no sense.
func (c Config) Validate() error {
	switch {
	case c.ID == "":
		return errors.New("node: ID is empty")
	case c.Dir == "":
		return errors.New("node: Dir is empty")
	case c.Addr == "":
		return errors.New("node: Addr is empty")
	case c.Net == nil:
		return errors.New("node: Net is missing")
	case c.SessionTTL < MinSessionTTL:
		return fmt.Errorf("node: SessionTTL %v is below %v", c.SessionTTL, MinSessionTTL)
	case c.Slots < 0:
		return fmt.Errorf("node: Slots is negative: %d", c.Slots)
	case c.LogBytes < 0:
		return fmt.Errorf("node: LogBytes is negative: %d", c.LogBytes)
	}
	return errors.Join(c.Maintenance.Validate(), c.Backups.Validate())
}

func (c *Config) storeConfig(fatal func(error)) raftstore.Config {
	s := c.Raft
	s.ID, s.Dir, s.Addr, s.HTTP = c.ID, filepath.Join(c.Dir, "raft"), c.Addr, c.HTTPAdvertise
	s.Join, s.BootstrapExpect, s.Net = c.Join, c.BootstrapExpect, c.Net
	s.Clock, s.Logger, s.OnFatal, s.Caller = c.Clock, c.Logger, fatal, service.Caller
	s.Called = audit.Called
	return s
}

func (c *Config) filesConfig() files.Config {
	return files.Config{Dir: filepath.Join(c.Dir, "blobs"), Net: c.Net, Logger: c.Logger, Create: c.CreateBlob}
}

func (c *Config) runtimeConfig() runtime.Config {
	r := c.Runtime
	if r.Logger == nil {
		r.Logger = c.Logger
	}
	if r.Boottime == nil {
		r.Boottime = c.Boottime
	}
	r.CheckChild = children.Check
	if c.Guests != nil || c.Inspect != nil {
		r.CacheDir = "" // others compile
	}
	return r
}
