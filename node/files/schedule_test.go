package files

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/internal/memnet"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/task"
)

var (
	blobSchedules = flag.Int("blobschedules", 400, "schedules of TestNothingNeededIsUnlinked")
	blobSeed      = flag.Uint64("blobseed", 0, "the only seed to run; 0: the first ones")
)

// TestNothingNeededIsUnlinked has three replicas that apply one log, each at its own pace. There are uploads of the
// same few files, references to them, drops without any grace, and restarts that replay the log from its beginning. At
// every moment a file that the log calls stored lies on two disks. Nobody fetches a file that is lost.
func TestNothingNeededIsUnlinked(t *testing.T) {
	t.Parallel()
	n := *blobSchedules
	if testing.Short() {
		n /= 10
	}
	var total blobCounts
	for i := range n {
		seed := uint64(i + 1)
		if *blobSeed != 0 {
			seed = *blobSeed
		}
		synctest.Test(t, func(t *testing.T) { newBlobWorld(t, seed).play(&total) })
		if t.Failed() {
			t.Fatalf("go test ./node/files -run TestNothingNeededIsUnlinked -blobseed %d", seed)
		}
	}
	t.Logf("%d schedules: %+v", n, total)
	if *blobSeed == 0 && (total.Uploads == 0 || total.Dropped == 0 || total.Unlinked == 0 || total.Again == 0 || total.Replays == 0) {
		t.Errorf("what the test is about did not happen: %+v", total)
	}
}

// blobCounts counts what happens. The counts show that the schedules reach their aim.
type blobCounts struct{ Uploads, References, Dropped, Unlinked, Again, Replays int }

// blobWorld is a log, the state at its head, and three replicas.
type blobWorld struct {
	t      *testing.T
	random *rand.Rand
	net    *memnet.Net
	dir    string
	token  uint64 // the token of a maintenance run that never ends

	mu       sync.Mutex
	count    blobCounts
	head     *task.Machine
	entries  []blobEntry
	grown    chan struct{} // closed and replaced at every entry
	replicas []*blobReplica
}

type blobEntry struct {
	header   task.Header
	proposal []task.Proposal
}

// blobReplica is a node, reduced to its files.
type blobReplica struct {
	w    *blobWorld
	addr string

	mu      sync.Mutex
	machine *task.Machine
	applied int
	moved   chan struct{} // closed and replaced whenever the replica applies an entry
	blobs   *blob.Store
	feed    chan []task.Event
	stop    func()
}

