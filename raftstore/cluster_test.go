package raftstore

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/taskrt/taskrt/internal/memdir"
	"github.com/taskrt/taskrt/internal/memnet"
	"github.com/taskrt/taskrt/raftstore/logstore"
	"github.com/taskrt/taskrt/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testClock is the system's clock, with virtual time in a bubble. A test can make its wall clock jump.
type testClock struct {
	start time.Time
	mu    sync.Mutex
	jump  time.Duration
}

func (c *testClock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.jump).Round(0)
}

func (c *testClock) Mono() time.Duration { return time.Since(c.start) }

func (c *testClock) jumpBy(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.jump += d
}

// member is a node of a test cluster, running or not.
type member struct {
	id, addr, dir string
	clock         *testClock
	store         *Store // nil while it does not run
	disk          diskStore
	fatal         chan error
	change        func(*Config) // applied at each start
}

// cluster is a set of nodes on an in-memory network, in a synctest bubble.
type cluster struct {
	t     *testing.T
	dir   string
	net   *memnet.Net
	nodes map[string]*member
	logs  logstore.Kind
}

var logStore = flag.String("log-store", "", "format of the logs of all tests that are not about one")

// eachLogStore calls bubble once for every format of the log.
func eachLogStore(t *testing.T, f func(t *testing.T, c *cluster)) {
	for _, kind := range logstore.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			bubble(t, func(t *testing.T, c *cluster) {
				c.logs = kind
				f(t, c)
			})
		})
	}
}

// bubble runs f with a cluster in virtual time, and closes the cluster at the end.
func bubble(t *testing.T, f func(t *testing.T, c *cluster)) {
	t.Helper()
	bubbleFor(t, 15*time.Minute, f)
}

// bubbleFor is bubble for a test that takes so long in virtual time.
func bubbleFor(t *testing.T, longest time.Duration, f func(t *testing.T, c *cluster)) {
	t.Helper()
	dir := memdir.New(t)
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{t: t, dir: dir, net: memnet.New(), nodes: map[string]*member{}, logs: logstore.Kind(*logStore)}
		defer c.close()
		// Heartbeats keep virtual time going. A test that waits for something that never happens would hang and not show
		// where.
		hung := time.AfterFunc(longest, func() { panic("the test waits for something that does not happen") })
		defer hung.Stop()
		f(t, c)
	})
}

func (c *cluster) close() {
	c.net.HealAll()
	for _, m := range c.nodes {
		if m.store != nil {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_ = m.store.Close(ctx)
			cancel()
		}
	}
	c.net.Close()
}

func (c *cluster) add(id string, change func(*Config)) *member {
	m := &member{id: id, addr: id + ":1", dir: c.dir + "/" + id, clock: &testClock{start: time.Now()}, fatal: make(chan error, 1), change: change}
	c.nodes[id] = m
	return m
}

// start opens a node with the join addresses.
func (c *cluster) start(m *member, expect int, join ...string) *Store {
	c.t.Helper()
	s, err := c.tryStart(m, expect, join...)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

func (c *cluster) tryStart(m *member, expect int, join ...string) (*Store, error) {
	cfg := Config{
		ID: m.id, Dir: m.dir, Addr: m.addr, HTTP: "http-" + m.addr, Join: join, BootstrapExpect: expect,
		Net: c.net.Node(m.addr), Clock: m.clock, OnFatal: func(err error) { m.fatal <- err },
		LogStore: c.logs, LogSegmentBytes: 256 << 10, // small segments, as the directory may be in memory
	}
	if testing.Verbose() && debugLogs {
		cfg.Logger = slog.New(slog.NewTextHandler(c.t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if m.change != nil {
		m.change(&cfg)
	}
	wrap := cfg.wrapDisk
	cfg.wrapDisk = func(d diskStore) diskStore {
		if m.disk = d; wrap != nil {
			m.disk = wrap(d)
		}
		return m.disk
	}
	s, err := Open(cfg)
	if err == nil {
		m.store = s
	}
	return s, err
}

// debugLogs makes -v print the stores' logs.
const debugLogs = false

// three starts the usual cluster, where all nodes have the same command line. It waits until the cluster has a leader.
func three(c *cluster, change func(*Config)) []*member { return some(c, 3, change) }

// some starts a cluster of n1, n2 and so on.
func some(c *cluster, n int, change func(*Config)) (ms []*member) {
	c.t.Helper()
	var join []string
	for i := range n {
		m := c.add(fmt.Sprintf("n%d", i+1), change)
		ms, join = append(ms, m), append(join, m.addr)
	}
	for _, m := range ms {
		c.start(m, n, join...)
	}
	c.leader()
	return ms
}

// await polls cond in virtual time.
func (c *cluster) await(what string, cond func() bool) {
	c.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !cond(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
				if m := c.nodes[id]; m.store != nil {
					c.t.Logf("%+v", m.store.Status())
				}
			}
			c.t.Fatalf("never happened: %s", what)
		}
	}
}

// leader waits for a ready leader that is not in except.
func (c *cluster) leader(except ...*member) (leader *member) {
	c.t.Helper()
	c.await("a leader", func() bool {
		for _, m := range c.nodes {
			if m.store != nil && !slices.Contains(except, m) && m.store.leadingTerm() != 0 && m.store.failure() == nil {
				leader = m
				return true
			}
		}
		return false
	})
	return leader
}

// followers returns the running nodes other than m.
func (c *cluster) followers(m *member) (fs []*member) {
	for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
		if f := c.nodes[id]; f != m && f.store != nil {
			fs = append(fs, f)
		}
	}
	return fs
}

// stop closes a node cleanly.
func (c *cluster) stop(m *member) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := m.store.Close(ctx); err != nil {
		c.t.Fatalf("close %s: %v", m.id, err)
	}
	m.store = nil
}

