// Package member puts one member of a cluster together: a node, its two ports, its guests' processes, its metrics.
package member

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/api/server/lobby"
	"github.com/taskrt/taskrt/api/server/pages"
	"github.com/taskrt/taskrt/api/server/socket"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/guests"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/keys"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/ports"
	"github.com/taskrt/taskrt/console"
	"github.com/taskrt/taskrt/docs/site"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/metrics"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/node/scheduled"
	"github.com/taskrt/taskrt/raftstore/logstore"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/grants"
	"github.com/taskrt/taskrt/traces"
	"github.com/taskrt/taskrt/trust"
)

// Where a member's tasks run.
const (
	Child  = "process"
	Inline = "inline"
	None   = "none"
)

// Config describes one cluster member of this process.
type Config struct {
	ID, Dir    string
	Cache      string // directory of compiled modules; "": one in Dir
	HTTP, Raft string // HOST:PORT to listen on
	HTTPAs     string // HOST:PORT by which others find HTTP, and RaftAs Raft; "": what they listen on
	RaftAs     string
	Hosts      []string     // names by which clients call HTTP, besides those of HTTP and Raft
	RaftOn     net.Listener // listens on Raft already; nil: nobody does
	Join       []string
	Expect     int
	Worker     string // one of Child, Inline and None
	Slots      int
	TTL        time.Duration
	Maintain   maintain.Config
	Backups    scheduled.Config
	Grants     *grants.Grants
	Runs       *guests.RunLog // nil: nobody wants to know
	Keys       *trust.Keys    // nil: the node port is open to everybody
	Pair       *trust.Pair    // of the port for clients; nil: Keys have one, or nobody
	Ports      int            // members of this process; 0 is 1
	LogStore   logstore.Kind
	HoldLevel  bool
	AsNewDisk  bool // put a copied directory aside
	Log        *slog.Logger

	LogSettings guests.LogSettings // of Log
	Metrics     metrics.Config     // without the Logger
}

// Member is a node with its two ports.
type Member struct {
	Node    *node.Node
	port    *mux.Mux
	keys    *trust.Keys
	pair    *trust.Pair
	http    *lobby.Lobby
	streams *socket.Group
	metrics *metrics.Metrics
	traces  *traces.Traces
	names   []string // by which clients call http
	URL     string
	version string
	log     *slog.Logger
}

// Open listens and starts the node. The caller must call Run.
func Open(c Config) (m *Member, err error) {
	spans, err := traces.Open(traces.Config{Process: c.ID, Version: c.Metrics.Version, Logger: c.Log})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			spans.Close()
		}
	}()
	httpListener, err := net.Listen("tcp", c.HTTP)
	if err != nil {
		return nil, fmt.Errorf("--http: %w", err)
	}
	raftListener := c.RaftOn
	if raftListener == nil {
		if raftListener, err = net.Listen("tcp", c.Raft); err != nil {
			httpListener.Close()
			return nil, fmt.Errorf("--raft: %w", err)
		}
	}
	m = &Member{
		traces: spans,
		port:   mux.New(raftListener, keys.Guard(c.Keys)), keys: c.Keys, pair: c.Pair, names: pages.Names(c.Hosts, c.HTTP, c.Raft, c.HTTPAs, c.RaftAs),
		version: c.Metrics.Version, log: c.Log.With("node", c.ID),
	}
	m.port.LogTo(m.log)
	m.metrics = metrics.New(metrics.Config{Version: c.Metrics.Version, Revision: c.Metrics.Revision, Logger: m.log})
	raft := ports.Advertised(c.RaftAs, c.Raft, raftListener, c.Raft)
	at := ports.Advertised(c.HTTPAs, c.HTTP, httpListener, raft)
	m.URL = "http://" + at
	secure := keys.API(c.Pair, c.Keys, m.names)
	if secure != nil {
		m.URL = "https://" + at
	}
	m.streams = socket.NewGroup()
	m.http = lobby.New(httpListener, lobby.Config{TLS: secure, Ports: c.Ports, Log: m.log})
	config := node.Config{
		ID: c.ID, Dir: c.Dir, Addr: raft, HTTPAdvertise: m.URL,
		Join: c.Join, BootstrapExpect: c.Expect, Net: m.port, Tokens: keys.Tokens(c.Keys),
		Worker: c.Worker != None, Maintains: true, Slots: c.Slots, SessionTTL: c.TTL, Maintenance: c.Maintain, Backups: c.Backups, Version: c.Metrics.Version, Logger: c.Log,
		Runtime: runtime.Config{CacheDir: c.Cache, Grants: c.Grants, OnCompile: m.metrics.Compiled}, OnRun: c.Runs.Hook(),
	}
	config.OnEnd, config.OnLapse = m.traces.Told(m.metrics.Ended)
	if c.Worker != Inline {
		if c.Cache == "" {
			c.Cache = filepath.Join(c.Dir, "wasm-cache")
		}
		s := guests.Settings{Node: c.ID, Log: c.LogSettings, CacheDir: c.Cache}
		o := guests.New(s, c.Grants, c.Runs, m.log, m.metrics.Compiled)
		config.Guests, config.Inspect = o.Guests, o.Service.Inspect
	}
	config.Raft.LogStore, config.Raft.HoldLevel, config.Raft.AsNewDisk = c.LogStore, c.HoldLevel, c.AsNewDisk
	m.Node, err = node.New(config)
	if err != nil {
		httpListener.Close()
		return nil, errors.Join(err, m.port.Close())
	}
	m.watch()
	return m, nil
}

