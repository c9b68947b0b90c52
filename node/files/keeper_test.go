package files

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/internal/memnet"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/task"
)

// keeping is a keeper with its disk, a state that the test writes, and a peer that has the files which the test gives
// it.
type keeping struct {
	*keeper
	t       *testing.T
	dir     string
	peer    *blob.Store
	mu      sync.Mutex
	machine *task.Machine
	index   uint64
	feeds   []chan []task.Event
	cutOff  bool
	healed  []string // the digests in the order of healing
}

// keepFiles starts a keeper and runs f beside it, in virtual time.
func keepFiles(t *testing.T, before func(k *keeping), f func(k *keeping)) {
	synctest.Test(t, func(t *testing.T) {
		net := memnet.New()
		k := &keeping{t: t, dir: t.TempDir(), machine: task.NewMachine()}
		open := func(addr string, c blob.Config) *blob.Store {
			c.Dir, c.Net, c.Timeout = filepath.Join(k.dir, addr), net.Node(addr), time.Second
			s, err := blob.Open(c)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		k.peer = open("peer", blob.Config{})
		ln := net.Node("peer").Listen(mux.Blob)
		var wg sync.WaitGroup
		wg.Go(func() { _ = k.peer.Serve(ln) })
		own := open("own", blob.Config{OnCorrupt: func(digest string) { k.lost(digest) }})
		k.keeper = newKeeper(keeperConfig{
			blobs: own, local: k.state, peers: func() []string { return []string{"peer"} }, subscribe: k.subscribe, log: slog.New(k),
			read: func(_ context.Context, f func(*task.Machine)) error { k.state(f); return nil },
		})
		before(k)
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() { k.run(ctx) })
		synctest.Wait()
		f(k)
		cancel()
		_ = own.Close()
		_ = k.peer.Close()
		wg.Wait()
		net.Close()
	})
}

func (k *keeping) state(f func(*task.Machine)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f(k.machine)
}

func (k *keeping) subscribe() Subscription {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := make(chan []task.Event, 100)
	k.feeds = append(k.feeds, c)
	return feed{C: c, lagged: func() bool { return k.cutOff }}
}

// feed is a Subscription.
type feed struct {
	C      chan []task.Event
	lagged func() bool
}

func (f feed) Events() <-chan []task.Event { return f.C }
func (f feed) Lagged() bool                { return f.lagged() }
func (f feed) Close()                      {}

// lag makes the keeper lose its events.
func (k *keeping) lag() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cutOff = true
	close(k.feeds[len(k.feeds)-1])
}

// Enabled implements slog.Handler, as do the next three methods.
func (k *keeping) Enabled(context.Context, slog.Level) bool { return true }

func (k *keeping) WithAttrs([]slog.Attr) slog.Handler { return k }
func (k *keeping) WithGroup(string) slog.Handler      { return k }

func (k *keeping) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "a blob that was missing is here again" {
		r.Attrs(func(a slog.Attr) bool {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.healed = append(k.healed, a.Value.String())
			return false
		})
	}
	return nil
}

// apply puts a command into the log.
func (k *keeping) apply(c task.Command) {
	k.t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.index++
	rs, evs := k.machine.Apply(task.Header{Index: k.index, Term: 1, Now: 1000, LeaseNow: 1}, []task.Proposal{{Command: c}})
	if rs[0].Code != task.OK {
		k.t.Fatalf("%+v: %+v", c, rs[0])
	}
	if n := len(k.feeds); n > 0 {
		k.feeds[n-1] <- evs
	}
}

// stored makes a blob that the log knows and the peer has.
func (k *keeping) stored(data string) string {
	k.t.Helper()
	d, err := k.peer.Put(k.t.Context(), []byte(data))
	if err != nil {
		k.t.Fatal(err)
	}
	for _, ready := range []bool{false, true} {
		k.apply(task.NoteBlob{Digest: d, Size: int64(len(data)), Ready: ready})
	}
	return d
}

func TestKeeperHealsModulesFirst(t *testing.T) {
	t.Parallel()
	var modules, order []string
	keepFiles(t, func(k *keeping) {
		for i := range 20 {
			k.lost(k.stored(fmt.Sprint("payload ", i))) // the payloads are missed first
		}
		for i := range 5 {
			d := k.stored(fmt.Sprint("module ", i))
			modules = append(modules, d)
			k.apply(task.Activate{
				Namespace: task.DefaultNamespace, Noted: true, Module: task.Module{Digest: d, Version: fmt.Sprint(i)},
				Behaviors: []task.Activated{{Name: fmt.Sprint("behavior-", i), Policy: task.DefaultPolicy()}},
			})
		}
		k.apply(task.NoteBlob{Digest: blob.Digest([]byte("on its way")), Size: 10})
		k.compare()
		for d := k.next(); d != ""; d = k.next() { // like healers, which finish in no certain order
			order = append(order, d)
		}
		clear(k.wanted)
		k.untried = 0
	}, func(k *keeping) {
		if len(k.healed) != 25 || k.ready(context.Background()) != nil {
			t.Fatalf("healed %d of 25; %v", len(k.healed), k.ready(context.Background()))
		}
		if len(order) != 25 || !slices.Equal(slices.Sorted(slices.Values(order[:5])), slices.Sorted(slices.Values(modules))) {
			t.Errorf("taken in the order %v, modules are %v", order, modules)
		}
		if s := k.status(); *s != (api.NodeBlobs{}) {
			t.Errorf("%+v", s)
		}
	})
}

