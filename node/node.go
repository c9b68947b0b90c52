package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt"
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/api/jobs"
	"github.com/taskrt/taskrt/api/snapshot"
	"github.com/taskrt/taskrt/internal/durable"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/node/accept"
	"github.com/taskrt/taskrt/node/access"
	"github.com/taskrt/taskrt/node/audit"
	"github.com/taskrt/taskrt/node/bulk"
	"github.com/taskrt/taskrt/node/files"
	asking "github.com/taskrt/taskrt/node/insight"
	"github.com/taskrt/taskrt/node/lead"
	"github.com/taskrt/taskrt/node/logs"
	"github.com/taskrt/taskrt/node/membership"
	"github.com/taskrt/taskrt/node/peers"
	"github.com/taskrt/taskrt/node/query"
	"github.com/taskrt/taskrt/node/saving"
	"github.com/taskrt/taskrt/node/scheduled"
	"github.com/taskrt/taskrt/node/service"
	"github.com/taskrt/taskrt/node/signin"
	"github.com/taskrt/taskrt/node/tokens"
	"github.com/taskrt/taskrt/node/wait"
	"github.com/taskrt/taskrt/node/watch"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
)

var _ api.Service = (*Node)(nil)

// These are wrapped by why a node stops whose directory takes part no longer: the node was removed from its cluster (SPEC C2), or it has gone on
// with another directory (SPEC C7).
var (
	ErrRemoved    = raftstore.ErrRemoved
	ErrSuperseded = raftstore.ErrSuperseded
)

// Node is one member of a cluster. Its Service is the in-process one.
type Node struct {
	*service.Service

	cfg     Config
	store   *raftstore.Store
	files   *files.Files
	logs    *logs.Store
	engine  *runtime.Engine
	waits   *wait.Dispatcher
	changes *watch.Feed
	peers   *peers.Peers
	hub     *lead.Hub
	accepts *accept.Client
	found   *query.Index
	jobs    *bulk.Manager
	gate    *access.Gate // nil: the cluster is open
	desk    *signin.Desk
	saver   *saving.Saver
	audit   *audit.Reader
	refused *audit.Refusals
	workers workers

	backupFailures atomic.Int64

	fatal chan struct{} // closed when the node must stop by itself

	mu       sync.Mutex
	err      error // why fatal was closed
	closeErr error
	once     sync.Once

	cancel context.CancelFunc // ends the parts that start runs, except servers, hub and workers
	wg     sync.WaitGroup     // servers and all that start runs, except workers
}

const (
	readyTimeout     = time.Second
	closeTimeout     = 10 * time.Second
	subscribeEntries = 4096 // how many log entries' events may wait for a subscriber of this node
)

// settlePatience is how long a stopping node waits for the leader to hear that its accepts are over.
const settlePatience = 2 * time.Second

