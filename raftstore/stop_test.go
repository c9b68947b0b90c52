package raftstore

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/task"
)

// corrupt damages a record in the memory of one node, then lets the log write the record.
func (c *cluster) corrupt(m *member, id string) {
	c.t.Helper()
	m.store.fsm.mu.Lock()
	ok := m.store.fsm.machine.CorruptForTest(key(id))
	m.store.fsm.mu.Unlock()
	if !ok {
		c.t.Fatal("nothing to corrupt")
	}
}

// TestDivergedFollowerStops: exactly the node whose digest differs stops (SPEC C4).
func TestDivergedFollowerStops(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		three(c, nil)
		leader := c.leader()
		c.activate(leader.store)
		c.propose(leader.store, submit("victim", task.Fail))
		c.agree()
		c.await("the states are compared", func() bool { return leader.store.Status().Digests.Equal > 0 })
		bad := c.followers(leader)[1]
		c.corrupt(bad, "victim")
		c.propose(leader.store, task.Cancel{Key: key("victim")})
		if err := <-bad.fatal; !errors.Is(err, ErrDiverged) {
			t.Fatal(err)
		}
		if st := bad.store.Status(); st.Role != RoleStopped || st.Ready || !errors.Is(st.Err, ErrDiverged) {
			t.Fatalf("%+v", st)
		}
		if found := leader.store.Status().Digests; found.Different == 0 || found.Equal == 0 || found.Equal >= bad.store.Status().Applied {
			t.Errorf("the leader says of its comparisons: %+v", found)
		}
		if _, err := bad.store.Propose(t.Context(), task.Tick{}); !errors.Is(err, ErrStopped) {
			t.Fatalf("a stopped node proposes: %v", err)
		}
		if err := bad.store.Read(t.Context(), func(*task.Machine) {}); !errors.Is(err, ErrStopped) {
			t.Fatalf("a stopped node reads: %v", err)
		}
		c.stop(bad)
		<-time.After(20 * time.Second)
		c.propose(c.leader().store, submit("after", task.Fail))
		c.agree()
		for _, m := range c.followers(bad) {
			if err := m.store.failure(); err != nil {
				t.Fatalf("%s stopped too: %v", m.id, err)
			}
		}
	})
}

// TestDivergedLeaderStops: a diverged leader hands over before it stops, so the cluster goes on at once.
func TestDivergedLeaderStops(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		three(c, nil)
		bad := c.leader()
		c.activate(bad.store)
		c.propose(bad.store, submit("victim", task.Fail))
		c.corrupt(bad, "victim")
		c.propose(bad.store, task.Cancel{Key: key("victim")})
		if err := <-bad.fatal; !errors.Is(err, ErrDiverged) {
			t.Fatal(err)
		}
		for _, m := range c.followers(bad) {
			if m.store.Status().Digests.Different == 0 {
				t.Errorf("%s has counted nothing, and the leader ends", m.id)
			}
		}
		begun := time.Now()
		c.propose(c.followers(bad)[0].store, submit("after", task.Fail))
		if took := time.Since(begun); took > 500*time.Millisecond {
			t.Fatalf("no write for %v after the leader stopped: leadership was not transferred", took)
		}
		c.stop(bad)
		c.agree()
	})
}

// TestNoMajorityStopsAll: three nodes with three digests all stop.
func TestNoMajorityStopsAll(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		three(c, nil)
		leader := c.leader()
		c.activate(leader.store)
		c.propose(leader.store, submit("one", task.Fail), submit("two", task.Fail))
		c.agree()
		fs := c.followers(leader)
		c.corrupt(fs[0], "one")
		c.corrupt(fs[1], "two")
		c.propose(leader.store, task.Cancel{Key: key("one")}, task.Cancel{Key: key("two")})
		for _, m := range c.nodes {
			if err := <-m.fatal; !errors.Is(err, ErrDiverged) {
				t.Fatal(err)
			}
		}
	})
}

