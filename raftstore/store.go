package raftstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/lateness"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/raftstore/change"
	"github.com/taskrt/taskrt/raftstore/digests"
	"github.com/taskrt/taskrt/raftstore/guard"
	"github.com/taskrt/taskrt/raftstore/home"
	"github.com/taskrt/taskrt/raftstore/members"
	"github.com/taskrt/taskrt/raftstore/rounds"
	"github.com/taskrt/taskrt/raftstore/rpc"
	"github.com/taskrt/taskrt/raftstore/throttle"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// Store is one node's replica of the machine.
type Store struct {
	cfg      Config
	log      *slog.Logger
	identity string

	book     *members.Book
	members  *members.Members
	changes  *change.Changes
	raft     *guard.Raft
	fsm      *fsm
	hub      *hub
	ring     *digests.Ring
	compared digests.Compared
	batch    *batcher
	origins  *origins
	reads    *rounds.Rounds
	clients  *rpc.Clients
	server   *rpc.Server
	grown    chan struct{} // the log has grown
	slow     chan struct{} // the disk is slow
	leveled  chan struct{} // the feature level was raised
	cluster  atomic.Pointer[string]

	leadMu         sync.Mutex
	term           *termState // nil: not leading
	lastLeadership Leadership
	leadSubs       []chan Leadership
	leadClosed     bool
	closing        bool // no further term begins

	failOnce sync.Once
	failed   chan struct{} // closed when the node has stopped itself
	quits    chan struct{} // closed when the node has stopped itself, or is being closed
	quitOnce sync.Once
	failErr  error // set before failed is closed

	opened   chan struct{} // closed when open has returned
	cancel   context.CancelFunc
	done     chan struct{} // closed by Close: calls end
	hurry    chan struct{} // closed by Close: snapshots are not slowed down any longer
	abort    chan struct{} // closed at the end of Close's patience: snapshots are given up
	raftDown chan struct{} // closed when raft has shut down
	wg       sync.WaitGroup
	tail     sync.WaitGroup // goroutines that raft needs until it is down
	close    sync.Once
	closeErr error
}

// Open starts the node. It returns as soon as the local state is loaded. Joining or founding a cluster, or finding its
// peers again, goes on in the background.
func Open(c Config) (*Store, error) {
	cfg, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	self := members.Peer{ID: cfg.ID, Addr: cfg.Addr, HTTP: cfg.HTTP, Format: wire.Format, Level: cfg.KnownLevel, Hold: cfg.HoldLevel}
	if err := members.Vet(cfg.Dir, self); err != nil {
		return nil, err
	}
	lock, aside, err := home.Open(cfg.Dir, cfg.AsNewDisk)
	if err != nil {
		return nil, err
	}
	if aside != "" {
		cfg.Logger.Warn("the directory was a copy: this node begins with an empty one", "former", aside)
	}
	book, err := members.OpenBook(cfg.Dir, self)
	if err != nil {
		lock.Close()
		return nil, err
	}
	s := &Store{
		cfg: cfg, identity: book.Me().Identity(), book: book,
		log: cfg.Logger, hub: newHub(), ring: digests.New(), origins: newOrigins(cfg.Clock),
		reads: rounds.New(), grown: make(chan struct{}, 1), slow: make(chan struct{}, 1), leveled: make(chan struct{}, 1),
		opened: make(chan struct{}), failed: make(chan struct{}), done: make(chan struct{}), quits: make(chan struct{}), hurry: make(chan struct{}),
		abort: make(chan struct{}), raftDown: make(chan struct{}),
	}
	s.clients = rpc.NewClients(cfg.Net, s.identity, cfg.RPCTimeout)
	s.fsm = &fsm{
		durable:  s.durable,
		onCommit: func(index uint64) { s.raft.Reached(index) },
		fatal:    s.fail, hub: s.hub, ring: s.ring, onConfig: func() { s.members.ConfigChanged() }, onBytes: s.noteGrowth,
		onLevel: func() { wake(s.leveled) }, known: cfg.KnownLevel,
		machine: task.NewMachine(task.WithKnownLevel(cfg.KnownLevel)), persist: throttle.Rate{PerSecond: cfg.PersistBytesPerSecond, Hurry: s.hurry, Abort: s.abort},
	}
	s.fsm.level.Store(s.fsm.machine.Level())
	if err := s.open(lock); err != nil {
		return nil, err
	}
	return s, nil
}

