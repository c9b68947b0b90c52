package raftstore

import (
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/raftstore/logstore"
	"github.com/taskrt/taskrt/task"
)

// Network is what the store listens and dials with: mux over TCP in production, memnet in tests.
type Network = mux.Network

// Clock is where the leader's stamps come from (SPEC C3). Injected so that tests can make the wall clock jump.
type Clock interface {
	Wall() time.Time     // the wall clock: may jump
	Mono() time.Duration // a monotonic clock of any epoch: never jumps, never goes back
}

// SystemClock returns the clocks of this machine.
func SystemClock() Clock { return systemClock{time.Now()} }

type systemClock struct{ start time.Time }

func (systemClock) Wall() time.Time       { return time.Now().Round(0) }
func (c systemClock) Mono() time.Duration { return time.Since(c.start) }

// Config is all that a Store needs. Zero values of the fields after OnFatal mean their defaults.
type Config struct {
	ID              string   // node ID: the identity, not the address (SPEC C1); [a-zA-Z0-9._-]{1,64}
	Dir             string   // the log, snapshots/, node.json; created 0700
	Addr            string   // advertised HOST:PORT of the node-to-node port
	HTTP            string   // advertised HTTP address, told to the peers
	Join            []string // node-to-node addresses to join through; the own one is allowed
	BootstrapExpect int      // how many nodes form the first cluster together; 1: alone, 0: only ever join
	Net             Network
	Clock           Clock        // nil: SystemClock()
	Logger          *slog.Logger // nil: discard

	// OnFatal is called once, in its own goroutine, when the node must stop: its state differs from the majority's
	// (SPEC C4), it met an unknown command, its disk fails or stalls, its ID is taken. The store has stopped taking
	// part by then; Close it or exit. nil: panic.
	OnFatal func(error)

	// Raft's timeouts. Heartbeats pass through raft's main loop here (DESIGN, raft #695), where they may wait behind a
	// write to disk: hence at least 1 s for the first two.
	HeartbeatTimeout   time.Duration // default 1 s
	ElectionTimeout    time.Duration // default 1 s
	LeaderLeaseTimeout time.Duration // default 500 ms
	CommitTimeout      time.Duration // default 200 ms: how late a follower sees a lone commit that nobody told it of
	CommitPause        time.Duration // default 100 µs: how late it is told of one (pipeline); under load the next entries tell it

	SnapshotBytes         int64         // log bytes since the last snapshot that start the next; default 64 MiB
	TrailingBytes         int64         // log bytes kept behind a snapshot for slow followers; default 64 MiB
	PersistBytesPerSecond int64         // write rate of a snapshot, so that it does not starve the log; default 32 MB/s
	DiskTimeout           time.Duration // a log write that takes longer stops the node; default 10 s
	QueueCommands         int           // commands that may wait in a lane of the leader before ErrOverloaded; default 65,536
	QueueBytes            int           // and their bytes; default 64 MiB
	QueueWait             time.Duration // what clients add is refused if it would wait longer to be proposed; default 250 ms
	QueueAge              time.Duration // and if it did wait so long, because nothing moved; default 2 s
	RPCTimeout            time.Duration // one request to a peer; default 10 s

	// LogStore is the format of the log; default bolt. A directory keeps the one that it has (logstore.Migrate). A file
	// of the WAL format is allocated at once: LogSegmentBytes, default 64 MiB.
	LogStore        logstore.Kind
	LogSegmentBytes int

	// HoldLevel keeps the cluster's feature level from being raised while this node is a member (SPEC C9). LevelAfter is for how long
	// all members must have known a level before it is; default 10 min. KnownLevel is what this build knows; tests say less or more.
	HoldLevel  bool
	LevelAfter time.Duration
	KnownLevel uint64

	wrapDisk func(diskStore) diskStore // tests: a disk that fails
	levelOf  func(task.Command) uint64 // tests: commands of a level that is to come; default task.LevelOf
	onApply  func(index, term uint64)  // tests: an entry is about to be applied
}

// diskStore is the log and raft's few durable variables.
type diskStore = logstore.Store

