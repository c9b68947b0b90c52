package main

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/api"
	apiclient "github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/metrics"
	"github.com/taskrt/taskrt/worker"
)

func (p *program) workerCommand() *cli.Command {
	return &cli.Command{
		Name: "worker", Usage: "run tasks in a process of their own", Category: "cluster",
		Flags: []cli.Flag{
			stringFlag("", "id", "", "the worker's identity: unique in the cluster, the same for ever"),
			stringFlag("", "dir", "", "directory for its secret, modules and compiled code"),
			serverFlag(),
			intFlag("", "worker-slots", 0, "tasks to run at the same time; default four per CPU"),
			workerFlag("", workerChild),
			runLogFlag(),
			capabilitiesFlag(""),
			stringFlag("worker", "metrics", "", "HOST:PORT to serve GET /metrics for Prometheus on; default: none"),
			boolFlag("", "insecure", "allow --metrics on an address that others can reach, without TLS and passwords"),
		},
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
	if kind == workerNone {
		return usagef(c, "--worker none leaves a worker nothing to do: say process or inline")
	}
	nodes := &directory{urls: serverURLs(c)}
	if err := nodes.check(); err != nil {
		return usagef(c, "--server: %w", err)
	}
	granted, err := readGrants(c)
	if err != nil {
		return err
	}
	listener, err := listenMetrics(c)
	if err != nil {
		return err
	}
	if listener != nil {
		defer listener.Close()
	}
	runs, err := openRunLog(c, log)
	if err != nil {
		return usagef(c, "%w", err)
	}
	defer runs.Close()
	measured := metrics.New(metricsConfig(log))
	w := loneWorker{
		id: c.String("id"), dir: c.String("dir"), slots: c.Int("worker-slots"), nodes: nodes, runs: runs, metrics: measured, log: log,
		settings: guestsSettings{Log: logging, CacheDir: filepath.Join(c.String("dir"), "wasm-cache"), Grants: c.String("capabilities")},
	}
	return w.run(c.Context, kind, granted, listener)
}

// directory knows where the cluster's nodes are: it is told some URLs and learns the others from them, so that a worker
// finds the cluster again after the nodes that it was told of have gone.
type directory struct {
	mu   sync.Mutex
	urls []string // as given, then as learned
	raft []string // node-to-node addresses
	told string   // where a node that does not lead saw the leader; used once
}

var _ worker.Dialer = (*directory)(nil)

func (d *directory) check() error {
	c, err := d.client()
	if err == nil {
		c.Close()
	}
	return err
}

func (d *directory) client() (*apiclient.Client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// The worker tries again by itself, so one round is enough.
	return apiclient.New(apiclient.Config{URLs: slices.Clone(d.urls), RetryFor: time.Millisecond, AttemptTimeout: 5 * time.Second})
}

// Dial implements worker.Dialer.
func (d *directory) Dial(ctx context.Context) (net.Conn, error) {
	d.mu.Lock()
	addr := d.told
	d.told = ""
	d.mu.Unlock()
	if addr == "" {
		var err error
		if addr, err = d.leader(ctx); err != nil {
			return nil, err
		}
	}
	return mux.Dial(ctx, addr, mux.Stream)
}

// Redirect implements worker.Dialer.
func (d *directory) Redirect(addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = addr
}

var errNoLeader = errors.New("the cluster has no leader now")

// leader asks /v1/cluster for the leader's node-to-node address. A node that has lost contact may still name a former
// leader; whoever is dialled and does not lead says so.
func (d *directory) leader(ctx context.Context) (string, error) {
	c, err := d.client()
	if err != nil {
		return "", err
	}
	defer c.Close()
	cluster, err := c.Cluster(ctx)
	if err != nil {
		return "", err
	}
	d.learn(cluster)
	for _, n := range cluster.Nodes {
		if n.ID == cluster.Leader && n.Raft != "" {
			return n.Raft, nil
		}
	}
	return "", errNoLeader
}

func (d *directory) learn(c *api.Cluster) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.raft = nil
	for _, n := range c.Nodes {
		if n.Raft != "" {
			d.raft = append(d.raft, n.Raft)
		}
		if strings.HasPrefix(n.HTTP, "http") && !slices.Contains(d.urls, n.HTTP) {
			d.urls = append(d.urls, n.HTTP)
		}
	}
}
