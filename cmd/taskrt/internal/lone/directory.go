package lone

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/worker"
)

// Directory knows where the cluster's nodes are. It is told some URLs and learns the others from the nodes, so a
// worker finds the cluster again after the nodes that it was told of have gone.
type Directory struct {
	guard mux.Guard   // of the node port
	tls   *tls.Config // of the port for clients

	mu   sync.Mutex
	urls []string // as given, then as learned
	raft []string // node-to-node addresses
	told string   // where a node that does not lead saw the leader; used once
}

var _ worker.Dialer = (*Directory)(nil)

// NewDirectory returns a directory that is told the URLs of some nodes. The guard is that of the node port, and tls that of https URLs;
// both may be nil.
func NewDirectory(urls []string, guard mux.Guard, tls *tls.Config) (*Directory, error) {
	d := &Directory{urls: urls, guard: guard, tls: tls}
	c, err := d.client()
	if err == nil {
		c.Close()
	}
	return d, err
}

func (d *Directory) client() (*client.Client, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// The worker tries again by itself, so one round is enough.
	return client.New(client.Config{URLs: slices.Clone(d.urls), RetryFor: time.Millisecond, AttemptTimeout: 5 * time.Second, TLS: d.tls})
}

// Dial implements worker.Dialer.
func (d *Directory) Dial(ctx context.Context) (net.Conn, error) {
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
	return mux.Dialer{Guard: d.guard}.Dial(ctx, addr, mux.Stream)
}

// Redirect implements worker.Dialer.
func (d *Directory) Redirect(addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = addr
}

var errNoLeader = errors.New("the cluster has no leader now")

// leader asks /v1/cluster for the leader's node-to-node address. A node that has lost contact may still name a former
// leader. A node that is dialled and does not lead says so.
func (d *Directory) leader(ctx context.Context) (string, error) {
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

func (d *Directory) learn(c *api.Cluster) {
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

// members lists the node-to-node addresses that are known.
func (d *Directory) members() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.raft)
}
