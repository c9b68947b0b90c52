package raftstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/raftstore/digests"
	"github.com/taskrt/taskrt/raftstore/snapfile"
	"github.com/taskrt/taskrt/raftstore/throttle"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// fsm is raft's view of the machine. Raft's one FSM goroutine calls Apply, Snapshot, Restore and StoreConfiguration.
// Readers share the lock.
type fsm struct {
	fatal    func(error)
	hub      *hub
	ring     *digests.Ring
	durable  func(*raft.Log) error // returns once the entry is on this node's disk
	onCommit func(index uint64)    // told of an entry that is about to be applied; must not block
	onConfig func()                // told that the set of members has changed; must not block
	onBytes  func()                // told that the log has grown; must not block
	onLevel  func()                // told that the feature level was raised; must not block
	known    uint64                // feature level of this build
	level    atomic.Uint64         // feature level of the machine
	persist  throttle.Rate

	mu      sync.RWMutex
	machine *task.Machine
	settled uint64 // index of the last entry that settled something about a member
	applied uint64 // the last entry that is in the machine; configurations count, raft's own no-ops do not
	stopped bool   // an entry could not be applied: from here on no entry is applied, and no snapshot is taken
	waits   []wait

	grown    logSize // since the last snapshot
	lastSnap int64   // size of the last snapshot
	restores int     // snapshots received from a leader since start
}

// logSize is how much was applied.
type logSize struct {
	entries int64
	bytes   int64
	took    time.Duration
}

type wait struct {
	index uint64
	done  chan struct{}
}

var (
	_ raft.FSM                = (*fsm)(nil)
	_ raft.ConfigurationStore = (*fsm)(nil)
)

var errStopped = errors.New("state machine has stopped")

// Apply implements raft.FSM. What it returns goes to the batcher of the node that proposed the entry: []task.Result, or
// an error if the machine has stopped. An entry that cannot be applied is not skipped: the machine stays as it was
// before the entry, and the node stops (SPEC C4).
func (f *fsm) Apply(l *raft.Log) any {
	f.mu.RLock()
	stopped := f.stopped
	f.mu.RUnlock()
	if stopped {
		return errStopped
	}
	if err := f.durable(l); err != nil { // the disk has failed, and the node stops
		f.stop()
		return errStopped
	}
	f.onCommit(l.Index)
	results, digest, err := f.apply(l)
	if err != nil {
		f.stop()
		f.fatal(fmt.Errorf("%w: index %d: %w", ErrBadEntry, l.Index, err))
		return errStopped
	}
	f.ring.Add(digest)
	f.onBytes()
	return results
}

// stop makes sure that no further entry is applied.
func (f *fsm) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
}

func (f *fsm) apply(l *raft.Log) (results []task.Result, digest task.Digest, err error) {
	header, proposals, err := wire.DecodeEntry(l.Data)
	if err != nil {
		return nil, digest, err
	}
	header.Index, header.Term = l.Index, l.Term
	f.mu.Lock()
	defer f.mu.Unlock()
	begun := time.Now()
	defer func() {
		// The machine panics on impossible states. Then it is worth nothing: stopped is set under this same lock.
		if p := recover(); p != nil {
			f.stopped = true
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	f.machine.Ahead(len(proposals), func(i int) (namespace, id string) { return wire.About(proposals[i].Command) })
	results, events := f.machine.Apply(header, proposals)
	if len(results) != len(proposals) {
		panic(fmt.Sprintf("%d results for %d commands", len(results), len(proposals)))
	}
	f.grown.entries++
	f.grown.bytes += int64(len(l.Data))
	f.grown.took += time.Since(begun)
	f.leveled()
	f.hub.publish(events) // before anybody can read what they tell of
	f.reached(l.Index)
	return results, f.machine.Digest(), nil
}

// StoreConfiguration implements raft.ConfigurationStore. It lets applied pass over membership changes.
func (f *fsm) StoreConfiguration(index uint64, _ raft.Configuration) {
	f.onCommit(index)
	f.mu.Lock()
	if !f.stopped { // otherwise not everything before it is in the machine
		f.reached(index)
	}
	f.mu.Unlock()
	f.onConfig()
}

// leveled tells of the machine's feature level, and of what is settled about members, if it has changed, under mu.
func (f *fsm) leveled() {
	if at := f.machine.Roster().Last(); at != f.settled {
		f.settled = at
		f.onConfig()
	}
	if level := f.machine.Level(); level != f.level.Load() {
		f.level.Store(level)
		f.onLevel()
		f.onConfig() // from a level on, more is settled about members
	}
}

// reached wakes the waits for index, under mu.
func (f *fsm) reached(index uint64) {
	f.applied = max(f.applied, index)
	f.waits = slices.DeleteFunc(f.waits, func(w wait) bool {
		if w.index > f.applied {
			return false
		}
		close(w.done)
		return true
	})
}

// errEnded is the answer to a wait that the store's end has cut short.
var errEnded = errors.New("state machine has ended")

// wait returns once index has been applied here. It returns errEnded if one of the channels is closed first.
func (f *fsm) wait(ctx context.Context, index uint64, done, failed <-chan struct{}) error {
	f.mu.Lock()
	if f.applied >= index {
		f.mu.Unlock()
		return nil
	}
	w := wait{index, make(chan struct{})}
	f.waits = append(f.waits, w)
	f.mu.Unlock()
	var err error
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-done:
		err = errEnded
	case <-failed:
		err = errEnded
	}
	f.mu.Lock()
	f.waits = slices.DeleteFunc(f.waits, func(x wait) bool { return x.done == w.done })
	f.mu.Unlock()
	return err
}

// read runs fn on the machine. Apply waits meanwhile.
func (f *fsm) read(fn func(*task.Machine)) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	fn(f.machine)
}

func (f *fsm) appliedIndex() uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.applied
}

// Snapshot implements raft.FSM. It only takes an immutable version of the machine.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return nil, errStopped
	}
	return &snapshot{frozen: f.machine.Freeze(), applied: f.applied, upTo: f.grown, fsm: f}, nil
}

// freeze returns an immutable version of the machine, for readers.
func (f *fsm) freeze() (*task.Frozen, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return nil, ErrStopped
	}
	return f.machine.Freeze(), nil
}

// Restore implements raft.FSM. It builds the new machine aside, and puts it in the place of the old one at the end.
func (f *fsm) Restore(r io.ReadCloser) error {
	defer r.Close()
	counted := &countingReader{r: r}
	applied, machine, err := snapfile.Read(counted, task.WithKnownLevel(f.known))
	if err != nil {
		return err
	}
	f.mu.Lock()
	if f.stopped {
		f.mu.Unlock()
		return errStopped
	}
	if f.applied > 0 {
		f.restores++
	}
	f.machine, f.applied = machine, 0
	f.leveled()
	f.grown, f.lastSnap = logSize{}, counted.n
	f.hub.cut(true) // before anybody can read the new machine
	f.reached(applied)
	f.mu.Unlock()
	f.ring.Reset(machine.Digest())
	f.onConfig()
	return nil
}
