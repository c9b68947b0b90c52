package bench

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/internal/trio"
	"github.com/taskrt/taskrt/trust"
)

// startTime is how long a cluster may take to become ready.
const startTime = time.Minute

// cluster is three processes and their directory.
type cluster struct {
	*trio.Cluster

	dir    string
	secret []string               // the flag by which nodes and workers know each other; none: none
	tls    *tls.Config            // of clients; nil: the nodes speak http
	token  func() (string, error) // of clients; nil: the cluster is open
}

// startCluster starts three nodes in a directory of their own and waits until each is ready to serve. If logged, the nodes write down
// when guests begin, which costs something.
func startCluster(ctx context.Context, config Config, logged bool) (*cluster, error) {
	dir, err := os.MkdirTemp("", "taskrt-bench-")
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir}
	flags := []string{"--maintenance-every", "0s"}
	if config.LogStore != "" {
		flags = append(flags, "--log-store", config.LogStore)
	}
	if config.Worker != "" {
		flags = append(flags, "--worker", config.Worker)
	}
	if config.Slots > 0 {
		flags = append(flags, "--worker-slots", fmt.Sprint(config.Slots))
	}
	if config.Secure {
		if err := c.drawSecret(); err != nil {
			return nil, errors.Join(err, c.stop())
		}
		flags = append(flags, c.secret...)
	}
	if c.Cluster, err = trio.New(config.Binary, dir, append(flags, config.Flags...)...); err == nil {
		err = c.startAll(ctx, logged)
	}
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// drawSecret makes the file of a cluster secret, and whom clients trust by it.
func (c *cluster) drawSecret() (err error) {
	secret, file := trust.Draw(), filepath.Join(c.dir, "cluster.secret")
	c.secret, c.token = []string{"--cluster-secret", file}, client.StaticToken(secret.RootToken().Text())
	if c.tls, err = trust.Client(secret.APIPin()); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(secret.Text()+"\n"), 0o600)
}

func (c *cluster) startAll(ctx context.Context, logged bool) error {
	c.Env = environment()
	for i, n := range c.Nodes {
		if c.tls != nil {
			n.URL = "https" + strings.TrimPrefix(n.URL, "http")
		}
		if logged {
			n.Args = append(n.Args, "--run-log", c.runLog(i))
		}
		if err := c.Start(ctx, n); err != nil {
			return err
		}
	}
	return c.ready(ctx)
}

// runLog is the file in which a node writes down when guests begin.
func (c *cluster) runLog(i int) string { return filepath.Join(c.dir, fmt.Sprintf("runs%d", i+1)) }

// environment is this process's environment, without variables that a node would take for flags.
func environment() (env []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TASKRT_") {
			env = append(env, v)
		}
	}
	return env
}

// ready waits until every node is ready.
func (c *cluster) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("the cluster was not ready within %v", startTime))
	defer cancel()
	for _, n := range c.Nodes {
		if err := c.readyNode(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) readyNode(ctx context.Context, n *trio.Node) error {
	client, err := client.New(client.Config{URLs: []string{n.URL}, TLS: c.tls, RetryFor: time.Second, AttemptTimeout: 2 * time.Second})
	if err != nil {
		return err
	}
	defer client.Close()
	for client.Ready(ctx) != nil {
		if err := Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// stop ends all processes and removes their files.
func (c *cluster) stop() error {
	if c.Cluster != nil {
		c.Kill()
	}
	return os.RemoveAll(c.dir)
}

// Pause waits, or returns why ctx ended.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
