package node

import (
	"path/filepath"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/diskspace"
	"github.com/taskrt/taskrt/node/scheduled"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
)

// Stats is what a node can say of itself and of its state without asking another node (SPEC C6).
type Stats struct {
	Store  raftstore.Status
	Counts task.Counts
	// Forever counts the final tasks that their behaviors keep for ever. Excess counts tasks that would be kept for ever, too, if there were not so
	// many already (SPEC T9).
	Forever, Excess int64
	// LeasesEnded counts the leases that this node saw end without a report. SessionsEnded counts the sessions that it
	// saw end.
	LeasesEnded, SessionsEnded int64
	StreamBreaches             int64   // streams that this node has ended because their worker spoke for attempts of others (SPEC A2)
	Queues                     []Queue // one for each behavior, by namespace and name; empty unless this node leads
	Now                        time.Time
	Worker                     *worker.Status // nil: this node has no worker
	Engine                     runtime.Stats
	Blobs                      api.NodeBlobs
	Files, Bytes               int64 // files on this node's disk and their bytes, as counted a while ago
	// Backup is the last scheduled backup of the cluster; nil: there is none. BackupFailures counts the runs that failed on this node.
	Backup         *scheduled.Last
	BackupFailures int64
	// LogDisk and BlobDisk are the file systems of this node's log and blobs; zero: the system does not tell.
	LogDisk, BlobDisk diskspace.Space
	TokensEnding      int // tokens that end within EndsSoon; sessions of sign-in, which all do, left out
}

// EndsSoon is how long before its end a token is counted in Stats.TokensEnding.
const EndsSoon = 7 * 24 * time.Hour

// Queue is how many tasks of one behavior wait, and how.
type Queue struct {
	Namespace, Behavior string
	task.BehaviorStats
}

// Stats tells what the node is doing now.
func (n *Node) Stats() Stats {
	s := Stats{
		Store: n.store.Status(), Now: n.cfg.Clock.Wall(), Blobs: *n.files.Status(),
	}
	s.LeasesEnded, s.SessionsEnded = n.waits.Ended()
	s.StreamBreaches = n.hub.Breaches()
	cluster := n.store.Cluster()
	n.store.Local(func(m *task.Machine) {
		s.Counts = m.Counts()
		if r := scheduled.Recall(m, cluster); r != nil {
			s.Backup = r.Last
		}
		for _, n := range m.Namespaces() {
			s.Forever += n.Usage.Forever
			s.Excess += n.Usage.Excess
		}
		s.TokensEnding = m.Access().Ending(EndsSoon.Milliseconds())
		if s.Store.Role != raftstore.RoleLeader {
			return
		}
		m.Queues(func(namespace, name string, stats task.BehaviorStats) bool {
			s.Queues = append(s.Queues, Queue{namespace, name, stats})
			return true
		})
	})
	s.Worker, s.Engine = n.report()
	s.Files, s.Bytes = n.files.Count()
	s.BackupFailures = n.backupFailures.Load()
	s.LogDisk, _ = diskspace.Of(filepath.Join(n.cfg.Dir, "raft")) // zero says that it is not known
	s.BlobDisk, _ = diskspace.Of(filepath.Join(n.cfg.Dir, "blobs"))
	return s
}

// HasBehavior reports whether this node knows a behavior of this name. A deleted behavior that has tasks left counts.
func (n *Node) HasBehavior(namespace, name string) (has bool) {
	n.store.Local(func(m *task.Machine) { has = m.Version(namespace, name, "") != nil })
	return has
}
