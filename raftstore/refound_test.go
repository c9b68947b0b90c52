package raftstore

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/raftstore/members"
	"github.com/taskrt/taskrt/raftstore/refound"
	"github.com/taskrt/taskrt/task"
)

// look reads the directory of a node that does not run.
func (c *cluster) look(m *member) (*refound.Dir, *refound.State) {
	c.t.Helper()
	d, err := refound.Open(m.dir)
	if err != nil {
		c.t.Fatal(err)
	}
	s, err := d.Look()
	if err != nil {
		c.t.Fatal(err)
	}
	return d, s
}

// refound makes another cluster of the directory of a node that does not run, and returns its ID.
func (c *cluster) refound(m *member, approve ...string) string {
	c.t.Helper()
	d, s := c.look(m)
	p := refound.Plan{Node: m.id, Cluster: refound.NewID(), Approve: approve, Command: "test"}
	if err := d.Found(s, p); err != nil {
		c.t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		c.t.Fatal(err)
	}
	return p.Cluster
}

// TestRefound: of three nodes two are lost. What each survivor has becomes another cluster. It says truly up to where it goes, nothing of the
// former cluster's promises holds in it, and nodes with empty directories join it (SPEC C2).
func TestRefound(t *testing.T) {
	eachLogStore(t, func(t *testing.T, c *cluster) {
		ms := settledThree(c)
		session := c.propose(ms[0].store, task.OpenSession{Worker: "w", Slots: 2, TTL: 600_000, Proof: []byte("p")})[0].Session
		rev := c.propose(ms[0].store, submit("both", task.Join), submit("runs", task.Join))[1].Task.Rev
		lease := c.propose(ms[0].store, task.Assign{Key: key("runs"), Session: session.ID, Rev: rev})[0].Task.Lease
		c.agree()
		leader := c.leader()
		late := c.followers(leader)[0]
		c.crash(late) // it does not get what comes now
		last := c.propose(leader.store, submit("late", task.Join))[0].Index
		for _, m := range c.followers(late) {
			c.crash(m)
		}
		former := leader.cluster(t)
		for _, m := range ms {
			d, s := c.look(m)
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			has := s.Machine.Task(key("late")) != nil
			if s.Node != m.id || s.Cluster != former || len(s.Members) != 3 || has != (m != late) || has != (s.Index >= last) || s.Machine.Counts().Running != 1 {
				t.Errorf("%s: %+v, has what came last: %v", m.id, s, has)
			}
		}

		cluster := c.refound(late, "n8")
		c.net.HealAll()
		c.start(late, 3, "n1:1", "n2:1", "n3:1")
		c.await("it leads", func() bool { return late.store.leadingTerm() != 0 })
		if cluster == former || late.store.Cluster() != cluster || !c.has(late.store, "both") || c.has(late.store, "late") {
			t.Errorf("cluster %s, was %s; it says %s", cluster, former, late.store.Cluster())
		}
		late.store.fsm.read(func(m *task.Machine) {
			if r := m.Task(key("runs")); r.Lease != nil || r.LostCount != 1 || len(m.Sessions()) != 0 {
				t.Errorf("the former cluster's lease holds: %+v", r)
			}
		})
		rs, err := late.store.Propose(ctxFor(t, time.Minute), task.Finish{Key: key("runs"), Token: lease.Token, Seq: 1})
		if err != nil || rs[0].Code != task.Halt {
			t.Errorf("a worker of the former cluster: %v %v", rs, err)
		}
		if again := c.propose(late.store, task.OpenSession{Worker: "w", Slots: 2, TTL: 600_000, Proof: []byte("other")})[0].Session; again.ID <= task.Leap {
			t.Errorf("session %d", again.ID)
		}

		// One node that is approved beforehand, and one that waits for a word.
		c.start(c.add("n8", nil), 3, late.addr)
		c.start(c.add("n9", nil), 3, late.addr)
		c.awaitVoters(late.id, "n8")
		c.approve("n9")
		c.awaitVoters(late.id, "n8", "n9")
		c.agree()
	})
}

