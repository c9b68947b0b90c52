package guard

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/raftstore/committed"
	"github.com/taskrt/taskrt/raftstore/logstore"
)

// Config is what a Raft needs beside the library's own configuration.
type Config struct {
	Dir      string   // holds the log, and snapshots/
	Lock     *os.File // of the directory; closed with the log
	Identity string   // what the library takes for this node's address
	Net      mux.Network
	Where    func(identity string) (addr string, ok bool) // where a member lives now

	Start       string                            // of this process (SPEC C7)
	Holds       func(identity, start string) bool // this start was the last to be confirmed, or none was confirmed; nil: starts are not confirmed
	KnowsStarts func(identity string) bool        // the build of a node knows of starts

	LogStore        logstore.Kind // "": bolt
	LogSegmentBytes int           // of a file of the WAL format; 0: the format's default
	DiskSlow        time.Duration // a write that takes longer costs the leadership
	DiskTimeout     time.Duration // a write that takes longer stops the node
	RPCTimeout      time.Duration // for one request of the library
	CommitPause     time.Duration // while entries are under way: how late a follower is told of a commit, unless entries tell it
	LoneCommitPause time.Duration // the same, when all that was sent is committed

	Late     func() time.Duration  // how late this process has been, in sum (lateness.Meter)
	Slow     func()                // told of each write that is slow; it must not block
	Fail     func(error)           // stops the node; it must not block
	Readable func(io.Reader) error // says why a snapshot cannot be restored
	Logger   *slog.Logger

	WrapDisk func(logstore.Store) logstore.Store // for tests: a disk that fails; nil: none
}

// Raft is the library's Raft on a log and a transport that mend it. Methods that are not in this file are the library's own. A request that waits for
// an answer must go through Ask, or stand between Enter and Leave.
type Raft struct {
	*raft.Raft // set by Start
	opened     atomic.Pointer[raft.Raft]

	dir    string
	logger *slog.Logger
	noted  *committed.File // set by Start
	config atomic.Uint64   // index of the last configuration that the fsm was told of
	disk   *disk
	logs   *parallelLog
	log    *snapLog
	snaps  raft.SnapshotStore
	trans  transport
	gate   gate
	lease  time.Duration      // as configured
	reload sync.Mutex         // who changes the library's configuration holds it
	end    func() raft.Future // a second Shutdown of the library does not wait, so all callers wait for the first one
}

// cachedEntries is how many log entries stay in memory, for followers that have not got them yet. Most entries have up
// to 64 KiB. For a follower that is further behind, entries are read from the disk.
const cachedEntries = 64

// Open opens the log and the port. Start must follow.
func Open(c Config) (_ *Raft, err error) {
	r := &Raft{dir: c.Dir, logger: c.Logger}
	if r.disk, err = openDisk(&c); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.closeLog()
		}
	}()
	if err := removePartialSnapshots(c.Dir, c.Logger); err != nil {
		return nil, fmt.Errorf("raftstore: %w", err)
	}
	if r.snaps, err = raft.NewFileSnapshotStoreWithLogger(c.Dir, 2, hclogTo(c.Logger)); err != nil {
		return nil, fmt.Errorf("raftstore: open snapshots: %w", err)
	}
	cache, err := raft.NewLogCache(cachedEntries, r.disk)
	if err != nil {
		return nil, fmt.Errorf("raftstore: log cache: %w", err)
	}
	r.logs = newParallelLog(cache, r.leads)
	r.log = &snapLog{LogStore: r.logs, snaps: r.snaps, fail: c.Fail, readable: c.Readable}
	if err := r.log.begin(r.disk, c.Logger); err != nil {
		return nil, err
	}
	r.trans = newTransport(&c, r.log, r.logs.durable, r.worth, &yields{slow: r.disk.isSlow, contact: r.sinceContact})
	return r, nil
}

// Start brings the fsm to where the log is known to be committed, and starts the library. If it does not start,
// everything is closed again.
func (r *Raft) Start(c *raft.Config, fsm raft.ConfigurationStore) error {
	at, err := r.resume(fsm)
	if err != nil {
		r.trans.shut()
		r.closeLog()
		return err
	}
	c.Logger, c.NoSnapshotRestoreOnStart = hclogTo(r.logger), true
	snaps := &resumed{SnapshotStore: r.snaps}
	snaps.at.Store(at)
	r.noted = committed.New(r.dir, r.logger)
	lib, err := newRaft(c, noted{fsm, r}, r.log, r.disk, snaps, r.trans)
	if err != nil {
		r.noted.Stop()
		r.trans.shut()
		r.closeLog()
		return fmt.Errorf("raftstore: start: %w", err)
	}
	r.lease = c.LeaderLeaseTimeout
	r.Raft, r.end = lib, sync.OnceValue(lib.Shutdown)
	r.opened.Store(lib)
	return nil
}

// newRaft is raft.NewRaft, but returns an error where raft.NewRaft panics: when it writes its term, and when it reads the log.
func newRaft(c *raft.Config, fsm raft.FSM, log raft.LogStore, d *disk, snaps *resumed, trans transport) (lib *raft.Raft, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	snaps.asked = d.started
	return raft.NewRaft(c, fsm, log, d, snaps, trans)
}