var validID = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,64}$`)

func orDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// withDefaults fills in the defaults and refuses what cannot work.
func (c Config) withDefaults() (Config, error) {
	orDefault(&c.HeartbeatTimeout, time.Second)
	orDefault(&c.ElectionTimeout, max(time.Second, c.HeartbeatTimeout))
	orDefault(&c.LeaderLeaseTimeout, 500*time.Millisecond)
	orDefault(&c.CommitTimeout, 200*time.Millisecond)
	orDefault(&c.CommitPause, 100*time.Microsecond)
	orDefault(&c.SnapshotBytes, 64<<20)
	orDefault(&c.TrailingBytes, 64<<20)
	orDefault(&c.PersistBytesPerSecond, 32_000_000)
	orDefault(&c.DiskTimeout, 10*time.Second)
	orDefault(&c.QueueCommands, 65536)
	orDefault(&c.QueueBytes, 64<<20)
	orDefault(&c.QueueWait, 250*time.Millisecond)
	orDefault(&c.QueueAge, 2*time.Second)
	orDefault(&c.RPCTimeout, 10*time.Second)
	orDefault(&c.LevelAfter, levelAfter)
	orDefault(&c.KnownLevel, task.KnownLevel)
	if c.levelOf == nil {
		c.levelOf = task.LevelOf
	}
	if c.Clock == nil {
		c.Clock = SystemClock()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.OnFatal == nil {
		c.OnFatal = func(err error) { panic(err) }
	}
	return c, c.validate()
}

func (c *Config) validate() error {
	bad := func(field, why string) error { return fmt.Errorf("raftstore: %s: %s", field, why) }
	if !validID.MatchString(c.ID) {
		return bad("ID", fmt.Sprintf("%q is not 1 to 64 of [a-zA-Z0-9._-]", c.ID))
	}
	if c.Dir == "" {
		return bad("Dir", "missing")
	}
	if c.Addr == "" {
		return bad("Addr", "missing")
	}
	if host, _, err := net.SplitHostPort(c.Addr); err == nil {
		if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
			return bad("Addr", c.Addr+" is not an address that peers can dial")
		}
	}
	if c.Net == nil {
		return bad("Net", "missing")
	}
	if c.LogStore != "" {
		if _, err := logstore.Parse(string(c.LogStore)); err != nil {
			return bad("LogStore", err.Error())
		}
	}
	if c.BootstrapExpect < 0 {
		return bad("BootstrapExpect", "negative")
	}
	if c.HeartbeatTimeout < time.Second || c.ElectionTimeout < c.HeartbeatTimeout {
		return bad("HeartbeatTimeout", "must be at least 1 s and at most ElectionTimeout")
	}
	if c.LeaderLeaseTimeout > c.HeartbeatTimeout {
		return bad("LeaderLeaseTimeout", "must not exceed HeartbeatTimeout")
	}
	for _, n := range []int64{int64(c.LogSegmentBytes), c.SnapshotBytes, c.TrailingBytes, c.PersistBytesPerSecond, int64(c.DiskTimeout), int64(c.QueueCommands), int64(c.QueueBytes), int64(c.QueueWait), int64(c.QueueAge), int64(c.RPCTimeout)} {
		if n < 0 {
			return bad("limits", "negative")
		}
	}
	return nil
}

// maxAppendEntries bounds how many log entries one AppendEntries carries and the library's own group commit.
const maxAppendEntries = 64

func (c *Config) raftConfig(notify chan bool) *raft.Config {
	rc := raft.DefaultConfig()
	rc.LocalID = raft.ServerID(c.ID)
	rc.HeartbeatTimeout, rc.ElectionTimeout = c.HeartbeatTimeout, c.ElectionTimeout
	rc.LeaderLeaseTimeout, rc.CommitTimeout = c.LeaderLeaseTimeout, c.CommitTimeout
	rc.MaxAppendEntries, rc.BatchApplyCh = maxAppendEntries, true
	rc.ShutdownOnRemove = false // whoever removes a node stops it; raft must not vanish under the store
	rc.NotifyCh = notify
	rc.NoLegacyTelemetry = true
	// Snapshots are triggered by bytes (snapshot.go), not by the library's count of entries.
	rc.SnapshotThreshold = 1 << 62
	rc.SnapshotInterval = 24 * time.Hour
	rc.TrailingLogs = maxTrailing
	return rc
}
