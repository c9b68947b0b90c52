package raftstore

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/discover"
	"github.com/taskrt/taskrt/internal/lateness"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/raftstore/logstore"
	"github.com/taskrt/taskrt/task"
)

// Network is what the store listens and dials with: mux over TCP in production, memnet in tests.
type Network = mux.Network

// Clock is where the leader's stamps come from (SPEC C3). It is an interface so that tests can make the wall clock
// jump.
type Clock interface {
	Wall() time.Time     // the wall clock, which may jump
	Mono() time.Duration // a monotonic clock of any epoch, which never jumps or goes back
}

// SystemClock returns the clocks of this machine.
func SystemClock() Clock { return systemClock{time.Now()} }

type systemClock struct{ start time.Time }

func (systemClock) Wall() time.Time       { return time.Now().Round(0) }
func (c systemClock) Mono() time.Duration { return time.Since(c.start) }

// Config is all that a Store needs. Zero values of the fields after OnFatal mean their defaults.
type Config struct {
	ID              string            // the node's name, which is not its address (SPEC C1); [a-zA-Z0-9._-]{1,64}
	Dir             string            // holds the log, snapshots/ and node.json; created with mode 0700
	Addr            string            // advertised HOST:PORT of the node-to-node port
	HTTP            string            // advertised HTTP address, which peers are told
	Join            []string          // through whom to join, as discover.Check has it; the node's own address may be among them
	Resolver        discover.Resolver // of names in Join; default net.DefaultResolver
	BootstrapExpect int               // how many nodes found the cluster together; 1: this one alone, 0: it only joins
	Net             Network
	Clock           Clock        // nil: SystemClock()
	Logger          *slog.Logger // nil: discard

	// OnFatal is called once, in a goroutine of its own, when the node must stop: its state differs from the majority's
	// (SPEC C4), it met an unknown command, its disk fails or stalls, or its ID is taken. By then the store takes no
	// part in the cluster; Close it, or exit. nil: panic.
	OnFatal func(error)

	// The timeouts of raft. Here heartbeats pass through raft's main loop (DESIGN, raft #695), where they may wait
	// behind a write to disk. So the first two timeouts are at least 1 s.
	HeartbeatTimeout   time.Duration // default 1 s
	ElectionTimeout    time.Duration // default 1 s
	LeaderLeaseTimeout time.Duration // default 500 ms
	CommitTimeout      time.Duration // default 200 ms: how late a follower sees a lone commit that nobody has told it of
	CommitPause        time.Duration // default 100 µs: how late it is told of a commit while entries are under way, which tell it too (see guard)
	LoneCommitPause    time.Duration // default 0: the same while none are

	SnapshotBytes         int64         // a snapshot begins when the log has grown by so much, or by what takes as long to replay; default 64 MiB
	TrailingBytes         int64         // log bytes that are kept behind a snapshot for slow followers; default 64 MiB
	PersistBytesPerSecond int64         // rate at which a snapshot is written, so that it does not starve the log; default 32 MB/s
	DiskSlow              time.Duration // a leader whose log writes take longer hands over; default 2 s
	DiskTimeout           time.Duration // a log write that takes longer stops the node; default 10 s
	QueueCommands         int           // how many commands may wait in a lane of the leader before ErrOverloaded; default 65,536
	QueueBytes            int           // how many bytes they may have together; default 64 MiB
	QueueWait             time.Duration // what clients add is refused if it would wait longer to be proposed; default 250 ms
	QueueAge              time.Duration // what clients add is refused if it has waited so long, because nothing moved; default 2 s
	RPCTimeout            time.Duration // for one request to a peer; default 10 s

	// LogStore is the format of the log; default bolt. A directory keeps the format that it has (logstore.Migrate
	// changes it). In the WAL format a file is allocated as a whole: LogSegmentBytes is its size, default 64 MiB.
	LogStore        logstore.Kind
	LogSegmentBytes int

	// AsNewDisk lets a directory that was copied be put aside, and an empty one take its place (SPEC C7).
	AsNewDisk bool

	// HoldLevel keeps the cluster's feature level from being raised while this node is a member (SPEC C9). LevelAfter is
	// for how long all members must know a level before it is raised; default 10 min. KnownLevel is the level that this
	// build knows; tests say less or more.
	HoldLevel  bool
	LevelAfter time.Duration
	KnownLevel uint64

	// Caller says who asks for the commands that are proposed with a context (SPEC A4). nil: nobody is asked.
	Caller func(context.Context) task.Caller
	Called func(task.Caller, task.Command) task.Caller // completes the caller by what the command is about (SPEC A5, A8)

	wrapDisk func(diskStore) diskStore // for tests: a disk that fails
	late     delays                    // for tests: a process that is starved; default a lateness.Meter
	levelOf  func(task.Command) uint64 // for tests: commands of a level that is to come; default task.LevelOf
	onApply  func(index, term uint64)  // for tests: told of each entry that is about to be applied
}

