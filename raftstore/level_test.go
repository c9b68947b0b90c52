package raftstore

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/raftstore/members"
	"github.com/taskrt/taskrt/raftstore/rpc"
	"github.com/taskrt/taskrt/task"
)

// knows makes a node one whose build knows levels up to this one.
func knows(level uint64) func(*Config) {
	return func(c *Config) { c.KnownLevel, c.LevelAfter = level, 3*time.Minute }
}

func (c *cluster) allAtLevel(level uint64) bool {
	for _, m := range c.nodes {
		if m.store != nil && m.store.Level() != level {
			return false
		}
	}
	return true
}

// restart stops a member and starts it again as another build.
func (c *cluster) restart(m *member, change func(*Config), join ...string) {
	c.t.Helper()
	if err := m.store.Close(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	m.store, m.change = nil, change
	c.start(m, 3, join...)
}

// TestLevelIsRaised: the feature level is raised when all members have known the next level for long enough and none of
// them holds it back or is away. The status says which members hold it up (SPEC C9).
func TestLevelIsRaised(t *testing.T) {
	if levelAfter != 10*time.Minute {
		t.Error("SPEC C9 says 10 minutes")
	}
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, knows(1))
		join := []string{ms[0].addr, ms[1].addr, ms[2].addr}
		c.restart(ms[0], knows(2), join...)
		c.restart(ms[2], func(cfg *Config) { knows(2)(cfg); cfg.HoldLevel = true }, join...)
		c.leader()
		<-time.After(4 * time.Minute)
		if !c.allAtLevel(1) {
			t.Fatal("raised over a member that does not know it")
		}
		c.await("who holds it up", func() bool {
			st := ms[0].store.Status()
			return st.Level == 1 && st.Known == 2 && slices.Equal(st.HeldBy, []string{"n2", "n3"})
		})
		c.restart(ms[1], knows(2), join...)
		c.leader()
		<-time.After(4 * time.Minute)
		if !c.allAtLevel(1) || !slices.Equal(ms[0].store.Status().HeldBy, []string{"n3"}) {
			t.Fatalf("raised over a member that holds it, or: %v", ms[0].store.Status().HeldBy)
		}
		c.restart(ms[2], knows(2), join...)
		c.leader()
		<-time.After(2 * time.Minute)
		if !c.allAtLevel(1) {
			t.Fatal("raised although not all have known it for three minutes")
		}
		c.await("level 2", func() bool { return c.allAtLevel(2) })
		if st := ms[0].store.Status(); st.HeldBy != nil || st.Level != 2 {
			t.Errorf("%+v", st)
		}
	})
}

// TestLevelIsWaitedFor: the level waits for a member that does not answer. Meanwhile no command that this member might
// not know is written.
func TestLevelIsWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		later := func(cfg *Config) {
			knows(2)(cfg)
			cfg.levelOf = func(cmd task.Command) uint64 {
				if _, ok := cmd.(task.Submit); ok {
					return 2
				}
				return task.LevelOf(cmd)
			}
		}
		ms := three(c, knows(1))
		for _, m := range ms {
			c.restart(m, later, ms[0].addr, ms[1].addr, ms[2].addr)
		}
		l := c.leader()
		<-time.After(time.Minute) // each member has said once that it knows the level
		f := c.followers(l)[0]
		c.net.Cut(l.addr, f.addr)
		for _, other := range c.followers(l)[1:] {
			c.net.Cut(other.addr, f.addr)
		}
		<-time.After(5 * time.Minute)
		if l = c.leader(f); l.store.Level() != 1 {
			t.Fatal("raised while a member did not answer")
		}
		for _, propose := range []func() error{
			func() error { _, err := l.store.Propose(t.Context(), task.Tick{}, task.Submit{}); return err },
			func() error { _, err := l.store.ProposeLocal(t.Context(), task.Submit{}); return err },
			func() error { _, err := l.store.ProposeKeyed(t.Context(), Key{1, 1}, nil, task.Submit{}); return err },
		} {
			if err := propose(); !errors.Is(err, ErrLevel) || !strings.Contains(err.Error(), "task.Submit needs level 2, the cluster has 1") {
				t.Errorf("below its level: %v", err)
			}
		}
		c.net.HealAll()
		c.await("level 2", func() bool { return c.allAtLevel(2) })
		if _, err := ms[0].store.Propose(t.Context(), task.Submit{}); err != nil {
			t.Errorf("at its level: %v", err)
		}
	})
}

