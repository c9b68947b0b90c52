package lone

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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
	trust Trust

	mu   sync.Mutex
	urls []string // as given, then as learned
	raft []string // node-to-node addresses
	told string   // where a node that does not lead saw the leader; used once

	id string // of the cluster that answered first: no other one is asked, or believed (SPEC C2)
}

var _ worker.Dialer = (*Directory)(nil)

// Trust is how a worker and the nodes prove themselves to each other. Each field may be nil.
type Trust struct {
	Guard mux.Guard   // of the node port
	TLS   *tls.Config // of https URLs
	// Tokens returns the tokens by which the worker may ask where the nodes are. Where secrets are being replaced there are several, and
	// a node may not know the first one yet.
	Tokens func() ([]string, error)
}

// NewDirectory returns a directory that is told the URLs of some nodes. If there are tokens, none of the URLs may be one to which a token would
// travel in the clear.
func NewDirectory(urls []string, t Trust) (*Directory, error) {
	d := &Directory{urls: urls, trust: t}
	return d, d.check(urls...)
}

// check says why the worker must not, or cannot, ask at these URLs.
func (d *Directory) check(urls ...string) error {
	var token func() (string, error)
	if d.trust.Tokens != nil {
		token = client.StaticToken("some token")
	}
	c, err := d.client(urls, "", token)
	if err == nil {
		c.Close()
	}
	return err
}

func (d *Directory) client(urls []string, id string, token func() (string, error)) (*client.Client, error) {
	// The worker tries again by itself, so one round is enough.
	return client.New(client.Config{URLs: urls, RetryFor: time.Millisecond, AttemptTimeout: 5 * time.Second, TLS: d.trust.TLS, Token: token, Cluster: id})
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
	return mux.Dialer{Guard: d.trust.Guard}.Dial(ctx, addr, mux.Stream)
}

// Redirect implements worker.Dialer.
func (d *Directory) Redirect(addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = addr
}

var (
	errNoLeader = errors.New("the cluster has no leader now")
	errNoToken  = errors.New("there is no token to ask the cluster with")
)

// leader asks /v1/cluster for the leader's node-to-node address. A node that has lost contact may still name a former
// leader. A node that is dialled and does not lead says so.
func (d *Directory) leader(ctx context.Context) (string, error) {
	cluster, err := d.cluster(ctx)
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

// cluster asks a node with each token, until one holds there.
func (d *Directory) cluster(ctx context.Context) (*api.Cluster, error) {
	tokens := []string{""}
	if d.trust.Tokens != nil {
		var err error
		if tokens, err = d.trust.Tokens(); err != nil {
			return nil, err
		}
	}
	for i, token := range tokens {
		var proof func() (string, error)
		if token != "" {
			proof = client.StaticToken(token)
		}
		cluster, err := d.ask(ctx, proof)
		if api.CodeOf(err) != api.CodeUnauthenticated || i == len(tokens)-1 {
			return cluster, err
		}
	}
	return nil, errNoToken
}

func (d *Directory) ask(ctx context.Context, token func() (string, error)) (*api.Cluster, error) {
	d.mu.Lock()
	urls, id := slices.Clone(d.urls), d.id
	d.mu.Unlock()
	c, err := d.client(urls, id, token)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	ctx, meta := api.WithMeta(ctx)
	cluster, err := c.Cluster(ctx)
	switch {
	case api.CodeOf(err) == api.CodeOtherCluster:
		return nil, fmt.Errorf("%w: a worker that shall work for it is started again", err)
	case err != nil:
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.id = cmp.Or(d.id, meta.Cluster()); d.id != meta.Cluster() { // another goroutine has met another cluster
		return nil, errNoLeader
	}
	return cluster, nil
}

func (d *Directory) learn(c *api.Cluster) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.raft = nil
	for _, n := range c.Nodes {
		if n.Raft != "" {
			d.raft = append(d.raft, n.Raft)
		}
		if strings.HasPrefix(n.HTTP, "http") && !slices.Contains(d.urls, n.HTTP) && d.check(n.HTTP) == nil {
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