// open starts everything that must be stopped again.
func (s *Store) open(lock *os.File) (err error) {
	defer close(s.opened)
	if s.raft, err = guard.Open(s.guardConfig(lock)); err != nil {
		return err
	}
	s.batch = newBatcher(&s.cfg, s.raft)
	s.members = members.New(s.membersConfig(), s.book, s.raft, s.clients)
	s.changes = change.New(changesConfig(s))
	notify := make(chan bool, 8)
	if err := s.raft.Start(s.cfg.raftConfig(notify), s.fsm); err != nil {
		s.raft = nil
		return err
	}
	if err := s.members.Forget(); err != nil {
		_ = s.raft.Stop(func(f func()) bool { f(); return true })
		s.raft = nil
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.tail.Go(func() { s.watchLeadership(ctx, notify) })
	s.server = rpc.NewServer(ctx, s.cfg.Net.Listen(mux.Propose), s.identity, s.cfg.RPCTimeout, handler{s})
	s.wg.Go(s.server.Run)
	s.wg.Go(func() { s.observeLeader(ctx) })
	s.wg.Go(func() { s.members.Run(ctx) })
	s.wg.Go(func() { s.reads.Run(ctx, s.readRound) })
	s.wg.Go(func() { s.snapshotWhenGrown(ctx) })
	s.wg.Go(func() { s.noteLevel(ctx) })
	s.wg.Go(func() { s.changes.GiveWay(ctx, s.slow) })
	s.wg.Go(func() { s.raft.BePatient(ctx, s.cfg.late.Worst) })
	if m, ok := s.cfg.late.(*lateness.Meter); ok {
		s.wg.Go(func() { m.Run(ctx) })
	}
	return nil
}

func (s *Store) guardConfig(lock *os.File) guard.Config {
	c := &s.cfg
	return guard.Config{
		Dir: c.Dir, Lock: lock, Identity: s.identity, Net: c.Net, Where: s.book.Where,
		LogStore: c.LogStore, LogSegmentBytes: c.LogSegmentBytes, DiskSlow: c.DiskSlow, DiskTimeout: c.DiskTimeout, RPCTimeout: c.RPCTimeout, CommitPause: c.CommitPause, LoneCommitPause: c.LoneCommitPause,
		Late: c.late.Total, Slow: func() { wake(s.slow) }, Fail: s.fail, Readable: readable, Logger: c.Logger, WrapDisk: c.wrapDisk,
		Start: s.book.Me().Start, Holds: s.book.Holds, KnowsStarts: s.book.KnowsStarts,
	}
}

func (s *Store) membersConfig() members.Config {
	c := &s.cfg
	return members.Config{
		Join: c.Join, Resolver: c.Resolver, BootstrapExpect: c.BootstrapExpect, HeartbeatTimeout: c.HeartbeatTimeout, RPCTimeout: c.RPCTimeout, LevelAfter: c.LevelAfter,
		Dial: c.Net, Logger: c.Logger,
		Admit: func() { s.raft.Admit() }, Confirmed: func(id, start string) { s.raft.Confirmed(id, start) },
		Shorter: func(id string, term, last uint64) string { return s.raft.Shorter(id, term, last) },
		Gone:    rules{s}.gone, Level: s.Level, Health: s.health, Ended: s.quits,
		Fail: s.fail, FailDisk: func(err error) { s.fail(fmt.Errorf("%w: %w", ErrDiskFailed, err)) },
	}
}

// quit says that this node takes part in the cluster no longer.
func (s *Store) quit() { s.quitOnce.Do(func() { close(s.quits) }) }

// Subscribe delivers the events of this node's machine from now on. The subscriber may lag behind by the events of
// buffer entries.
func (s *Store) Subscribe(buffer int) *Subscription { return s.hub.subscribe(buffer) }

// fail stops the node: from here on it takes no part in the cluster, and its owner is told. Any goroutine may call it,
// also one of raft's. It does not block.
func (s *Store) fail(err error) {
	s.failOnce.Do(func() {
		s.failErr = err
		close(s.failed)
		s.quit()
		s.log.Error("this node stops", "err", err)
		go func() {
			s.halt()
			s.cfg.OnFatal(err)
		}()
	})
}

// failure returns why the node has stopped, or nil.
func (s *Store) failure() error {
	select {
	case <-s.failed:
		return fmt.Errorf("%w: %w", ErrStopped, s.failErr)
	default:
		return nil
	}
}

// halt takes the node out of the cluster without waiting for anything that may hang.
func (s *Store) halt() {
	<-s.opened
	if s.raft == nil {
		return
	}
	s.raft.Abandon(s.failErr)
	s.batch.close(nil)
	s.raft.Bar(haltPatience)
	s.raft.Quit()
}

// durable returns once a committed entry is on this node's disk.
func (s *Store) durable(l *raft.Log) error {
	err := s.raft.WaitDurable(l.Index)
	if err == nil && s.cfg.onApply != nil {
		s.cfg.onApply(l.Index, l.Term)
	}
	return err
}

// Close ends the node. If the node leads, it hands over leadership first, so that the cluster goes on within
// milliseconds. If anything was applied since the last snapshot, it takes a snapshot, so that the next start is quick.
// ctx bounds both. A second Close waits for the first and returns its error.
func (s *Store) Close(ctx context.Context) error {
	s.close.Do(func() { s.closeErr = s.shut(ctx) })
	return s.closeErr
}

// Patience for those steps of the end that may hang. A leader without followers notices it after its lease, half a
// second.
const (
	haltPatience     = 2 * time.Second
	transferPatience = 5 * time.Second
	shutdownPatience = 10 * time.Second
)

func (s *Store) shut(ctx context.Context) error {
	close(s.hurry)
	stopAborting := context.AfterFunc(ctx, func() { close(s.abort) })
	if s.failure() == nil {
		s.handOver(ctx)
	}
	close(s.done)
	s.quit()
	if s.failure() == nil {
		s.snapshotAtEnd(ctx)
	}
	s.leadMu.Lock()
	s.closing = true
	s.leadMu.Unlock()
	s.cancel()
	s.server.Close()
	s.clients.Close()
	s.batch.close(nil)
	var errs []error
	patience := shutdownPatience
	if s.failure() != nil {
		patience = haltPatience // its disk may hang, and halt has waited for it already
	}
	// Nothing here waits for the network: only a disk that hangs can make it last.
	if !s.raft.Bar(patience) || !waitFor(ctx, patience, s.wg.Wait) {
		errs = append(errs, errors.New("raftstore: close: requests to raft hang"))
	}
	if stopAborting() {
		close(s.abort)
	}
	errs = append(errs, s.raft.Stop(func(f func()) bool { return waitFor(ctx, patience, f) }))
	close(s.raftDown)
	s.tail.Wait()
	s.hub.cut(false)
	s.leadMu.Lock()
	s.leadClosed = true
	for _, c := range s.leadSubs {
		close(c)
	}
	s.leadSubs = nil
	s.leadMu.Unlock()
	return errors.Join(errs...)
}

// wake wakes the goroutine that waits for c. If none waits, the next look at c finds the news. c has room for one.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// waitFor runs f, which takes no context, and waits for it as long as ctx allows, but at least for a moment.
func waitFor(ctx context.Context, patience time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
	case <-ctx.Done():
		// The caller is in a hurry: give f, if it is only slow, a last chance.
		select {
		case <-done:
			return true
		case <-time.After(min(patience, time.Second)):
		}
	}
	return false
}

// handOver transfers leadership if this node leads other voters.
func (s *Store) handOver(ctx context.Context) {
	if s.raft.State() != raft.Leader {
		return
	}
	others := false
	for _, m := range s.raft.Servers() {
		others = others || (m.Suffrage == raft.Voter && string(m.Address) != s.identity)
	}
	if !others {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, transferPatience)
	defer cancel()
	if err := s.Transfer(ctx); err != nil && !errors.Is(err, ErrNotLeader) {
		s.log.Warn("leadership transfer failed", "err", err)
	}
}

// snapshotAtEnd spares the next start the replay of the log.
func (s *Store) snapshotAtEnd(ctx context.Context) {
	s.fsm.mu.RLock()
	grown := s.fsm.grown.entries > 0
	s.fsm.mu.RUnlock()
	if !grown || ctx.Err() != nil {
		return
	}
	if err := s.snapshot(); err != nil {
		s.log.Warn("no snapshot at the end", "err", err)
	}
}
