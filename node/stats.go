package node

import (
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
)

// Stats is what a node can say of itself and of its state without asking anybody (SPEC C6).
type Stats struct {
	Store  raftstore.Status
	Counts task.Counts
	// Forever counts the final tasks that their behaviors keep for ever, Excess those that are too many to be (SPEC T9).
	Forever, Excess int64
	// LeasesEnded counts the leases that this node saw end other than by a report, SessionsEnded the sessions that it saw end.
	LeasesEnded, SessionsEnded int64
	Queues                     []Queue // on the leader: of every behavior, by namespace and name
	Now                        time.Time
	Worker                     *worker.Status // nil: none
	Engine                     runtime.Stats
	Blobs                      api.NodeBlobs
	Files, Bytes               int64 // of the blobs on this node's disk, as counted a while ago
}

// Queue is what waits for a behavior.
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
	n.store.Local(func(m *task.Machine) {
		s.Counts = m.Counts()
		for _, n := range m.Namespaces() {
			s.Forever += n.Usage.Forever
			s.Excess += n.Usage.Excess
		}
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
	return s
}

// HasBehavior reports whether this node knows a behavior of that name, perhaps a deleted one that has tasks left.
func (n *Node) HasBehavior(namespace, name string) (has bool) {
	n.store.Local(func(m *task.Machine) { has = m.Version(namespace, name, "") != nil })
	return has
}
