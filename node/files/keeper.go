package files

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
)

// keeper looks after this node's files (SPEC M3). It fetches the files that the log says are stored and that are not
// here, modules first. It unlinks the files that the log has dropped.
type keeper struct {
	keeperConfig
	wake chan struct{} // something is in a queue

	mu      sync.Mutex
	wanted  map[string]*want
	queues  [2][]string // what can be fetched now: modules, then others
	looked  bool        // the files have been compared with the log
	remade  int64       // how often the folder had been found deleted when they were
	untried int         // how many files that a comparison found missing have not been asked for yet
}

type keeperConfig struct {
	blobs     *blob.Store
	read      func(context.Context, func(*task.Machine)) error // linearizable
	local     func(func(*task.Machine))
	peers     func() []string
	subscribe func() Subscription
	log       *slog.Logger
}

// want is a file that is missing here.
type want struct {
	module bool
	counts bool // it counts in untried
	tries  int
}

const (
	healers = 4 // fetches at the same time
	// lookEvery is how often the keeper looks whether the folder is there. compareEvery is how often it looks at every
	// file, to find missing files that nobody has asked for.
	lookEvery    = time.Minute
	compareEvery = 15 * time.Minute
	comparePage  = 1000
	// notedPause is how long a file may take to come by itself: uploads go on to the third node when two have the file.
	notedPause = 5 * time.Second
	// firstRetry and lastRetry bound the pauses between tries to fetch a file.
	firstRetry = 2 * time.Second
	lastRetry  = 5 * time.Minute
	// scrubEvery is how often every file is read, at scrubRate bytes per second.
	scrubEvery = 24 * time.Hour
	scrubRate  = 8 << 20
)

func newKeeper(c keeperConfig) *keeper {
	return &keeper{keeperConfig: c, wake: make(chan struct{}, 1), wanted: map[string]*want{}}
}

// run works until ctx ends.
func (k *keeper) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	f := k.subscribe()
	defer func() { f.Close() }()
	// The keeper must unlink nothing before this node has applied what was committed when it started: the log replays
	// drops of blobs whose files may have been written again since (blob/DESIGN.md).
	if err := raftstore.Persist(ctx, func() error { return k.read(ctx, func(*task.Machine) {}) }); err != nil {
		return
	}
	for range healers {
		wg.Go(func() { k.heal(ctx) })
	}
	wg.Go(func() { k.scrub(ctx) })
	k.compare()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	compared := time.Now()
	for {
		select {
		case evs, ok := <-f.Events():
			switch {
			case ok:
				k.handle(evs)
			case !f.Lagged():
				return // the store has closed
			default:
				f.Close()
				f = k.subscribe()
				k.compare() // maintenance finds the files of drops that were missed
			}
		case <-look.C:
			if err := k.blobs.EnsureDir(); err != nil {
				k.log.Error("cannot make the folder of blobs", "err", err)
			}
			if k.wasRemade() || time.Since(compared) >= compareEvery {
				compared = time.Now()
				k.compare()
			}
		case <-ctx.Done():
			return
		}
	}
}

func (k *keeper) handle(evs []task.Event) {
	for i := range evs {
		switch e := &evs[i]; e.Kind {
		case task.BlobNoted:
			for _, d := range e.Digests {
				time.AfterFunc(notedPause, func() { k.miss(d, false) })
			}
		case task.BlobsDropped:
			k.drop(e.Digests)
		}
	}
}

// drop unlinks the files that nothing needs any longer.
func (k *keeper) drop(digests []string) {
	for _, d := range digests {
		removed, err := k.blobs.Unlink(d, func() bool { return k.needed(d) })
		if err != nil {
			k.log.Warn("cannot remove a blob", "digest", d, "err", err) // maintenance finds the file again
		}
		if removed {
			k.log.Debug("removed a blob", "digest", d)
		}
	}
}

// needed reports whether the log knows a blob, ready or on its way.
func (k *keeper) needed(digest string) bool {
	known, _ := k.known(digest)
	return known
}

func (k *keeper) known(digest string) (known, module bool) {
	k.local(func(m *task.Machine) {
		module = m.Module(digest) != nil
		known = module || m.Blob(digest) != nil
	})
	return known, module
}

// wasRemade reports whether the folder was found deleted since the last comparison.
func (k *keeper) wasRemade() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.blobs.Remade() != k.remade
}

// compare looks which files should be here and are missing.
func (k *keeper) compare() {
	remade := k.blobs.Remade()
	var digests []string
	k.local(func(m *task.Machine) {
		for _, mod := range m.Modules() {
			if blob.ValidDigest(mod.Digest) { // native modules have no files
				digests = append(digests, mod.Digest)
			}
		}
	})
	missing := k.missAll(digests)
	for after, more := "", true; more; {
		digests, after, more = k.page(after)
		missing += k.missAll(digests)
	}
	k.mu.Lock()
	k.looked, k.remade = true, remade
	k.mu.Unlock()
	if missing > 0 {
		k.log.Warn("blobs are missing on this disk; fetching them", "blobs", missing)
	}
}