// TestFoundersRaiseAtOnce: the builds that found a cluster know each other's levels, and no former build can come back: the leader waits for
// nothing (SPEC C9). That holds as far as all of them know levels, and not if one of them holds the level back.
func TestFoundersRaiseAtOnce(t *testing.T) {
	hold := func(c *Config) { knows(3)(c); c.HoldLevel = true }
	for _, x := range []struct {
		name     string
		founders []func(*Config)
		level    uint64
	}{
		{"one node", []func(*Config){knows(3)}, 3},
		{"three nodes", []func(*Config){knows(3), knows(3), knows(3)}, 3},
		{"one knows less", []func(*Config){knows(3), knows(2), knows(3)}, 2},
		{"one is a former build", []func(*Config){knows(3), knows(3), knows(1)}, 1},
		{"one holds", []func(*Config){knows(3), knows(3), hold}, 1},
		{"one node that holds", []func(*Config){hold}, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *cluster) {
				begin := time.Now()
				ms := some(c, len(x.founders), func(cfg *Config) { x.founders[cfg.ID[1]-'1'](cfg) })
				c.await("the level", func() bool { return c.allAtLevel(x.level) })
				if d := time.Since(begin); d > time.Minute {
					t.Errorf("it took %v", d)
				}
				<-time.After(2 * time.Minute)
				if !c.allAtLevel(x.level) {
					t.Error("raised further")
				}
				if x.name != "one is a former build" {
					return
				}
				// The member's next build was not there when the cluster was founded.
				c.restart(ms[2], knows(3), ms[0].addr, ms[1].addr)
				<-time.After(2 * time.Minute)
				if !c.allAtLevel(1) {
					t.Error("raised although a founder has not known the level for three minutes")
				}
				c.await("level 2", func() bool { return c.allAtLevel(2) })
			})
		})
	}
}

// greeting and answer are the messages of two nodes that greet each other.
type (
	greeting struct {
		Self members.Peer `cbor:"1,keyasint"`
		Join bool         `cbor:"5,keyasint"`
	}
	answer struct {
		Error string `cbor:"4,keyasint"`
	}
)

// TestOldBuildsAreRefused: a build that does not know the cluster's level, or speaks another format, takes no part. A
// newcomer is refused at the greeting. A member refuses to start before it reads its log. Each is told what it lacks
// (SPEC C9).
func TestOldBuildsAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, knows(2))
		join := []string{ms[0].addr, ms[1].addr, ms[2].addr}
		<-time.After(2 * time.Minute)
		c.await("level 2", func() bool { return c.allAtLevel(2) })
		young := c.start(c.add("n4", knows(1)), 0, join...)
		<-time.After(time.Minute)
		if st := young.Status(); st.Role != RoleJoining {
			t.Errorf("a build that knows level 1 is %s in a cluster of level 2", st.Role)
		}
		greet := func(self members.Peer) (answer, error) {
			return rpc.Request[answer](t.Context(), young.clients, ms[0].addr, "", rpc.KindHello, greeting{Self: self, Join: true})
		}
		r, err := greet(young.book.Me())
		if want := "the cluster's feature level is 2, and node n4 knows 1 at most: start a newer build there"; err != nil || r.Error != want {
			t.Errorf("it is told %q, %v", r.Error, err)
		}
		former := young.book.Me()
		former.Format = 0 // a former build greets like this
		r, err = greet(former)
		if err != nil || !strings.Contains(r.Error, "from before 0.1.0") || !strings.Contains(r.Error, "taskrt ns export NAME") {
			t.Errorf("a former build is told %q, %v", r.Error, err)
		}
		if n := len(c.leader().store.Status().Members); n != 3 {
			t.Errorf("%d members", n)
		}
		m := ms[2]
		if err := m.store.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		m.store, m.change = nil, knows(1)
		if _, err = c.tryStart(m, 3, join...); err == nil || !strings.Contains(err.Error(), "the cluster's feature level is 2, and this build knows 1 at most") {
			t.Errorf("a member of a former build starts: %v", err)
		}
	})
}

// TestFormerFormat: a directory of the former format is refused before anything of it is read or written (SPEC C9).
func TestFormerFormat(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		m := c.add("n1", nil)
		text := `{"version": 1, "self": {"id": "n1", "instance": "ab", "addr": "n1:1", "incarnation": 3}, "peers": null}`
		if err := errors.Join(os.MkdirAll(m.dir, 0o700), os.WriteFile(m.dir+"/node.json", []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		_, err := c.tryStart(m, 1)
		for _, want := range []string{m.dir, "before 0.1.0", "has changed nothing", "taskrt ns export NAME --file FILE", "taskrt namespace import NAME FILE"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: does not say %q", err, want)
			}
		}
		if left, _ := os.ReadFile(m.dir + "/node.json"); string(left) != text {
			t.Errorf("node.json is %s", left)
		}
		if entries, _ := os.ReadDir(m.dir); len(entries) != 1 {
			t.Errorf("%d files", len(entries))
		}
	})
}
