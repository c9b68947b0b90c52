package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/devaddr"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/devsecret"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/firstlook"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/member"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/ports"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/rebuild"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/upkeep"
)

func (p *program) devCommand() *cli.Command {
	const cmd = "dev"
	return &cli.Command{
		Name: cmd, Usage: "run a whole cluster in this process, to develop against", Category: "cluster",
		Flags: append([]cli.Flag{
			intFlag(cmd, "nodes", 3, "how many nodes"),
			stringFlag(cmd, "dir", "", "directory to keep the cluster in; without it a temporary one, removed at the end"),
			stringFlag(cmd, "http", "127.0.0.1:7070", "HOST:PORT of the first node, the others on the ports after it; port 0: free ones"),
			httpHostFlag(""),
			workerFlag(""),
			intFlag("", "worker-slots", 0, "tasks that each node runs at the same time; default four per CPU"),
			durationFlag("", "session-ttl", "10s", "how long a silent worker keeps its tasks; at least 2s"),
			logStoreFlag(""),
			capabilitiesFlag(""),
			boolFlag(cmd, "secure", "TLS on every port, and tokens: the cluster secret and the root token are kept in --dir"),
			boolFlag(cmd, "with-examples", "push four small modules to try: example.greet, .countdown, .unsteady and .squares"),
			stringFlag(cmd, "watch", "", "DIRECTORY of a plugin: after each change build it, test it, push it, and run its last task again"),
			boolFlag("", "insecure", "allow an address that others can reach, without TLS and tokens"),
		}, upkeep.Flags(upkeep.Kit{Duration: durationFlag, Int: intFlag, Bool: boolFlag})...),
		Action: p.dev,
	}
}

const maxDevNodes = 9

func (p *program) dev(c *cli.Context) error {
	logging, err := quietLogSettings(c)
	if err != nil {
		return err
	}
	log := p.openLog(logging)
	n := c.Int("nodes")
	if n < 1 || n > maxDevNodes {
		return usagef(c, "--nodes must be 1 to %d", maxDevNodes)
	}
	secure, err := devSecure(c)
	if err != nil {
		return err
	}
	if dir := c.String("watch"); dir != "" {
		if err := rebuild.Check(dir); err != nil {
			return usagef(c, "--watch: %w", err)
		}
	}
	config, err := sharedConfig(c)
	if err != nil {
		return err
	}
	dir, remove, err := devDir(c)
	if err != nil {
		return err
	}
	defer remove()
	listeners, err := devaddr.Listen(dir, n)
	defer devaddr.Close(listeners)
	if err != nil {
		return usagef(c, "%w", err)
	}
	addrs := devaddr.Of(listeners)
	d := devCluster{log: log}
	if d.secret, err = devsecret.Open(dir, secure); err != nil {
		return keyError(c, err)
	}
	// The nodes share compiled modules: one node compiles when it checks an upload, and the others only load.
	config.Cache, config.Join, config.Expect, config.Log, config.LogSettings = filepath.Join(dir, "wasm-cache"), addrs, n, log, logging
	config.Ports = n
	for i := range n {
		http, err := devaddr.Nth(c.String("http"), i)
		if err != nil {
			return usagef(c, "%w", err)
		}
		id := "n" + strconv.Itoa(i+1)
		own, err := d.secret.Keys(id, log)
		if err != nil {
			return keyError(c, errors.Join(err, d.stop()))
		}
		config.ID, config.Dir, config.HTTP, config.Raft, config.RaftOn, config.Keys = id, filepath.Join(dir, id), http, addrs[i], listeners[i], own
		m, err := member.Open(config)
		if err != nil {
			return exit.With(exit.Start, errors.Join(err, d.stop()))
		}
		d.add(c.Context, m)
	}
	return p.devRun(c, &d)
}

// devDir is the directory of the cluster. remove removes it, if it is a temporary one.
func devDir(c *cli.Context) (dir string, remove func(), err error) {
	if dir = c.String("dir"); dir != "" {
		return dir, func() {}, nil
	}
	dir, err = os.MkdirTemp("", "taskrt-dev-")
	return dir, func() { os.RemoveAll(dir) }, err
}

// devSecure reads --secure and what contradicts it.
func devSecure(c *cli.Context) (secure bool, err error) {
	secure = c.Bool("secure")
	if secure && c.Bool("insecure") {
		return false, usagef(c, "--secure and --insecure contradict each other")
	}
	if err := ports.CheckLoopback("http", c.String("http"), c.Bool("insecure") || secure, "--secure, or --insecure"); err != nil {
		return false, usagef(c, "%w", err)
	}
	return secure, nil
}

// devRun prints the ready line when every node is ready, and waits for the end.
func (p *program) devRun(c *cli.Context, d *devCluster) error {
	ctx := c.Context
	if d.waitReady(ctx) {
		var missing []error
		if c.Bool("with-examples") {
			missing = firstlook.Push(ctx, d.members[0].Node)
		}
		_ = p.stdout.Printf("ready %s\n", d.members[0].URL) // a reader who has closed it needs no line
		if d.secret != nil {
			_ = p.stdout.Printf("%s\n", d.secret.Use(d.members[0].URL))
		}
		_ = p.stdout.Printf("console %s/\n", d.members[0].URL)
		if c.Bool("with-examples") {
			firstlook.Print(p.stdout, missing)
		}
		stop := p.devWatch(c, d)
		select {
		case <-ctx.Done():
		case <-d.failed:
		}
		stop()
	}
	return exit.OfMember(d.stop())
}

// devWatch tries what changes in the directory of --watch, until the function that it returns is called.
func (p *program) devWatch(c *cli.Context, d *devCluster) (stop func()) {
	if c.String("watch") == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(c.Context)
	w := rebuild.Watcher{Dir: c.String("watch"), Cluster: d.members[0].Node, Out: p.stdout, Env: rebuild.Env()}
	var wg sync.WaitGroup
	wg.Go(func() { w.Run(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}

// devCluster is several members of one process.
type devCluster struct {
	log     *slog.Logger
	secret  *devsecret.Secret // nil: the cluster is open
	members []*member.Member
	stops   []context.CancelFunc
	wg      sync.WaitGroup
	failed  chan struct{} // closed when a member ends by itself
	once    sync.Once
	mu      sync.Mutex
	errs    []error
}

// add runs a member until stop.
func (d *devCluster) add(ctx context.Context, m *member.Member) {
	if d.failed == nil {
		d.failed = make(chan struct{})
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.members, d.stops = append(d.members, m), append(d.stops, stop)
	d.wg.Go(func() {
		err := m.Run(ctx)
		d.mu.Lock()
		d.errs = append(d.errs, err)
		d.mu.Unlock()
		d.once.Do(func() { close(d.failed) })
	})
}

// stop ends all members at the same time: if they ended one after the other, the last ones would wait for a majority
// that is gone.
func (d *devCluster) stop() error {
	for _, stop := range d.stops {
		stop()
	}
	d.wg.Wait()
	return errors.Join(d.errs...)
}

// waitReady waits until every node is ready; false: ctx ended or a member did.
func (d *devCluster) waitReady(ctx context.Context) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		ready := true
		for _, m := range d.members {
			ready = ready && m.Node.Ready(ctx) == nil
		}
		if ready {
			return true
		}
		select {
		case <-tick.C:
		case <-d.failed:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
