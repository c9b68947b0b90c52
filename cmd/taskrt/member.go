package main

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
	"github.com/taskrt/taskrt/cmd/taskrt/internal/guests"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/keys"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/ports"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/metrics"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/raftstore/logstore"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/grants"
	"github.com/taskrt/taskrt/trust"
)

// memberConfig describes one cluster member of this process.
type memberConfig struct {
	id, dir    string
	cache      string // directory of compiled modules; "": one in dir
	http, raft string // HOST:PORT to listen on
	httpAs     string // HOST:PORT by which others find http, and raftAs raft; "": what they listen on
	raftAs     string
	hosts      []string     // names by which clients call http, besides those of http and raft
	raftOn     net.Listener // listens on raft already; nil: nobody does
	join       []string
	expect     int
	worker     string // one of workerChild, workerInline and workerNone
	slots      int
	ttl        time.Duration
	maintain   maintain.Config
	grants     *grants.Grants // nil: nothing is granted
	runs       *guests.RunLog // nil: nobody wants to know
	keys       *trust.Keys    // nil: the node port is open to everybody
	pair       *trust.Pair    // of the port for clients; nil: keys have one, or nobody
	ports      int            // members of this process; 0 is 1
	logStore   logstore.Kind
	holdLevel  bool
	asNewDisk  bool // put a copied directory aside
	log        *slog.Logger

	logSettings guests.LogSettings // of log
}

// member is a node with its two ports.
type member struct {
	node    *node.Node
	port    *mux.Mux
	keys    *trust.Keys
	pair    *trust.Pair
	http    *lobby.Lobby
	metrics *metrics.Metrics
	names   []string // by which clients call http
	url     string
	log     *slog.Logger
}

// openMember listens and starts the node. The caller must call run.
func openMember(c memberConfig) (*member, error) {
	httpListener, err := net.Listen("tcp", c.http)
	if err != nil {
		return nil, fmt.Errorf("--http: %w", err)
	}
	raftListener := c.raftOn
	if raftListener == nil {
		if raftListener, err = net.Listen("tcp", c.raft); err != nil {
			httpListener.Close()
			return nil, fmt.Errorf("--raft: %w", err)
		}
	}
	m := &member{
		port: mux.New(raftListener, keys.Guard(c.keys)), keys: c.keys, pair: c.pair, names: pages.Names(c.hosts, c.http, c.raft, c.httpAs, c.raftAs),
		log: c.log.With("node", c.id),
	}
	m.port.LogTo(m.log)
	m.metrics = metrics.New(metricsConfig(m.log))
	raft := ports.Advertised(c.raftAs, c.raft, raftListener, c.raft)
	at := ports.Advertised(c.httpAs, c.http, httpListener, raft)
	m.url = "http://" + at
	secure := keys.API(c.pair, c.keys, m.names)
	if secure != nil {
		m.url = "https://" + at
	}
	m.http = lobby.New(httpListener, lobby.Config{TLS: secure, Ports: c.ports, Log: m.log})
	config := node.Config{
		ID: c.id, Dir: c.dir, Addr: raft, HTTPAdvertise: m.url,
		Join: c.join, BootstrapExpect: c.expect, Net: m.port, Tokens: keys.Tokens(c.keys),
		Worker: c.worker != workerNone, Maintains: true, Slots: c.slots, SessionTTL: c.ttl, Maintenance: c.maintain, Version: buildVersion().Version, Logger: c.log,
		Runtime: runtime.Config{CacheDir: c.cache, Grants: c.grants, OnCompile: m.metrics.Compiled}, OnRun: c.runs.Hook(), OnEnd: m.metrics.Ended,
	}
	if c.worker != workerInline {
		if c.cache == "" {
			c.cache = filepath.Join(c.dir, "wasm-cache")
		}
		s := guests.Settings{Node: c.id, Log: c.logSettings, CacheDir: c.cache}
		o := guests.New(s, c.grants, c.runs, m.log, m.metrics.Compiled)
		config.Guests, config.Inspect = o.Guests, o.Service.Inspect
	}
	config.Raft.LogStore, config.Raft.HoldLevel, config.Raft.AsNewDisk = c.logStore, c.holdLevel, c.asNewDisk
	m.node, err = node.New(config)
	if err != nil {
		httpListener.Close()
		return nil, errors.Join(err, m.port.Close())
	}
	m.metrics.WatchNode(m.node)
	m.metrics.WatchPort(m.port.Refused)
	for _, why := range []lobby.Reason{lobby.Waiting, lobby.Idle, lobby.Open} {
		m.metrics.WatchClients(why.String(), func() int64 { return m.http.Dropped(why) })
	}
	return m, nil
}

// run serves until ctx ends or the node must stop, then stops everything: first HTTP, so that nobody is left without
// an answer, then the node, which needs the port to say goodbye.
func (m *member) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	nodeCtx, stopNode := context.WithCancel(context.WithoutCancel(ctx))
	defer stopNode()

	served, ported, ran := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	config := server.Config{
		Logger: m.log, Stopping: ctx, Door: pages.NewDoor(m.names...), Metrics: m.metrics, Cluster: m.node.Store().Cluster,
		OnRequest: m.metrics.Request, Members: m.node.Membership(), Snapshots: m.node.Snapshots(),
	}
	if gate := m.node.Gate(); gate != nil {
		config.Gate, config.Access, config.SignIn, config.Audit = gate, m.node.Tokens(), m.node.SignIn(), m.node.Audit()
		config.OnRefusal = m.node.Refused
	}
	handler := server.New(m.node.Guarded(), config)
	go keys.Watch(ctx, m.pair, m.keys, m.log)
	go func() { served <- m.serve(ctx, handler); stop() }()
	go func() { ported <- m.port.Serve(); stop() }()
	go func() { ran <- m.node.Run(nodeCtx); stop() }()

	<-ctx.Done()
	errs := []error{<-served}
	stopNode()
	errs = append(errs, <-ran, m.port.Close(), <-ported)
	return errors.Join(errs...)
}

func (m *member) serve(ctx context.Context, h http.Handler) error {
	if err := server.Serve(ctx, m.http, h, m.log); err != nil {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	return nil
}