// crash ends a node without any goodbye.
func (c *cluster) crash(m *member) {
	c.t.Helper()
	c.net.Crash(m.addr)
	m.store.fail(errCrash)
	c.stop(m)
	<-m.fatal
}

var errCrash = errors.New("test: crashed")

func ctxFor(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

const behavior = "echo"

// activate activates the behavior of the tests' tasks.
func (c *cluster) activate(s *Store) {
	c.t.Helper()
	c.propose(s, task.Activate{
		Namespace: task.DefaultNamespace, Module: task.Module{Digest: "d", Size: 1, Version: "v"},
		Behaviors: []task.Activated{{Name: behavior, Policy: task.DefaultPolicy()}},
	})
}

func submit(id string, ifExists task.IfExists) task.Submit {
	return task.Submit{Namespace: task.DefaultNamespace, ID: id, Behavior: behavior, IfExists: ifExists, Priority: 4}
}

func key(id string) task.Key { return task.Key{Namespace: task.DefaultNamespace, ID: id} }

// propose demands that every command succeeds within a virtual minute.
func (c *cluster) propose(s *Store, cmds ...task.Command) []task.Result {
	c.t.Helper()
	rs, err := s.Propose(ctxFor(c.t, time.Minute), cmds...)
	if err != nil {
		c.t.Fatal(err)
	}
	for i, r := range rs {
		if r.Code != task.OK {
			c.t.Fatalf("command %d: %s %s", i, r.Code, r.Message)
		}
	}
	return rs
}

// has reads linearizably whether a task is there.
func (c *cluster) has(s *Store, id string) (found bool) {
	c.t.Helper()
	if err := s.Read(ctxFor(c.t, time.Minute), func(m *task.Machine) { found = m.Task(key(id)) != nil }); err != nil {
		c.t.Fatal(err)
	}
	return found
}

// agree waits until all running nodes have applied the same entries, and compares their digests.
func (c *cluster) agree() task.Digest {
	c.t.Helper()
	var first task.Digest
	ds := map[string]task.Digest{} // as they were when their indexes were equal: a leader that began just now goes on settling who votes
	c.await("equal indexes", func() bool {
		clear(ds)
		equal := true
		for id, m := range c.nodes {
			if m.store != nil {
				ds[id] = m.store.Status().Digest
				equal = equal && (len(ds) == 1 || ds[id].Index == first.Index)
				first = ds[id]
			}
		}
		return equal
	})
	for id, m := range c.nodes {
		if m.store == nil {
			continue
		}
		if ds[id] != first {
			c.t.Fatalf("%s has digest %v, another %v", id, ds[id], first)
		}
		var err error
		m.store.Local(func(m *task.Machine) { err = m.Check() })
		if err != nil {
			c.t.Fatalf("%s: %v", id, err)
		}
	}
	return first
}

func ids(prefix string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("%s-%d", prefix, i))
	}
	return ids
}

func memnetNode() Network { return memnet.New().Node("n1:1") }
