package clustertest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/raftstore/logstore"
	"github.com/taskrt/taskrt/task"
)

// TestMixedSchedules lets the same faults happen to everything else that a cluster does, all at one time: external
// workers, limits and keys, repeats, retries by hand, pauses, drained nodes, versions, deletions, transactions,
// TaskStore records, idempotency keys, bulk jobs, waits and events. The audit checks every entry. This test checks what the
// callers were told. A failure prints its schedule; go test ./internal/clustertest -run TestMixedSchedules -mixed 1
// -seed N runs this schedule again.
func TestMixedSchedules(t *testing.T) {
	n := *mixedSchedules
	if testing.Short() {
		n = min(n, 4)
		if raceDetector {
			n = min(n, 2)
		}
	}
	for i := range uint64(n) {
		s := drawMixed(*firstSeed + i)
		t.Run(fmt.Sprintf("seed=%d", s.seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, s.testMixed)
		})
	}
}

// mixed is a mixed schedule that runs. It knows what its callers may rely on, according to the answers that they got.
type mixed struct {
	*runner
	over chan struct{} // closed when all drawn events have happened
	done chan struct{} // closed when all tasks are final: workers and subscribers end
	once sync.Once     // closes done

	background sync.WaitGroup
	drains     [nodes]sync.Mutex // held while a node is drained

	mu     sync.Mutex
	owned  map[string]*owned
	handed map[string]uint64 // by task: the highest token that a worker was handed
	asked  map[uint64]string // by token: the accept that got it
	dead   map[uint64]bool   // tokens with a refused report
	ended  map[uint64]ending // by token, as its worker was told
	idle   []idleTime
	keyed  map[string]string // by label: the task that an idempotency key made
	store  storeBook
	groups map[string]int // by group of tasks: how many updates were acknowledged
	counts map[string]int // how far the schedule reached
}

// ending is a report that was taken.
type ending struct {
	id, status string
	rev        uint64
}

// idleTime is a part of the log. A node must get nothing in it (SPEC L10).
type idleTime struct {
	node     string
	from, to uint64
}

func (s *schedule) testMixed(t *testing.T) {
	r := &runner{s: s, tasks: map[string]*known{}, procs: map[string]*process{}}
	m := &mixed{
		runner: r, over: make(chan struct{}), done: make(chan struct{}), owned: map[string]*owned{}, handed: map[string]uint64{},
		asked: map[uint64]string{}, dead: map[uint64]bool{}, ended: map[uint64]ending{}, keyed: map[string]string{},
		groups: map[string]int{}, counts: map[string]int{}, store: newStoreBook(),
	}
	r.mix = m
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the schedule that failed:\n%v\nwhat happened:\n%s", s, r.story())
		}
	})
	r.c = New(t, nodes, Options{SessionTTL: 5 * time.Second, Slots: 3, Configure: func(_ int, cfg *node.Config) {
		if s.compact {
			cfg.Raft.SnapshotBytes, cfg.Raft.TrailingBytes = 1, 1
		}
		if s.seed%4 == 2 {
			cfg.Raft.LogStore, cfg.Raft.LogSegmentBytes = logstore.WAL, 256<<10 // small segments, as the directory may be in memory
		}
	}})
	t.Cleanup(func() { // even when the test gave up
		m.stop()
		m.background.Wait()
	})
	for _, p := range r.c.Members {
		r.procs[p.ID] = &process{}
	}
	for i := range s.workers {
		id := fmt.Sprintf("w%d", i+1)
		r.procs[id] = &process{worker: r.c.AddWorker(id, 2)}
	}
	m.define()
	r.c.WorkersReady(nodes + s.workers)
	r.c.Audit.Rule(chainRule)
	r.c.Audit.Rule(groupRule)
	m.run()
	r.c.Finish()
	m.checkAll()
	t.Logf("%d entries told of, %v", len(r.c.Audit.entries), m.counts)
}

func (m *mixed) count(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[what]++
}

// stop ends workers, waits and subscribers.
func (m *mixed) stop() { m.once.Do(func() { close(m.done) }) }

// closed reports whether a channel is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// start runs f beside the schedule until done is closed.
func (m *mixed) start(f func()) { m.background.Go(f) }