func newBlobWorld(t *testing.T, seed uint64) *blobWorld {
	dir, err := os.MkdirTemp("/dev/shm", "blobworld")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &blobWorld{
		t: t, random: rand.New(rand.NewPCG(seed, 4)), net: memnet.New(), dir: dir, head: task.NewMachine(), grown: make(chan struct{}),
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.must(task.OpenSession{Worker: "w", Node: "w", Slots: 1, TTL: 1 << 40, Proof: []byte("w")})
	for _, ns := range []string{task.SystemNamespace, task.DefaultNamespace} {
		module, name := task.NativeMaintenance, task.MaintenanceBehavior
		if ns == task.DefaultNamespace {
			module, name = "m", "needs"
		}
		w.must(task.Activate{
			Namespace: ns, Module: task.Module{Digest: module, Version: "1"}, Behaviors: []task.Activated{{Name: name, Policy: task.DefaultPolicy()}},
		})
	}
	w.must(task.Submit{Namespace: task.SystemNamespace, ID: task.MaintenanceTask, Behavior: task.MaintenanceBehavior})
	for _, a := range w.head.Plan([]task.Free{{Session: 1, Slots: 1}}, 1) {
		w.must(a)
	}
	run := w.head.Task(task.MaintenanceKey())
	if run == nil || run.Lease == nil {
		t.Fatalf("no maintenance runs: %+v", run)
	}
	w.token = run.Lease.Token
	for i := range 3 {
		r := &blobReplica{w: w, addr: fmt.Sprint("n", i), moved: make(chan struct{})}
		w.replicas = append(w.replicas, r)
		r.start()
	}
	return w
}

// must appends a command that must not be refused.
func (w *blobWorld) must(c task.Command) {
	if r := w.append(c); r.Code != task.OK {
		w.t.Fatalf("%+v: %+v", c, r)
	}
}

// append adds an entry to the log and applies it to the head. The caller holds w.mu.
func (w *blobWorld) append(c task.Command) task.Result {
	e := blobEntry{
		header:   task.Header{Index: uint64(len(w.entries) + 1), Term: 1, Now: task.Time(time.Now().UnixMilli()), LeaseNow: task.LeaseTime(len(w.entries) + 1)},
		proposal: []task.Proposal{{Command: c}},
	}
	w.entries = append(w.entries, e)
	rs, _ := w.head.Apply(e.header, e.proposal)
	close(w.grown)
	w.grown = make(chan struct{})
	w.check()
	return rs[0]
}

// check compares the disks with the head of the log: two disks have every stored file. The caller holds w.mu.
func (w *blobWorld) check() {
	for b := range w.head.Blobs("") {
		if !b.Ready {
			continue
		}
		copies := 0
		for i := range 3 {
			if _, err := os.Stat(filepath.Join(w.dir, fmt.Sprint("n", i), b.Digest[:2], b.Digest)); err == nil {
				copies++
			}
		}
		if copies < 2 {
			w.t.Errorf("at index %d %.8s lies on %d disks: %+v", len(w.entries), b.Digest, copies, b)
		}
	}
}

// propose stands for raftstore.Store.Propose.
func (w *blobWorld) propose(ctx context.Context, cmds ...task.Command) ([]task.Result, error) {
	w.pause(20)
	w.mu.Lock()
	var rs []task.Result
	for _, c := range cmds {
		rs = append(rs, w.append(c))
	}
	w.mu.Unlock()
	w.pause(20)
	return rs, ctx.Err()
}

// below draws a number below n.
func (w *blobWorld) below(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(n)
}

// pause lets up to most milliseconds of virtual time pass; often it lets none pass.
func (w *blobWorld) pause(most int) {
	if d := w.below(2 * most); d > most {
		idle.For(w.t.Context(), time.Duration(d-most)*time.Millisecond)
	}
}

// start starts a replica with an empty state. It applies the whole log again, at its own pace.
func (r *blobReplica) start() {
	ctx, cancel := context.WithCancel(context.Background())
	s, err := blob.Open(blob.Config{
		Dir: filepath.Join(r.w.dir, r.addr), Net: r.w.net.Node(r.addr), Timeout: time.Second,
		Applied: func(ctx context.Context, index uint64) error { return r.wait(ctx, index) },
	})
	if err != nil {
		r.w.t.Fatal(err)
	}
	r.mu.Lock()
	r.machine, r.applied, r.blobs, r.feed = task.NewMachine(), 0, s, make(chan []task.Event, 10_000)
	events := r.feed
	r.mu.Unlock()
	k := newKeeper(keeperConfig{
		blobs: s, read: r.read, local: r.local, peers: func() []string { return nil },
		subscribe: func() Subscription { return feed{C: events, lagged: func() bool { return false }} },
		log:       slog.New(unlinks{r.w}),
	})
	ln := r.w.net.Node(r.addr).Listen(mux.Blob)
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Serve(ln) })
	wg.Go(func() { k.run(ctx) })
	wg.Go(func() { r.apply(ctx) })
	r.stop = func() {
		cancel()
		_ = s.Close()
		wg.Wait()
	}
}

// apply carries out the log, entry by entry.
func (r *blobReplica) apply(ctx context.Context) {
	for ctx.Err() == nil {
		r.w.mu.Lock()
		grown, lag := r.w.grown, 0
		var e *blobEntry
		if r.applied < len(r.w.entries) {
			e, lag = &r.w.entries[r.applied], r.w.random.IntN(40)
		}
		r.w.mu.Unlock()
		if e == nil {
			select {
			case <-grown:
			case <-ctx.Done():
			}
			continue
		}
		if lag >= 30 {
			idle.For(ctx, time.Duration(lag-30)*5*time.Millisecond)
		}
		r.mu.Lock()
		_, evs := r.machine.Apply(e.header, e.proposal)
		r.applied++
		close(r.moved)
		r.moved = make(chan struct{})
		r.mu.Unlock()
		r.feed <- evs
	}
}

func (r *blobReplica) local(f func(*task.Machine)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r.machine)
}