// TestUnknownCommandStops: a node does not skip an entry that its build cannot apply, not even after a restart (SPEC
// C4).
func TestUnknownCommandStops(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		three(c, nil)
		leader := c.leader()
		c.activate(leader.store)
		before := c.agree()
		_ = leader.store.raft.Apply([]byte{1, 0x83, 1, 1, 1, 0x84, 0x18, 0xfe, 0, 0, 0, 0xa0}, 0).Error()
		// The last of the three may go on: nobody is left to tell it that the entry is committed.
		stop := func() {
			stopped := 0
			c.await("a majority stops", func() bool {
				for _, m := range c.nodes {
					select {
					case err := <-m.fatal:
						if !errors.Is(err, ErrBadEntry) {
							t.Fatalf("%s: %v", m.id, err)
						}
						stopped++
					default:
					}
				}
				return stopped >= 2
			})
			for _, m := range c.nodes {
				if d := m.store.Status().Digest; m.store.failure() != nil && d.Index > before.Index {
					t.Fatalf("%s went on from %v to %v", m.id, before, d)
				}
				c.stop(m)
			}
		}
		stop()
		for _, m := range c.nodes {
			c.start(m, 3, "n1:1", "n2:1", "n3:1")
		}
		stop()
	})
}

// TestPanicInApplyStops: a state that the machine calls impossible stops the node. It does not kill the other nodes of
// the process.
func TestPanicInApplyStops(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		m := c.add("n1", nil)
		s := c.start(m, 1)
		c.leader()
		c.activate(s)
		// The machine has seen a later entry than raft, so it must refuse the next one.
		s.fsm.mu.Lock()
		s.fsm.machine.Apply(task.Header{Index: 1 << 40, Term: 1 << 40}, nil)
		s.fsm.mu.Unlock()
		if _, err := s.Propose(ctxFor(t, time.Minute), submit("abc", task.Fail)); err == nil {
			t.Fatal("acknowledged")
		}
		if err := <-m.fatal; !errors.Is(err, ErrBadEntry) {
			t.Fatal(err)
		}
	})
}

// faultyDisk fails or hangs when the test asks for it.
type faultyDisk struct {
	diskStore
	fail  atomic.Bool
	hang  atomic.Bool
	hold  chan struct{} // when it is closed, hanging writes go on
	holds atomic.Int32
	slow  atomic.Int64 // how long each write of entries takes, in nanoseconds of virtual time
	votes atomic.Int64 // how long each write of a term or a vote takes
	terms atomic.Bool  // writes of a term fail
}

var errInjected = errors.New("injected: no space left on device")

func (d *faultyDisk) StoreLogs(ls []*raft.Log) error {
	if d.fail.Load() {
		return errInjected
	}
	if d.hang.Load() {
		d.holds.Add(1)
		<-d.hold
		if d.fail.Load() {
			return errInjected
		}
	}
	takeTime(&d.slow)
	return d.diskStore.StoreLogs(ls)
}

func (d *faultyDisk) SetUint64(k []byte, v uint64) error {
	if d.terms.Load() && string(k) == "CurrentTerm" {
		return errInjected
	}
	takeTime(&d.votes)
	return d.diskStore.SetUint64(k, v)
}

func (d *faultyDisk) Set(k, v []byte) error {
	takeTime(&d.votes)
	return d.diskStore.Set(k, v)
}

func takeTime(takes *atomic.Int64) {
	if d := takes.Load(); d > 0 {
		<-time.After(time.Duration(d))
	}
}

// withFaultyDisk gives each node a disk that the test can break.
func withFaultyDisk(disks map[string]*faultyDisk) func(*Config) {
	return func(cfg *Config) {
		id := cfg.ID
		cfg.wrapDisk = func(d diskStore) diskStore {
			disks[id] = &faultyDisk{diskStore: d, hold: make(chan struct{})}
			return disks[id]
		}
	}
}

// TestDiskErrorStops: a node notices errors of its own disk, and the other nodes go on.
func TestDiskErrorStops(t *testing.T) {
	for _, leads := range []bool{false, true} {
		bubble(t, func(t *testing.T, c *cluster) {
			disks := map[string]*faultyDisk{}
			three(c, withFaultyDisk(disks))
			bad := c.leader()
			c.activate(bad.store)
			if !leads {
				bad = c.followers(bad)[0]
			}
			disks[bad.id].fail.Store(true)
			good := c.followers(bad)
			c.propose(good[0].store, submit("abc", task.Fail))
			if err := <-bad.fatal; !errors.Is(err, ErrDiskFailed) || !errors.Is(err, errInjected) {
				t.Fatal(err)
			}
			if st := bad.store.Status(); !errors.Is(st.Disk.Err, errInjected) || st.Ready {
				t.Fatalf("%+v", st)
			}
			c.propose(good[1].store, submit("def", task.Fail))
			c.stop(bad)
			c.agree()
		})
	}
}