// TestRefoundBesideTheFormer: the others were not lost. They go on as the former cluster, and neither cluster speaks to the other, or takes a
// node for one of its own.
func TestRefoundBesideTheFormer(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := settledThree(c)
		c.propose(ms[0].store, submit("both", task.Join))
		c.agree()
		apart := c.followers(c.leader())[0]
		c.crash(apart)
		c.refound(apart)
		c.start(apart, 3, "n1:1", "n2:1", "n3:1")
		c.await("it leads", func() bool { return apart.store.leadingTerm() != 0 })
		others := c.followers(apart)
		c.propose(apart.store, submit("here", task.Join))
		for _, m := range others {
			c.await("they have a leader", func() bool { return m.store.Status().Ready })
			c.propose(m.store, submit("there-"+m.id, task.Join))
		}
		<-time.After(time.Minute)
		for _, m := range ms {
			if err := m.store.failure(); err != nil {
				t.Errorf("%s: %v", m.id, err)
			}
			if want := m == apart; c.has(m.store, "here") != want || c.has(m.store, "there-"+others[0].id) == want {
				t.Errorf("%s has what the other cluster has", m.id)
			}
		}
		if n := len(apart.store.Status().Members); n != 1 {
			t.Errorf("%d members", n)
		}
		// The new one is stopped, or the helper that ends the test would compare two clusters.
		c.stop(apart)
		delete(c.nodes, apart.id)
		c.agree()
	})
}

// TestRefoundInterrupted: a directory of which another cluster was being made starts no server. Making it again finishes it, wherever it was
// interrupted.
func TestRefoundInterrupted(t *testing.T) {
	eachLogStore(t, func(t *testing.T, c *cluster) {
		m := some(c, 1, nil)[0]
		c.activate(m.store)
		c.propose(m.store, submit("one", task.Join))
		c.stop(m)
		former := filepath.Join(c.dir, "former")
		if err := os.CopyFS(former, os.DirFS(m.dir)); err != nil {
			t.Fatal(err)
		}
		refuses := func(when string) {
			t.Helper()
			if _, err := c.tryStart(m, 1); err == nil || !strings.Contains(err.Error(), "`test` was interrupted here: run it again") {
				t.Fatalf("%s: %v", when, err)
			}
		}
		begin := func() {
			t.Helper()
			if _, err := members.Rebegin(m.dir, m.id, "abc", 3, "test"); err != nil {
				t.Fatal(err)
			}
		}
		begin()
		refuses("before anything but its name was changed")
		c.refound(m)

		// The snapshot is there, and so is the former log.
		for _, name := range []string{"raft.db", "wal"} {
			if err := os.RemoveAll(filepath.Join(m.dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.RemoveAll(filepath.Join(former, "snapshots")); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"lock", "lock.of", "node.json", "committed"} {
			if err := os.RemoveAll(filepath.Join(former, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.CopyFS(m.dir, os.DirFS(former)); err != nil {
			t.Fatal(err)
		}
		begin()
		refuses("before the log was removed")
		c.refound(m)
		c.start(m, 1)
		c.await("it leads", func() bool { return m.store.leadingTerm() != 0 })
		if !c.has(m.store, "one") {
			t.Error("what it had is lost")
		}
		c.propose(m.store, submit("two", task.Join))
		if names := files(t, filepath.Join(m.dir, "snapshots")); len(names) != 1 {
			t.Errorf("snapshots %v", names)
		}
		c.stop(m)
		c.start(m, 1)
		c.await("it leads again", func() bool { return m.store.leadingTerm() != 0 })
		if !c.has(m.store, "two") {
			t.Error("what was written since is lost")
		}
	})
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names
}

// TestRefoundRefuses: directories of which no cluster can be made are refused, and are not changed.
func TestRefoundRefuses(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		if _, err := refound.Open(filepath.Join(c.dir, "nobody")); err == nil {
			t.Error("there is no node")
		}
		empty := c.add("n1", nil)
		c.start(empty, 3)
		if _, err := refound.Open(empty.dir); err == nil {
			t.Error("a node runs in it")
		}
		c.stop(empty)
		d, err := refound.Open(empty.dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Look(); err == nil || !strings.Contains(err.Error(), "never belonged to a cluster") {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		alone := some(c, 1, nil)[0]
		c.activate(alone.store)
		c.stop(alone)
		d, found := c.look(alone)
		err = d.Found(found, refound.Plan{Node: alone.id, Cluster: refound.NewID(), Approve: []string{""}, Command: "test"})
		if err == nil || !strings.Contains(err.Error(), "node: ") {
			t.Errorf("nobody is approved: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		c.start(alone, 1) // nothing was changed
		if _, err := refound.Create(empty.dir, "bolt"); err == nil {
			t.Error("there is a node already")
		}
	})
}