// watch lets the metrics ask the node and its ports.
func (m *Member) watch() {
	m.metrics.WatchNode(m.Node)
	m.metrics.WatchPort(m.port.Refused)
	for _, why := range []lobby.Reason{lobby.Waiting, lobby.Idle, lobby.Open} {
		m.metrics.WatchClients(why.String(), func() int64 { return m.http.Dropped(why) })
	}
	m.metrics.WatchStreams(m.streams.Open, m.streams.UnderWay)
	if m.pair != nil {
		m.metrics.WatchCertificate("http", m.pair.Ends)
	}
	if m.keys != nil {
		m.metrics.WatchCertificate("node", m.keys.Ends)
	}
}

// Run serves until ctx ends or the node must stop, then stops everything: first HTTP, so that nobody is left without
// an answer, then the node, which needs the port to say goodbye.
func (m *Member) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	nodeCtx, stopNode := context.WithCancel(context.WithoutCancel(ctx))
	defer stopNode()

	served, ported, ran := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	config := server.Config{
		Logger: m.log, Stopping: ctx, Door: pages.NewDoor(m.names...), Metrics: m.metrics, Cluster: m.Node.Store().Cluster,
		OnRequest: m.metrics.Request, OnProblem: m.metrics.Problem, Members: m.Node.Membership(), Insight: m.Node.Insight(), Jobs: m.Node.Jobs(), Snapshots: m.Node.Snapshots(),
	}
	if m.traces != nil {
		config.Tracer = m.traces
	}
	if gate := m.Node.Gate(); gate != nil {
		config.Gate, config.Access, config.SignIn, config.Audit = gate, m.Node.Tokens(), m.Node.SignIn(), m.Node.Audit()
		config.OnRefusal = m.Node.Refused
	}
	front := console.Config{Door: config.Door, Gate: config.Gate, Cluster: config.Cluster}
	if config.Gate != nil {
		front.Devices = m.Node.SignIn()
	}
	handler := console.New(server.New(m.Node.Guarded(), config), front)
	handler = site.New(handler, config.Door, m.version)
	go keys.Watch(ctx, m.pair, m.keys, m.log)
	go func() { served <- m.serve(ctx, handler); stop() }()
	go func() { ported <- m.port.Serve(); stop() }()
	go func() { ran <- m.Node.Run(nodeCtx); stop() }()

	<-ctx.Done()
	errs := []error{<-served}
	stopNode()
	errs = append(errs, <-ran, m.port.Close(), <-ported)
	m.traces.Close()
	return errors.Join(errs...)
}

func (m *Member) serve(ctx context.Context, h http.Handler) error {
	if err := server.Serve(m.streams.In(ctx), m.http, h, m.log); err != nil {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	return nil
}