// within fails the test if wg's goroutines do not end within the limit. what says what they do.
func (m *mixed) within(what string, limit time.Duration, wg *sync.WaitGroup) {
	m.c.t.Helper()
	ended := make(chan struct{})
	go func() {
		wg.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(limit):
		m.c.t.Fatalf("not within %v: %s", limit, what)
	}
}

func (m *mixed) run() {
	var wg sync.WaitGroup
	m.workers()
	m.subscribers()
	start := time.Now()
	for _, e := range m.s.events {
		time.Sleep(e.at - time.Since(start))
		wg.Go(func() { e.run(m.runner) })
	}
	m.within("all that was drawn", time.Hour, &wg)
	m.note("all is healed")
	close(m.over)
	m.settle()
	m.note("all tasks are final")
	m.stop()
	m.within("workers, waits and subscribers end", 20*time.Minute, &m.background)
}

// settle waits until all tasks are final. It cancels tasks that would repeat for ever.
func (m *mixed) settle() {
	rng := rand.New(rand.NewPCG(m.s.seed, 99))
	for end := time.Now().Add(20 * time.Minute); ; time.Sleep(time.Second) {
		left := 0
		var last *api.Task
		for _, t := range m.list() {
			if t.Final {
				continue
			}
			left, last = left+1, t
			if t.Behavior == "again" && !t.CancelRequested {
				m.own(t.ID).cancels++
				_, err := m.call(rng, "cancel "+t.ID, func(ctx context.Context, n *node.Node) error {
					_, err := n.Cancel(ctx, "", t.ID)
					return err
				})
				m.mayFail("cancel "+t.ID, err, "not_cancellable")
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(end) {
			m.c.t.Fatalf("%d tasks never end, among them %s\nat %v: %s", left, Show(last), m.c.now(), m.situation())
		}
	}
}

// situation describes what waits. A failure shows it.
func (m *mixed) situation() string {
	var b strings.Builder
	m.c.Node(m.c.Leader()).Store().Local(func(k *task.Machine) {
		for _, x := range k.Behaviors(task.DefaultNamespace) {
			stats := k.BehaviorStats(task.DefaultNamespace, x.Name)
			fmt.Fprintf(&b, "%s: paused %v, active %.8s, %+v\n", x.Name, x.Paused, x.Active, stats)
		}
		tasks, _ := k.Tasks(task.Filter{Limit: math.MaxInt})
		for _, t := range tasks {
			if !t.Final() {
				fmt.Fprintf(&b, "%s %s %v due %d, version %.8s, key %q, priority %d, lease %+v\n", t.ID, t.Behavior, t.Status, t.NotBefore, t.Version, t.ConcurrencyKey, t.Priority, t.Lease)
			}
		}
	})
	return b.String()
}

// mayFail fails the test unless err is nil or one of the codes.
func (m *mixed) mayFail(what string, err error, codes ...string) {
	if err != nil && !slices.Contains(codes, api.CodeOf(err)) && m.c.t.Context().Err() == nil {
		m.errorf("%s: %v", what, err)
	}
}

// drawMixed draws a mixed schedule.
func drawMixed(seed uint64) *schedule {
	g := &generator{s: &schedule{seed: seed}, rng: rand.New(rand.NewPCG(seed, 8))}
	g.s.workers, g.s.compact = g.rng.IntN(2), g.rng.IntN(2) == 0
	for range 3 + g.rng.IntN(8) {
		g.fault()
	}
	for range 4 + g.rng.IntN(6) {
		g.admin()
	}
	g.near = slices.Clone(g.s.events)
	for range 30 + g.rng.IntN(20) {
		g.owner()
	}
	for i := range 1 + g.rng.IntN(2) {
		p := chain{id: fmt.Sprintf("chain-%d", i), n: 2 + g.rng.IntN(4), seed: g.rng.Uint64()}
		g.add(p.run, "a chain %s of %d", p.id, p.n)
		q := group{id: fmt.Sprintf("group-%d", i), writers: 2 + g.rng.IntN(2), rounds: 3 + g.rng.IntN(4), seed: g.rng.Uint64()}
		g.add(q.run, "%d writers of %s", q.writers, q.id)
		s := items{group: fmt.Sprintf("todo-%d", i), n: 4 + g.rng.IntN(8), clients: 2 + g.rng.IntN(2), seed: g.rng.Uint64()}
		g.add(s.run, "%d clients work on %d records of %s", s.clients, s.n, s.group)
	}
	for i := range 1 + g.rng.IntN(4) {
		k := keyedSubmit{label: fmt.Sprintf("once-%d", i), senders: 1 + g.rng.IntN(3), seed: g.rng.Uint64()}
		g.add(k.run, "%d senders of one keyed submit", k.senders)
	}
	for i := range 1 + g.rng.IntN(2) {
		g.bulk(i)
	}
	slices.SortStableFunc(g.s.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return g.s
}

// checkAll compares the cluster at the end with what everybody was told.
func (m *mixed) checkAll() {
	tasks := m.list()
	m.checkOwned(tasks)
	m.checkReports()
	m.checkIdle()
	m.checkKeys(tasks)
	m.checkStore()
}

// checkReports: a report that was taken ended its token, as its worker was told, and nothing else ended it (SPEC L3).
func (m *mixed) checkReports() {
	for token, e := range m.ended {
		v, ok := m.c.Audit.Version(e.rev)
		if !ok {
			continue // every node was away at that entry, or got it by a snapshot
		}
		m.counts["reports found"]++
		if v.Removed || v.Prev == nil || v.Prev.Lease == nil || v.Prev.Lease.Token != token || v.Task.ID != e.id || v.Task.Status.String() != e.status {
			m.errorf("the report of token %d for %s was taken as rev %d with %s, which is %+v after %+v", token, e.id, e.rev, e.status, v.Task, v.Prev)
		}
	}
}

// checkIdle: a drained node got nothing (SPEC L10).
func (m *mixed) checkIdle() {
	for _, s := range m.c.Audit.Starts() {
		for _, d := range m.idle {
			if s.Lease.Node == d.node && s.Lease.Session != 0 && s.Index > d.from && s.Index <= d.to {
				m.errorf("%s was leased to %s at entry %d, which was drained from %d to %d", s.Key.ID, d.node, s.Index, d.from, d.to)
			}
		}
	}
}

// checkOwned compares the tasks at the end with what their owners did.
func (m *mixed) checkOwned(tasks map[string]*api.Task) {
	for id, o := range m.owned {
		switch t := tasks[id]; {
		case t == nil && o.accepted.Load() && !o.removed.Load() && !o.vanishes.Load():
			m.errorf("%s was accepted and has disappeared (SPEC T6)", id)
		case t != nil && o.removed.Load():
			m.errorf("%s was removed and is there again: %s", id, Show(t))
		case t != nil:
			m.counts[t.Status]++
			m.checkOutcome(t, o)
		}
	}
	for id, t := range tasks {
		if m.owned[id] == nil {
			m.errorf("nobody submitted %s", Show(t))
		}
	}
}

// checkOutcome: a success is the report of the lease that it names. A failure is one that somebody asked for.
func (m *mixed) checkOutcome(t *api.Task, o *owned) {
	last := api.Attempt{}
	for _, h := range t.History {
		if h.Outcome == "SUCCESS" {
			last = h
		}
	}
	switch {
	case t.Status == "SUCCESS" && o.wasm:
		if !slices.Contains(o.params, string(t.Result)) {
			m.errorf("result of %s: %s", t.ID, Show(t))
		}
	case t.Status == "SUCCESS":
		if string(t.Result) != fmt.Sprint(last.Token) {
			m.errorf("the result of %s is not that of its last success: %s", t.ID, Show(t))
		}
		if e, ok := m.ended[last.Token]; ok && e.status != "SUCCESS" {
			m.errorf("the last success of %s was reported as %s: %s", t.ID, e.status, Show(t))
		}
	case t.Behavior == "gone" && t.Error.Code == "flaky": // this failure is not retried
	case t.Error.Code == task.CodeCancelled && o.cancels > 0, t.Error.Code == "fatal" && !o.wasm,
		t.Error.Code == task.CodeLostTooOften && !slices.ContainsFunc(t.History, func(h api.Attempt) bool { return h.Outcome != "LOST" }), t.Error.Code == task.CodeDeadlineExceeded && o.deadline:
	default:
		m.errorf("nobody made %s fail: %s", t.ID, Show(t))
	}
}
