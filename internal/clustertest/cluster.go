// Package clustertest runs whole clusters inside a testing/synctest bubble: real nodes, real raft logs on disk, real
// guests, an in-memory network that can be cut, and a virtual clock. Elections and expiries take no real time, so a test may
// wait for them as long as it likes.
//
//	clustertest.Run(t, 3, clustertest.Options{}, func(t *testing.T, c *clustertest.Cluster) {
//		c.Push(0, "echo")
//		id := c.Submit(1, "echo", `{"a":1}`)
//		got := c.Final(2, id)
//	})
//
// The package itself checks what must always hold. At every entry that a node applies: limits hold, leases are given only
// where they may be, and all nodes tell the same (see Audit). At the end of every run: no two executions of one task
// overlapped in time, by the stamps taken where guests run (SPEC L1); no node stopped by itself; the state machines'
// invariants hold; and all nodes that are up agree, byte for byte (SPEC C4).
//
// Nothing in a bubble may compute for ever: the virtual clock stands still while a guest spins.
package clustertest

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/internal/memdir"
	"github.com/taskrt/taskrt/internal/memnet"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/worker"
)

// Options configure a cluster. The zero value works.
type Options struct {
	SessionTTL time.Duration // default: the product's
	DrainTime  time.Duration // how long running attempts may end by themselves at Stop; default 1 s
	Slots      int           // of each node's built-in worker; default 4
	NoWorkers  bool          // nodes do not run tasks; see AddWorker
	Guest      GoGuest       // separate workers run it in place of every module
	// Configure changes the configuration of member i before each start.
	Configure func(i int, c *node.Config)
	// MayFail says that nodes may stop by themselves; the test looks at Fatal. The checks at the end leave such nodes out.
	MayFail bool
	// Intruders says that workers of the test's own making speak for attempts of others. Without it nobody may be taken for one (SPEC A2).
	Intruders bool
}

// Cluster is a set of members on one network.
type Cluster struct {
	Net     *memnet.Net
	Members []*Member
	Runs    *Runs
	Audit   *Audit

	t     *testing.T
	o     Options
	dir   string
	start time.Time
	log   *logBuffer

	mu      sync.Mutex
	workers []*Worker
}

// Member is one node, up or down. Its directory, address and clock stay when it restarts.
type Member struct {
	ID, Addr string
	Clock    *Clock

	c     *Cluster
	index int

	mu    sync.Mutex
	node  *node.Node // nil: down
	gone  chan struct{}
	boot  *boot
	blank bool // a directory that was copied is put aside at the next start
	fatal error
}

// boot is one run of a member's process. What a process complains about after it was killed does not count, and it may be heard only when the
// member has started again.
type boot struct{ killed bool }

// Run runs f with a cluster of n members in a bubble, all started, and checks the cluster at the end.
func Run(t *testing.T, n int, o Options, f func(t *testing.T, c *Cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := New(t, n, o)
		f(t, c)
		c.Finish()
	})
}

// New makes a cluster of n members and starts them. The caller must be in a bubble, and must call Finish.
func New(t *testing.T, n int, o Options) *Cluster {
	t.Helper()
	if o.DrainTime == 0 {
		o.DrainTime = time.Second
	}
	if o.Slots == 0 {
		o.Slots = 4
	}
	c := &Cluster{Net: memnet.New(), t: t, o: o, dir: memdir.New(t), start: time.Now(), log: &logBuffer{}}
	c.Runs, c.Audit = newRuns(t), newAudit(t)
	t.Cleanup(func() {
		c.Close()
		if t.Failed() {
			c.log.dump(t)
		}
	})
	for i := range n {
		id := fmt.Sprintf("n%d", i+1)
		c.Members = append(c.Members, &Member{ID: id, Addr: id, Clock: &Clock{}, c: c, index: i})
	}
	for i := range n {
		c.Start(i)
	}
	return c
}

// Start starts member i, for the first time or again, in its old directory.
func (c *Cluster) Start(i int) {
	c.t.Helper()
	m := c.Members[i]
	c.awaitGone(i)
	c.Net.Rejoin(m.Addr)
	b := &boot{}
	m.mu.Lock()
	m.boot, m.gone = b, nil
	m.mu.Unlock()
	n, err := node.New(m.config(b))
	if err != nil {
		c.t.Fatalf("start %s: %v", m.ID, err)
	}
	if !c.o.MayFail { // a broken node tells what it likes
		c.Audit.follow(m.ID, n.Store())
	}
	m.mu.Lock()
	m.node = n
	m.mu.Unlock()
}

// awaitGone waits until a member that was killed holds its directory no more.
func (c *Cluster) awaitGone(i int) {
	m := c.Members[i]
	m.mu.Lock()
	gone := m.gone
	m.mu.Unlock()
	if gone != nil {
		<-gone
	}
}

// asNewDisk says whether the member puts a directory that was copied aside when it starts.
func (m *Member) asNewDisk(blank bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blank = blank
}