// New opens a node's directory and starts it. When New returns the Service works, as far as there is a leader. Run or
// Close must follow.
func New(cfg Config) (*Node, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, fatal: make(chan struct{})}
	if err := n.open(); err != nil {
		return nil, errors.Join(err, n.release())
	}
	if err := n.start(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// open opens everything that lies on disk.
func (n *Node) open() error {
	cfg := &n.cfg
	err := durable.MkdirAll(cfg.Dir)
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	if n.logs, err = logs.Open(filepath.Join(cfg.Dir, "logs"), cfg.LogBytes); err != nil {
		return err
	}
	if n.files, err = files.Open(cfg.filesConfig()); err != nil {
		return err
	}
	if n.engine, err = runtime.New(cfg.runtimeConfig()); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	n.store, err = raftstore.Open(cfg.storeConfig(n.fail))
	return err
}

// start starts the parts. They all run until Close.
func (n *Node) start() error {
	cfg := &n.cfg
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	n.changes = watch.NewFeed(watch.Config{Local: n.store.Local, Encode: service.EventEncoder(n.store.Local)})
	runner := bulk.NewRunner(n.store, n.files, cfg.Logger)
	told := wait.Told{Removed: n.forget, Jobs: runner.Wake}
	if cfg.OnLapse != nil {
		told.Lapsed = func(t *task.Task) {
			if id, _ := n.store.Leader(); id == cfg.ID { // one node tells
				cfg.OnLapse(t)
			}
		}
	}
	if cfg.Tokens != nil {
		n.gate = tokens.NewGate(n.store, cfg.Tokens)
		n.wg.Go(func() { n.gate.Run(ctx) })
		told.Tokens = n.gate.Changed
		told.Audit = func() { n.audit.Wake() } // it is made below, before anything is told
	}
	n.waits = wait.New(func() wait.Subscription { return n.store.Subscribe(subscribeEntries) }, n.store.Local, told, n.changes)
	n.found = query.New(query.Config{Subscribe: func() query.Subscription { return n.store.Subscribe(subscribeEntries) }, Local: n.store.Local})
	progress := peers.NewProgress(cfg.Net, n.changes, cfg.Addr, n.store.Follow, cfg.Logger)
	n.peers = peers.New(cfg.Net, cfg.Logger, n.answerPeer, progress)
	n.accepts = accept.NewClient(accept.Config{Net: cfg.Net, Follow: n.store.Follow, Logger: cfg.Logger})
	n.Service = service.New(service.Config{
		Store: n.store, Files: n.files, Modules: modules{n}, Members: members{n}, Accepts: n.accepts, Waits: n.waits, Found: n.found, Changes: n.changes,
		Clock: cfg.Clock, Maintenance: cfg.Maintenance, Logger: cfg.Logger,
	})
	n.desk = signin.New(n.Log())
	n.jobs = bulk.NewManager(n.Log(), n.store.Freeze)
	n.saver = saving.New(saving.Config{
		Log: n.Log(), State: n.store, Files: n.files, Node: cfg.ID, Version: taskrt.Version, Cluster: n.store.Cluster,
		Now: cfg.Clock.Wall, Logger: cfg.Logger,
		Schedule: func(ctx context.Context) (*snapshot.BeginReply, error) { return scheduled.Begin(ctx, n.Log()) },
	})
	n.audit, n.refused = audit.NewReader(n.Log(), n.gate), audit.NewRefusals()
	n.wg.Go(func() { n.refused.Run(ctx, n.noteRefusals) })
	n.hub = lead.New(lead.Config{
		ID: cfg.ID, TTL: cfg.SessionTTL, Store: n.store, Clock: cfg.Clock, Logs: n.logs, Logger: cfg.Logger,
		Subscribe:   func() lead.Subscription { return n.store.Subscribe(subscribeEntries) },
		Maintenance: cfg.Maintenance, Progress: progress.Publish, Children: n.Children,
		Backups: func(m *task.Machine) ([]task.Command, error) { return scheduled.Seeds(m, cfg.Backups) }, Beside: []func(context.Context){runner.Run},
	})
	n.files.Begin(n.store, func() files.Subscription { return n.store.Subscribe(subscribeEntries) })
	n.wg.Go(func() { n.files.Run(ctx) })
	n.wg.Go(func() { n.waits.Run(ctx) })
	n.wg.Go(func() { n.found.Run(ctx) })
	n.wg.Go(func() { progress.Run(ctx) })
	n.wg.Go(func() { n.accepts.Run(ctx) })
	n.wg.Go(func() { n.hub.Lead(n.store.Leadership()) })
	n.serve("streams", func() error { return n.hub.ServeWorkers(cfg.Net) })
	n.serve("accepts", func() error { return n.hub.ServeAccepts(cfg.Net) })
	n.serve("peers", n.peers.Serve)
	n.serve("blobs", func() error { return n.files.Serve(cfg.Net.Listen(mux.Blob)) })
	return n.startWorkers()
}

// serve runs one server. If the server ends by itself the node stops, because half a node is worse than none.
func (n *Node) serve(what string, run func() error) {
	n.wg.Go(func() {
		if err := run(); err != nil {
			n.fail(fmt.Errorf("node: serve %s: %w", what, err))
		}
	})
}

// forget drops what this node keeps beside the log for a task that has been removed.
func (n *Node) forget(key task.Key) {
	if err := n.logs.Remove(key); err != nil {
		n.cfg.Logger.Warn("cannot remove the log of a removed task", "task", key.ID, "err", err)
	}
}

// fail makes Run return err. Reasons are a state that differs from the majority's, a disk that fails, a server that
// ended.
func (n *Node) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err != nil {
		return
	}
	n.err = err
	n.cfg.Logger.Error("this node must stop", "err", err)
	close(n.fatal)
	if n.cfg.OnFatal != nil {
		go n.cfg.OnFatal(err)
	}
}

