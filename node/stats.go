package node

import (
	"sync"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/blob"
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
		Store: n.store.Status(), Now: n.cfg.Clock.Wall(), Engine: n.engineStats(), Blobs: *n.keeper.status(),
		LeasesEnded: n.events.leasesEnded.Load(), SessionsEnded: n.events.sessionsEnded.Load(),
	}
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
	if w, ok := n.Worker(); ok {
		s.Worker = &w
	}
	s.Files, s.Bytes = n.files.of(n.blobs)
	return s
}

// HasBehavior reports whether this node knows a behavior of that name, perhaps a deleted one that has tasks left.
func (n *Node) HasBehavior(namespace, name string) (has bool) {
	n.store.Local(func(m *task.Machine) { has = m.Version(namespace, name, "") != nil })
	return has
}

// fileCount counts the files of the blob store now and then: it takes a look at each.
type fileCount struct {
	mu           sync.Mutex // held while counting
	next         time.Time
	last         sync.Mutex // guards the rest
	files, bytes int64
}

// Counting takes at most a hundredth of the time, and happens at most once in countEvery.
const (
	countEvery = 15 * time.Second
	countShare = 100
)

// of returns the last count, after a new one if that is due and nobody is at it.
func (c *fileCount) of(store *blob.Store) (files, bytes int64) {
	if c.mu.TryLock() {
		if begun := time.Now(); !begun.Before(c.next) {
			if err := store.List(func(i blob.Info) bool { files++; bytes += i.Size; return true }); err == nil {
				c.last.Lock()
				c.files, c.bytes = files, bytes
				c.last.Unlock()
			}
			c.next = time.Now().Add(max(countEvery, countShare*time.Since(begun)))
		}
		c.mu.Unlock()
	}
	c.last.Lock()
	defer c.last.Unlock()
	return c.files, c.bytes
}