func (m *Member) config(b *boot) node.Config {
	c := m.c
	cfg := node.Config{
		ID: m.ID, Dir: filepath.Join(c.dir, m.ID), Addr: m.Addr, HTTPAdvertise: "http://" + m.ID,
		BootstrapExpect: len(c.Members), Net: c.Net.Node(m.Addr),
		Worker: !c.o.NoWorkers, Slots: c.o.Slots, SessionTTL: c.o.SessionTTL, DrainTime: c.o.DrainTime,
		Logger: slog.New(slog.NewTextHandler(c.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Clock:  m.Clock, Boottime: c.Boottime, OnRun: c.Runs.seen(m.ID),
		OnFatal:   func(err error) { m.failed(b, err) },
		OnOverrun: func(o worker.Overrun) { c.t.Errorf("%s: guests could not be stopped: %+v", m.ID, o) },
		Version:   "test",
	}
	cfg.Runtime.OnRun = c.Runs.span(m.ID)
	cfg.Runtime.CompileWorkers = 1
	cfg.Raft.CommitPause, cfg.Raft.LoneCommitPause = 50*time.Millisecond, 50*time.Millisecond // callers that wait for each other get done as much in a virtual second as on a slow network
	m.mu.Lock()
	cfg.Raft.AsNewDisk = m.blank
	m.mu.Unlock()
	for _, peer := range c.Members {
		cfg.Join = append(cfg.Join, peer.Addr)
	}
	if c.o.Configure != nil {
		c.o.Configure(m.index, &cfg)
	}
	return cfg
}

func (m *Member) failed(b *boot, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b.killed {
		return
	}
	m.fatal = err
	if !m.c.o.MayFail {
		m.c.t.Errorf("%s stopped by itself: %v", m.ID, err)
	}
}

// Fatal returns why the member stopped by itself.
func (m *Member) Fatal() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fatal
}

// Boottime is the machine's clock for all members: the bubble's clock.
func (c *Cluster) Boottime() time.Duration { return time.Since(c.start) }

// Node returns member i, which must be up.
func (c *Cluster) Node(i int) *node.Node {
	c.t.Helper()
	n := c.Members[i].up()
	if n == nil {
		c.t.Fatalf("%s is down", c.Members[i].ID)
	}
	return n
}

func (m *Member) up() *node.Node {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.node
}

// Up lists the members that are up.
func (c *Cluster) Up() []int {
	var up []int
	for i, m := range c.Members {
		if m.up() != nil {
			up = append(up, i)
		}
	}
	return up
}

// Stop shuts member i down cleanly and waits for it.
func (c *Cluster) Stop(i int) {
	c.t.Helper()
	m := c.Members[i]
	m.mu.Lock()
	n := m.node
	m.node = nil
	m.mu.Unlock()
	if n == nil {
		return
	}
	c.checkStreams(m, n)
	if err := n.Close(); err != nil {
		c.t.Errorf("stop %s: %v", m.ID, err)
	}
}

// Kill ends member i as a crash of its process does: its connections break, nothing is given back or handed over, and its
// guests stop at once. Its disk holds what was synced, as after kill -9. Start starts the member again.
func (c *Cluster) Kill(i int) {
	c.t.Helper()
	m := c.Members[i]
	m.mu.Lock()
	n := m.node
	m.node, m.boot.killed = nil, true
	gone := make(chan struct{})
	m.gone = gone
	m.mu.Unlock()
	if n == nil {
		c.t.Fatalf("%s is down", m.ID)
	}
	c.checkStreams(m, n)
	c.Net.Isolate(m.Addr)
	c.Net.Crash(m.Addr)
	n.KillGuests()
	go func() {
		defer close(gone)
		_ = n.Close() // it complains that nobody hears it
	}()
}

// checkStreams reports honest workers that a member has taken for workers that speak for others. They would go on, on new streams, and nobody would
// notice.
func (c *Cluster) checkStreams(m *Member, n *node.Node) {
	if b := n.Stats().StreamBreaches; b > 0 && !c.o.Intruders {
		c.t.Errorf("%s has ended %d streams of workers for speaking for others", m.ID, b)
	}
}

// Finish checks what must hold in any run: see the package comment. It undoes partitions and delays first.
func (c *Cluster) Finish() {
	c.t.Helper()
	c.Net.HealAll()
	c.Net.Lossy(0, 0)
	c.Agree()
	c.Runs.check()
}

// Close stops everything. A second Close does nothing more.
func (c *Cluster) Close() {
	c.mu.Lock()
	workers := c.workers
	c.mu.Unlock()
	for _, w := range workers {
		w.Stop()
	}
	var wg sync.WaitGroup
	for i := range c.Members {
		wg.Go(func() {
			c.Stop(i)
			c.awaitGone(i)
		})
	}
	wg.Wait()
	c.Audit.wg.Wait()
	c.Net.Close()
}

// Clock holds the clocks of one member: the bubble's clock, and a wall clock that a test can make jump.
type Clock struct {
	mu   sync.Mutex
	skew time.Duration
}

var _ raftstore.Clock = (*Clock)(nil)

// Wall implements raftstore.Clock.
func (k *Clock) Wall() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Now().Add(k.skew).Round(0)
}

// Mono implements raftstore.Clock.
func (k *Clock) Mono() time.Duration { return time.Since(time.Unix(0, 0)) }

// Jump makes the wall clock jump forward, or back.
func (k *Clock) Jump(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.skew += d
}

// Context returns a context that ends after d of virtual time.
func (c *Cluster) Context(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.t.Context(), d)
}