// TestTermIsNotStored: a disk that fails while a term is stored stops the node with the reason, as any other failure
// does, where raft would panic: in a node that stands for election, in one that is asked for its vote, and in one that
// starts. The others go on.
func TestTermIsNotStored(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		disks := map[string]*faultyDisk{}
		some(c, 5, withFaultyDisk(disks))
		c.activate(c.leader().store)
		join := []string{"n1:1", "n2:1", "n3:1", "n4:1", "n5:1"}
		fails := func(what string, bad *member) {
			t.Helper()
			if err := <-bad.fatal; !errors.Is(err, ErrDiskFailed) || !errors.Is(err, errInjected) {
				t.Errorf("%s: %v", what, err)
			}
			c.stop(bad)
			disks[bad.id].terms.Store(false)
			c.start(bad, 5, join...)
			c.agree()
		}
		leader := c.leader()
		voter := c.followers(leader)[0]
		disks[voter.id].terms.Store(true)
		c.crash(leader)
		c.leader()
		fails("asked for a vote", voter)
		c.start(leader, 5, join...)
		c.agree()

		candidate := c.followers(c.leader())[0]
		disks[candidate.id].terms.Store(true)
		candidate.store.raft.Campaign()
		fails("standing for election", candidate)

		c.stop(candidate)
		candidate.change = func(cfg *Config) {
			cfg.wrapDisk = func(d diskStore) diskStore {
				f := &faultyDisk{diskStore: d}
				f.terms.Store(true)
				return f
			}
		}
		if s, err := c.tryStart(candidate, 5, join...); err == nil || !strings.Contains(err.Error(), errInjected.Error()) {
			t.Errorf("starting: %v %v", s, err)
		}
		<-candidate.fatal
		c.agree()
	})
}

// TestDiskStallStops: a leader whose disk hangs would keep its leadership. Past DiskTimeout it stops instead.
func TestDiskStallStops(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		disks := map[string]*faultyDisk{}
		three(c, withFaultyDisk(disks))
		bad := c.leader()
		c.activate(bad.store)
		disks[bad.id].hang.Store(true)
		begun := time.Now()
		c.propose(c.followers(bad)[0].store, submit("abc", task.Fail))
		if took := time.Since(begun); took > 20*time.Second {
			t.Fatalf("the cluster stood still for %v", took)
		}
		if err := <-bad.fatal; !errors.Is(err, ErrDiskStalled) {
			t.Fatal(err)
		}
		close(disks[bad.id].hold)
		c.stop(bad)
		c.agree()
	})
}

// TestOverload: a full queue does not grow. It refuses at once (SPEC H3), on the leader and through it.
func TestOverload(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		disks := map[string]*faultyDisk{}
		with := withFaultyDisk(disks)
		three(c, func(cfg *Config) { with(cfg); cfg.QueueCommands = 100; cfg.DiskTimeout = time.Hour })
		leader := c.leader()
		c.activate(leader.store)
		disk := disks[leader.id]
		release := sync.OnceFunc(func() { close(disk.hold) })
		defer release()
		disk.hang.Store(true)
		answers := make(chan error, 201)
		put := func(id string) {
			go func() {
				_, err := leader.store.Propose(ctxFor(t, 10*time.Minute), submit(id, task.Fail))
				answers <- err
			}()
		}
		put("in-flight")
		c.await("a write in progress", func() bool { return disk.holds.Load() > 0 })
		for _, id := range ids("waiting", 200) {
			put(id)
		}
		for range 100 {
			if err := <-answers; !errors.Is(err, ErrOverloaded) {
				t.Fatalf("%v", err)
			}
		}
		if _, err := leader.store.Propose(t.Context(), submit("more", task.Fail)); !errors.Is(err, ErrOverloaded) {
			t.Fatalf("on the leader: %v", err)
		}
		if _, err := c.followers(leader)[0].store.Propose(t.Context(), submit("more", task.Fail)); !errors.Is(err, ErrOverloaded) {
			t.Fatalf("through a follower: %v", err)
		}
		release()
		for range 101 {
			if err := <-answers; err != nil {
				t.Fatal(err)
			}
		}
	})
}