// delays says how late the scheduler lets this process run.
type delays interface {
	Total() time.Duration // in sum
	Worst() time.Duration // at once, at most, in the last 30 s
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
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	orDefault(&c.HeartbeatTimeout, time.Second)
	orDefault(&c.ElectionTimeout, max(time.Second, c.HeartbeatTimeout))
	orDefault(&c.LeaderLeaseTimeout, 500*time.Millisecond)
	orDefault(&c.CommitTimeout, 200*time.Millisecond)
	orDefault(&c.CommitPause, 100*time.Microsecond)
	orDefault(&c.SnapshotBytes, 64<<20)
	orDefault(&c.TrailingBytes, 64<<20)
	orDefault(&c.PersistBytesPerSecond, 32_000_000)
	orDefault(&c.DiskSlow, 2*time.Second)
	orDefault(&c.DiskTimeout, 10*time.Second)
	orDefault(&c.QueueCommands, 65536)
	orDefault(&c.QueueBytes, 64<<20)
	orDefault(&c.QueueWait, 250*time.Millisecond)
	orDefault(&c.QueueAge, 2*time.Second)
	orDefault(&c.RPCTimeout, 10*time.Second)
	orDefault(&c.LevelAfter, levelAfter)
	orDefault(&c.KnownLevel, task.KnownLevel)
	if c.late == nil {
		c.late = &lateness.Meter{}
	}
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
	for _, n := range []int64{int64(c.LogSegmentBytes), c.SnapshotBytes, c.TrailingBytes, c.PersistBytesPerSecond, int64(c.DiskSlow), int64(c.DiskTimeout), int64(c.QueueCommands), int64(c.QueueBytes), int64(c.QueueWait), int64(c.QueueAge), int64(c.RPCTimeout)} {
		if n < 0 {
			return bad("limits", "negative")
		}
	}
	return nil
}

// maxAppendEntries bounds the log entries of one AppendEntries, and of the library's own group commit.
const maxAppendEntries = 64

func (c *Config) raftConfig(notify chan bool) *raft.Config {
	rc := raft.DefaultConfig()
	rc.LocalID = raft.ServerID(c.ID)
	rc.HeartbeatTimeout, rc.ElectionTimeout = c.HeartbeatTimeout, c.ElectionTimeout
	rc.LeaderLeaseTimeout, rc.CommitTimeout = c.LeaderLeaseTimeout, c.CommitTimeout
	rc.MaxAppendEntries, rc.BatchApplyCh = maxAppendEntries, true
	rc.ShutdownOnRemove = false // removing a node includes stopping it; raft must not vanish under the store
	rc.NotifyCh = notify
	rc.NoLegacyTelemetry = true
	// snapshot.go triggers snapshots by bytes, where the library would count entries.
	rc.SnapshotThreshold = 1 << 62
	rc.SnapshotInterval = 24 * time.Hour
	rc.TrailingLogs = maxTrailing
	return rc
}