// TestKeeperTriesAgain: a file that no member has now is tried again, less and less often. It does not keep the node
// from being ready.
func TestKeeperTriesAgain(t *testing.T) {
	t.Parallel()
	var digest string
	keepFiles(t, func(k *keeping) {
		digest = k.stored("rare")
		if _, err := k.peer.Unlink(digest, func() bool { return false }); err != nil {
			t.Fatal(err)
		}
	}, func(k *keeping) {
		if s := k.status(); s.Missing != 1 || s.Failing != 1 || k.ready(context.Background()) != nil {
			t.Errorf("%+v, %v", s, k.ready(context.Background()))
		}
		time.Sleep(time.Hour)
		if _, err := k.peer.Put(t.Context(), []byte("rare")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lastRetry)
		synctest.Wait()
		if s := k.status(); s.Missing != 0 || !k.blobs.Has(digest) {
			t.Errorf("%+v", s)
		}
	})
}

// TestKeeperNotices: the keeper notices files that come and go, events that it missed, and files that the disk loses
// without a word.
func TestKeeperNotices(t *testing.T) {
	t.Parallel()
	keepFiles(t, func(k *keeping) {}, func(k *keeping) {
		wait := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
		first := k.stored("first")
		if wait(notedPause); !k.blobs.Has(first) {
			t.Error("a blob that is stored elsewhere was not fetched")
		}
		k.mu.Lock()
		k.feeds = append(k.feeds, make(chan []task.Event, 10)) // nobody reads this feed, so its events are missed
		k.mu.Unlock()
		second := k.stored("second")
		k.mu.Lock()
		k.feeds = k.feeds[:1]
		k.mu.Unlock()
		if wait(notedPause); k.blobs.Has(second) {
			t.Error("the test shows nothing")
		}
		k.lag()
		if synctest.Wait(); !k.blobs.Has(second) {
			t.Error("what was missed was not fetched")
		}
		k.cutOff = false
		if err := os.RemoveAll(filepath.Join(k.dir, "own")); err != nil {
			t.Fatal(err)
		}
		if wait(lookEvery); !k.blobs.Has(first) || !k.blobs.Has(second) {
			t.Error("a deleted folder was not healed")
		}
		if _, err := k.blobs.Unlink(first, func() bool { return false }); err != nil {
			t.Fatal(err)
		}
		if wait(compareEvery + lookEvery); !k.blobs.Has(first) {
			t.Error("a file that went was not fetched again")
		}
	})
}

// TestKeeperScrubs: the disk has torn a file that nobody reads. The keeper finds and heals it within a day or so.
func TestKeeperScrubs(t *testing.T) {
	t.Parallel()
	keepFiles(t, func(*keeping) {}, func(k *keeping) {
		digest := k.stored("precious")
		time.Sleep(notedPause)
		synctest.Wait()
		path := filepath.Join(k.dir, "own", digest[:2], digest)
		if err := os.WriteFile(path, []byte("preciouS"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(scrubEvery + time.Minute)
		synctest.Wait()
		if data, err := os.ReadFile(path); err != nil || string(data) != "precious" {
			t.Errorf("%q, %v", data, err)
		}
		if s := k.status(); s.Corrupt != 1 || s.Missing != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestKeeperUnlinksLate: the log replays drops before the node has caught up. These drops unlink nothing.
func TestKeeperUnlinksLate(t *testing.T) {
	t.Parallel()
	var caughtUp atomic.Bool
	keepFiles(t, func(k *keeping) {
		if _, err := k.blobs.Put(t.Context(), []byte("x")); err != nil {
			t.Fatal(err)
		}
		k.read = func(context.Context, func(*task.Machine)) error {
			if !caughtUp.Load() {
				return errors.New("no leader")
			}
			return nil
		}
	}, func(k *keeping) {
		digest := blob.Digest([]byte("x"))
		drop := []task.Event{{Kind: task.BlobsDropped, Digests: []string{digest}}}
		k.feeds[0] <- drop
		time.Sleep(time.Minute)
		synctest.Wait()
		if !k.blobs.Has(digest) {
			t.Fatal("a replayed drop has unlinked a file")
		}
		if err := k.ready(context.Background()); err == nil {
			t.Error("ready without having looked")
		}
		caughtUp.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		if k.blobs.Has(digest) {
			t.Error("a drop was forgotten")
		}
	})
}

// TestNotReadyWithoutFolder (SPEC C6): a node that can neither read nor write its blobs does not say that it is ready.
// It says so again as soon as it can.
func TestNotReadyWithoutFolder(t *testing.T) {
	keepFiles(t, func(*keeping) {}, func(k *keeping) {
		dir := filepath.Join(k.dir, "own")
		ready := func() error {
			time.Sleep(2 * time.Second) // an answer holds for a moment
			return k.ready(context.Background())
		}
		if err := ready(); err != nil {
			t.Fatal(err)
		}
		aside := dir + ".aside"
		if err := errors.Join(os.Rename(dir, aside), os.WriteFile(dir, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		if err := ready(); err == nil {
			t.Error("ready with a folder that is none")
		}
		if err := errors.Join(os.Remove(dir), os.Rename(aside, dir)); err != nil {
			t.Fatal(err)
		}
		if err := ready(); err != nil {
			t.Errorf("as before: %v", err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := ready(); err == nil {
			t.Error("ready with a folder that was just made again, before anybody has looked what was in it")
		}
		time.Sleep(lookEvery)
		synctest.Wait()
		if err := ready(); err != nil {
			t.Errorf("once it was looked at: %v", err)
		}
	})
}