func (n *Node) failed() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

// Run waits until ctx ends or the node must stop by itself, and closes the node. The error says why the node had to
// stop, or what went wrong while it closed.
func (n *Node) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-n.fatal:
	}
	err := n.Close()
	return errors.Join(n.failed(), err)
}

// Close stops the node in three steps. Its own worker gives back what it runs and ends its session while the leader,
// perhaps this node, can still hear it. Then the streams of other workers end. Then leadership is handed over. A second
// Close returns the error of the first.
func (n *Node) Close() error {
	n.once.Do(func() {
		n.EndWaits()
		n.closeErr = n.stop()
	})
	return n.closeErr
}

func (n *Node) stop() error {
	var errs []error
	n.changes.Close()
	errs = append(errs, n.workers.stop())
	actx, acancel := context.WithTimeout(context.Background(), settlePatience)
	n.accepts.Settled(actx)
	acancel()
	n.hub.Close()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := n.store.Close(ctx); err != nil {
		errs = append(errs, fmt.Errorf("node: %w", err))
	}
	n.peers.Close()
	n.cancel()
	errs = append(errs, n.files.Close())
	n.wg.Wait()
	errs = append(errs, n.engine.Close(ctx))
	return errors.Join(errs...)
}

// release closes what a failed open has opened.
func (n *Node) release() error {
	var errs []error
	if n.files != nil {
		errs = append(errs, n.files.Close())
	}
	if n.engine != nil {
		errs = append(errs, n.engine.Close(context.Background()))
	}
	return errors.Join(errs...)
}

// Gate knows who makes a request. It is nil in a cluster that is open.
func (n *Node) Gate() *access.Gate { return n.gate }

// Guarded returns the Service for requests that come through the Gate. In a cluster that is open it is the node itself.
func (n *Node) Guarded() api.Service {
	if n.gate == nil {
		return n
	}
	return tokens.Guard(n.gate, n, n.Log())
}

// Insight explains to callers that may know it why something does not go on.
func (n *Node) Insight() insight.Insight {
	x := asking.New(asking.Config{
		Log: n.Log(), Found: n.found, Leader: n.askLeader, Leads: func() bool { id, _ := n.store.Leader(); return id != "" },
	})
	if n.gate == nil {
		return x
	}
	return tokens.GuardInsight(n.gate, x, n.Log())
}

// Jobs starts, shows and cancels bulk jobs, for callers that may do so.
func (n *Node) Jobs() jobs.Jobs {
	if n.gate == nil {
		return n.jobs
	}
	return tokens.GuardJobs(n.gate, n.jobs, n.Log())
}

// Refused counts a request that this node has refused for lack of a role.
func (n *Node) Refused(x auth.Refusal) { n.refused.Count(x) }

// noteRefusals tells the log of refusals.
func (n *Node) noteRefusals(ctx context.Context, all []task.Refusal) (again bool) {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	rs, err := n.store.Propose(ctx, task.NoteRefusals{Refusals: all})
	if err == nil && rs[0].Code != task.OK {
		n.cfg.Logger.Error("refusals are not recorded", "code", rs[0].Code, "field", rs[0].Field, "message", rs[0].Message)
	}
	return err != nil && !errors.Is(err, raftstore.ErrOutcomeUnknown) // what may be counted already is not counted again
}

// noteTimeout bounds one attempt to tell the log of refusals.
const noteTimeout = 10 * time.Second

// Audit shows who changed what (SPEC A8). In a cluster that is open there is nothing to show, and nobody to ask.
func (n *Node) Audit() *audit.Reader { return n.audit }

// Tokens manages the cluster's access tokens.
func (n *Node) Tokens() tokens.Manager { return tokens.NewManager(n.Log()) }

// SignIn lets people and workloads begin sessions.
func (n *Node) SignIn() *signin.Desk { return n.desk }

// Membership changes who votes, who belongs to the cluster, and who leads.
func (n *Node) Membership() membership.Manager {
	return membership.New(n.Log(), n, n.store.Changes(), func() string { id, _ := n.store.Leader(); return id })
}

// Snapshots saves backups of the cluster.
func (n *Node) Snapshots() *saving.Saver { return n.saver }

// Store is the replicated store, for tests and for tools in the same process.
func (n *Node) Store() *raftstore.Store { return n.store }