// page lists stored blobs behind one digest.
func (k *keeper) page(after string) (digests []string, last string, more bool) {
	seen := 0
	k.local(func(m *task.Machine) {
		for b := range m.Blobs(after) {
			if last = b.Digest; b.Ready {
				digests = append(digests, b.Digest)
			}
			if seen++; seen == comparePage {
				more = true
				return
			}
		}
	})
	return digests, last, more
}

func (k *keeper) missAll(digests []string) (missing int) {
	for _, d := range digests {
		if k.miss(d, true) {
			missing++
		}
	}
	return missing
}

// lost is told of a file that was removed because its bytes were wrong.
func (k *keeper) lost(digest string) { k.miss(digest, false) }

// miss queues a file, unless it is here, or queued, or nobody needs it. It reports whether it has queued the file.
func (k *keeper) miss(digest string, counts bool) bool {
	if k.blobs.Has(digest) {
		return false
	}
	known, module := k.known(digest)
	if !known {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.wanted[digest] != nil {
		return false
	}
	k.wanted[digest] = &want{module: module, counts: counts}
	if counts {
		k.untried++
	}
	k.queue(digest, module)
	return true
}

// queue makes a file the next of its kind to be fetched, behind the others. The caller has the lock.
func (k *keeper) queue(digest string, module bool) {
	q := &k.queues[1]
	if module {
		q = &k.queues[0]
	}
	*q = append(*q, digest)
	k.signal()
}

func (k *keeper) signal() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// next takes a file out of the queues. It returns "" if they are empty.
func (k *keeper) next() (digest string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.queues {
		if q := k.queues[i]; len(q) > 0 {
			digest, k.queues[i] = q[0], q[1:]
			break
		}
	}
	if len(k.queues[0])+len(k.queues[1]) > 0 {
		k.signal() // for another healer
	}
	return digest
}

// heal fetches what is queued.
func (k *keeper) heal(ctx context.Context) {
	for {
		digest := k.next()
		if digest == "" {
			select {
			case <-k.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		var err error
		needed := k.needed(digest)
		if needed {
			err = k.blobs.Heal(ctx, digest, k.peers())
		}
		if ctx.Err() != nil {
			return
		}
		if k.tried(digest, err); needed && err == nil {
			k.log.Info("a blob that was missing is here again", "digest", digest)
		}
	}
}

// tried notes how a fetch has ended.
func (k *keeper) tried(digest string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.wanted[digest]
	if w.tries++; w.counts {
		w.counts = false
		k.untried--
	}
	if err == nil {
		delete(k.wanted, digest)
		return
	}
	if w.tries == 1 {
		k.log.Warn("cannot get a blob that is missing; will try again", "digest", digest, "module", w.module, "err", err)
	}
	pause := firstRetry << min(w.tries-1, 20)
	time.AfterFunc(min(pause, lastRetry), func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.queue(digest, w.module)
	})
}

// scrub reads all files now and then, because some of them nobody asks for. A file with wrong bytes is removed, and
// lost is told of it. A file that cannot be read is fetched again and replaced.
func (k *keeper) scrub(ctx context.Context) {
	for idle.For(ctx, scrubEvery) {
		err := k.blobs.Scrub(ctx, scrubRate, func(digest string, err error) {
			k.log.Error("a blob was found damaged", "digest", digest, "err", err)
			if !errors.Is(err, blob.ErrCorrupt) && k.needed(digest) {
				if err := k.blobs.Heal(ctx, digest, k.peers()); err != nil {
					k.log.Error("cannot replace it", "digest", digest, "err", err)
				}
			}
		})
		if err != nil && ctx.Err() == nil {
			k.log.Error("cannot look at all blobs", "err", err)
		}
	}
}

// status describes this node's files.
func (k *keeper) status() *api.NodeBlobs {
	k.mu.Lock()
	s := &api.NodeBlobs{Missing: int64(len(k.wanted)), Corrupt: k.blobs.Corrupt()}
	for _, w := range k.wanted { // order-free: it counts
		if w.tries > 0 {
			s.Failing++
		}
	}
	k.mu.Unlock()
	if err := k.blobs.DiskError(diskErrorFor); err != nil {
		s.Error = err.Error()
	}
	return s
}

// diskErrorFor is how long a refused write counts against the node. What is missing is tried again before that.
const diskErrorFor = time.Minute

// ready returns an error if this node's files are not what they should be. A file that was asked for in vain does not
// count: other nodes lack it, too, and the cluster must not go down with it.
func (k *keeper) ready(ctx context.Context) error {
	if err := k.blobs.Probe(ctx); err != nil {
		return api.NewError(api.CodeNotReady, "the folder of blobs cannot be read or written: %v", err)
	}
	k.mu.Lock()
	looked, untried := k.looked, k.untried
	k.mu.Unlock()
	if err := k.blobs.DiskError(diskErrorFor); err != nil {
		return api.NewError(api.CodeNotReady, "the disk did not take a blob: %v", err)
	}
	switch {
	case !looked || k.wasRemade():
		return api.NewError(api.CodeNotReady, "the blobs on this disk have not been looked at yet")
	case untried > 0:
		return api.NewError(api.CodeNotReady, "%d blobs are missing on this disk and being fetched", untried)
	}
	return nil
}