// closeLog closes a log that the library does not use any longer.
func (r *Raft) closeLog() {
	if r.logs != nil {
		r.logs.close()
	}
	_ = r.disk.Close()
}

// leads reports whether this node leads.
func (r *Raft) leads() bool {
	lib := r.opened.Load()
	return lib != nil && lib.State() == raft.Leader
}

// worth reports whether it makes sense to wait for a follower: this node leads in this term, and the follower is a
// member.
func (r *Raft) worth(of raft.ServerAddress, term uint64) bool {
	return r.leads() && r.opened.Load().CurrentTerm() == term && slices.ContainsFunc(r.Servers(), func(m raft.Server) bool { return m.Address == of })
}

// Servers returns the latest configuration.
func (r *Raft) Servers() []raft.Server {
	f := r.opened.Load().GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}

// CommitIndex is how far the log is committed and durable here. Nobody is told of more (parallelLog).
func (r *Raft) CommitIndex() uint64 { return min(r.Raft.CommitIndex(), r.logs.durable()) }

// WaitDurable returns once a committed entry is on this node's disk: it must not be applied before. An error means that
// it never will be there, and that the node stops.
func (r *Raft) WaitDurable(index uint64) error { return r.logs.wait(index) }

// Reached must be called with every committed entry, before it is applied, so that followers are told of it. It does
// not block.
func (r *Raft) Reached(index uint64) { r.trans.commits.reached(index) }

// Slow reports whether the log's disk is slow, or was so a moment ago.
func (r *Raft) Slow() bool { return r.disk.isSlow() }

// Health returns the state of the log's disk.
func (r *Raft) Health() DiskHealth { return r.disk.Health() }

// ConfigurationIndex returns the index of the newest configuration that is known to be committed. (The index that the library's
// GetConfiguration returns is always 0.)
func (r *Raft) ConfigurationIndex() uint64 {
	index := r.config.Load()
	if metas, err := r.snaps.List(); err == nil && len(metas) > 0 { // the fsm is not told of the configuration in a snapshot
		index = max(index, metas[0].ConfigurationIndex)
	}
	return index
}

// LogEnd returns the end of this node's log, or of its snapshot if that is later.
func (r *Raft) LogEnd() (term, index uint64) {
	stats := r.Stats()
	for _, what := range []string{"last_log", "last_snapshot"} {
		t, _ := strconv.ParseUint(stats[what+"_term"], 10, 64) // the library writes numbers
		i, _ := strconv.ParseUint(stats[what+"_index"], 10, 64)
		if i > index {
			term, index = t, i
		}
	}
	return term, index
}

// campaignTime is how long Campaign waits for raft to take the request.
const campaignTime = 100 * time.Millisecond

// Campaign asks raft for an election as a leader does that hands over (section 3.10 of the raft thesis): voters then
// vote although they know a leader.
func (r *Raft) Campaign() {
	if r.trans.yields.stands() != nil {
		return
	}
	r.trans.installs.hand(raft.RPC{
		Command:  &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}},
		RespChan: make(chan raft.RPCResponse, 1), // nobody reads it
	}, time.After(campaignTime))
}

// Enter reports whether raft may be asked; if so, Leave must follow. Raft does not answer what is in its queues when it
// shuts down.
func (r *Raft) Enter() bool { return r.gate.enter() }

// Leave says that raft has answered.
func (r *Raft) Leave() { r.gate.leave() }

// Ask waits for the answer to a request to raft. After Bar it returns raft.ErrRaftShutdown.
func (r *Raft) Ask(request func() raft.Future) error { return r.gate.ask(request) }

// Bar lets nobody ask raft any longer. It waits for callers that have asked, but not longer than patience, because a
// disk that hangs may keep raft from answering for ever. It reports whether nobody waits.
func (r *Raft) Bar(patience time.Duration) bool { return r.gate.close(patience) }

// Abandon ends all waiting for the disk, and lets nothing more be written, as if the node had died.
func (r *Raft) Abandon(err error) { r.logs.abandon(err) }

// Quit takes the node out of the cluster: raft begins to shut down, and its connections are closed. The connections
// must not wait for raft, because raft waits for its requests to others, and those to a silent peer wait for their
// timeouts.
func (r *Raft) Quit() raft.Future {
	ending := r.end()
	r.trans.shut()
	r.noted.Stop()
	return ending
}

// Stop is Quit, and closes the log. wait runs a function that may hang, and reports whether it has ended.
func (r *Raft) Stop(wait func(f func()) bool) error {
	ending := r.Quit()
	if !wait(func() { _ = ending.Error() }) {
		return errors.New("raftstore: close: raft hangs")
	}
	wait(r.noted.Wait)
	if !wait(r.logs.close) {
		return errors.New("raftstore: close: the disk hangs")
	}
	if err := r.disk.Close(); err != nil {
		return fmt.Errorf("raftstore: close log: %w", err)
	}
	return nil
}

// wake wakes the goroutine that waits for c. If none waits, the next look at c finds the news. c has room for one.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