// wait stands for raftstore.Store.WaitIndex.
func (r *blobReplica) wait(ctx context.Context, index uint64) error {
	for {
		r.mu.Lock()
		applied, moved := r.applied, r.moved
		r.mu.Unlock()
		if uint64(applied) >= index {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// read stands for raftstore.Store.Read.
func (r *blobReplica) read(ctx context.Context, f func(*task.Machine)) error {
	r.w.mu.Lock()
	index := uint64(len(r.w.entries))
	r.w.mu.Unlock()
	if err := r.wait(ctx, index); err != nil {
		return err
	}
	r.local(f)
	return nil
}

// upload stores a file through a replica and submits a task that needs it. The submit may find that the file is gone
// again.
func (w *blobWorld) upload(id string) {
	data := []byte{byte(w.below(3))}
	w.mu.Lock()
	r := w.replicas[w.random.IntN(3)]
	w.mu.Unlock()
	r.mu.Lock()
	s := r.blobs
	r.mu.Unlock()
	b, err := s.StageBytes(data)
	if err != nil {
		return // the replica is being restarted
	}
	defer b.Close()
	u := uploader{blobs: s, propose: w.propose, wait: r.wait, local: r.local, voters: func() blob.Spread {
		to := blob.Spread{Need: 2, Self: true}
		for _, other := range w.replicas {
			if other != r {
				to.Peers = append(to.Peers, other.addr)
			}
		}
		return to
	}}
	for range 3 {
		if u.store(w.t.Context(), b) != nil {
			return // too few replicas were up, and nothing claims that the file is stored
		}
		w.tell(func(c *blobCounts) { c.Uploads++ })
		if w.below(4) == 0 {
			return // the file is only put
		}
		rs, err := w.propose(w.t.Context(), task.Submit{
			Namespace: task.DefaultNamespace, ID: id, Behavior: "needs", Params: task.Payload{Encoding: task.Bytes, Blobs: &task.Blobs{Content: b.Digest, Size: b.Size}},
		})
		switch {
		case err != nil:
			return
		case rs[0].Code == task.OK:
			w.tell(func(c *blobCounts) { c.References++ })
			return
		case rs[0].Code != task.BlobGone:
			w.t.Errorf("submit: %+v", rs[0])
			return
		}
		w.tell(func(c *blobCounts) { c.Again++ })
	}
}

func (w *blobWorld) tell(f func(*blobCounts)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.count)
}

// unlinks counts the files that keepers remove. It reads the keepers' log lines.
type unlinks struct{ w *blobWorld }

func (unlinks) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (u unlinks) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "removed a blob" {
		u.w.tell(func(c *blobCounts) { c.Unlinked++ })
	}
	return nil
}

func (u unlinks) WithAttrs([]slog.Attr) slog.Handler { return u }
func (u unlinks) WithGroup(string) slog.Handler      { return u }

// drop drops every file that nothing needs.
func (w *blobWorld) drop() {
	var all []string
	for i := range 3 {
		all = append(all, blob.Digest([]byte{byte(i)}))
	}
	w.mu.Lock()
	r := w.append(task.DropBlobs{Token: w.token, Before: 1 << 60, Digests: all})
	if r.Code != task.OK {
		w.t.Errorf("drop: %+v", r)
	}
	w.count.Dropped += int(r.Count)
	w.mu.Unlock()
}

// play lets everything happen at the same time. Then it looks whether all needed files are there.
func (w *blobWorld) play(total *blobCounts) {
	var wg sync.WaitGroup
	for u := range 3 {
		wg.Go(func() {
			for i := range 4 {
				w.pause(60)
				id := fmt.Sprintf("task-%d-%d", u, i)
				w.upload(id)
				w.pause(60)
				if w.below(2) == 0 {
					_, _ = w.propose(w.t.Context(), task.Remove{Key: task.Key{Namespace: task.DefaultNamespace, ID: id}})
				}
			}
		})
	}
	wg.Go(func() {
		for range 12 {
			w.pause(50)
			w.drop()
		}
	})
	wg.Go(func() {
		for range w.below(3) {
			w.pause(300)
			w.mu.Lock()
			r := w.replicas[w.random.IntN(3)]
			w.count.Replays++
			w.mu.Unlock()
			r.stop()
			w.pause(50)
			r.start()
		}
	})
	wg.Wait()
	for _, r := range w.replicas {
		_ = r.read(w.t.Context(), func(*task.Machine) {})
	}
	synctest.Wait() // now every dropped file is unlinked
	w.mu.Lock()
	w.check()
	add(total, &w.count)
	w.mu.Unlock()
	for _, r := range w.replicas {
		r.stop()
	}
	w.net.Close()
}

func add(total, c *blobCounts) {
	total.Uploads += c.Uploads
	total.References += c.References
	total.Dropped += c.Dropped
	total.Unlinked += c.Unlinked
	total.Again += c.Again
	total.Replays += c.Replays
}
