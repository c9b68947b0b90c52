package raftstore

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
)

// TestBootstrapInAnyOrder: nodes start in any order and at any time. They know all other nodes or only one of them.
// They become one cluster (SPEC C1).
func TestBootstrapInAnyOrder(t *testing.T) {
	all := []string{"n1:1", "n2:1", "n3:1"}
	for _, tc := range []struct {
		name  string
		order []string
		pause time.Duration
		join  func(id string) []string
	}{
		{"together", []string{"n1", "n2", "n3"}, 0, func(string) []string { return all }},
		{"backwards", []string{"n3", "n2", "n1"}, 10 * time.Second, func(string) []string { return all }},
		{"one late", []string{"n2", "n3", "n1"}, time.Minute, func(string) []string { return all }},
		{"all know n2 only", []string{"n1", "n3", "n2"}, time.Second, func(string) []string { return all[1:2] }},
		{"chain", []string{"n1", "n2", "n3"}, time.Second, func(id string) []string {
			return map[string][]string{"n1": nil, "n2": all[:1], "n3": all[1:2]}[id]
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *cluster) {
				for i, id := range tc.order {
					c.start(c.add(id, nil), 3, tc.join(id)...)
					if i < 2 {
						<-time.After(tc.pause)
						for _, m := range c.nodes {
							if len(m.store.raft.Servers()) > 0 || m.store.Cluster() != "" {
								t.Fatalf("%s founded a cluster of fewer than 3", m.id)
							}
						}
					}
				}
				c.activate(c.nodes["n3"].store)
				if d := c.agree(); d.Index == 0 {
					t.Fatal("nothing applied")
				}
				for _, m := range c.nodes {
					if n := len(m.store.Status().Members); n != 3 {
						t.Fatalf("%s sees %d members", m.id, n)
					}
				}
			})
		})
	}
}

// TestTwoFounders: two nodes that cannot see each other both think that it is their turn to found. Their sets overlap.
// All nodes become one cluster.
func TestTwoFounders(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		join := []string{"n1:1", "n2:1", "n3:1", "n4:1"}
		c.net.Cut("n1:1", "n2:1")
		for _, addr := range join {
			c.start(c.add(strings.TrimSuffix(addr, ":1"), nil), 3, join...)
		}
		<-time.After(20 * time.Second)
		c.net.HealAll()
		for _, addr := range join {
			c.approve(strings.TrimSuffix(addr, ":1"))
		}
		c.await("four voters everywhere", func() bool {
			for _, m := range c.nodes {
				voters := 0
				for _, x := range m.store.Status().Members {
					if x.Voter {
						voters++
					}
				}
				if voters != 4 {
					return false
				}
			}
			return true
		})
		c.activate(c.nodes["n2"].store)
		c.agree()
		for _, m := range c.nodes {
			if a, b := m.cluster(t), c.nodes["n1"].cluster(t); a != b || a == "" || m.store.Cluster() != a {
				t.Fatalf("clusters %q and %q, and it says %q", a, b, m.store.Cluster())
			}
		}
	})
}

// cluster returns the cluster that m belongs to according to its directory.
func (m *member) cluster(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(m.dir + "/node.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ Cluster string }
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	return f.Cluster
}

// TestJoin: a fourth node enters without a vote. When an operator says so, and it has caught up, it votes (SPEC C2).
func TestJoin(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		c.activate(ms[0].store)
		c.propose(ms[0].store, submit("before", task.Fail))
		m := c.add("n4", nil)
		follower := c.followers(c.leader())[0]
		s := c.start(m, 3, follower.addr)
		if r := s.Status().Role; r != RoleJoining {
			t.Fatalf("role %s at start", r)
		}
		c.await("entry", func() bool { return s.Status().Role == RoleNonvoter })
		<-time.After(2 * time.Minute)
		if r := s.Status().Role; r != RoleNonvoter {
			t.Fatalf("nobody has approved it, and it is a %s", r)
		}
		c.approve("n4")
		c.await("promotion", func() bool {
			st := s.Status()
			return st.Ready && len(st.Members) == 4 && st.Role == RoleFollower
		})
		if !c.has(s, "before") {
			t.Fatal("the newcomer lacks a task")
		}
		c.await("all know all addresses", func() bool {
			for _, m := range c.nodes {
				for _, x := range m.store.Status().Members {
					if x.Addr == "" || x.HTTP == "" {
						return false
					}
				}
			}
			return true
		})
		c.stop(m)
		c.start(m, 3, follower.addr)
		c.await("ready again", func() bool { return m.store.Status().Ready })
		c.agree()
	})
}

// TestAllAddressesChange: all addresses change at once, and each former address now belongs to another node (SPEC C1).
func TestAllAddressesChange(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		c.activate(ms[0].store)
		c.propose(ms[0].store, submit("before", task.Fail))
		c.agree()
		for _, m := range ms {
			c.crash(m)
		}
		ms[0].addr, ms[1].addr, ms[2].addr = "n2:1", "n3:1", "n1:1"
		for _, m := range ms {
			c.start(m, 3, "n1:1", "n2:1", "n3:1")
		}
		if !c.has(ms[2].store, "before") {
			t.Fatal("a task is gone")
		}
		c.propose(ms[1].store, submit("after", task.Fail))
		c.agree()
		for _, m := range ms {
			c.crash(m)
		}
		for _, m := range ms {
			m.addr = "new-" + m.id + ":1"
		}
		for _, m := range ms {
			c.start(m, 3, "new-n1:1", "new-n2:1", "new-n3:1")
		}
		c.propose(ms[0].store, submit("again", task.Fail))
		c.agree()
		for _, m := range ms {
			c.await(m.id+" knows the new addresses", func() bool {
				for _, x := range m.store.Status().Members {
					if x.Addr != "new-"+x.ID+":1" {
						return false
					}
				}
				return true
			})
		}
	})
}

// TestOneMoves: a single node comes back elsewhere. It has its directory and no join addresses.
func TestOneMoves(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		c.activate(ms[0].store)
		c.stop(ms[1])
		ms[1].addr = "elsewhere:1"
		c.net.Isolate("elsewhere:1") // at first nobody hears of the new address
		c.start(ms[1], 0)
		<-time.After(20 * time.Second)
		c.net.HealAll()
		c.await("contact", func() bool { return ms[1].store.Status().Ready })
		c.propose(ms[1].store, submit("abc", task.Fail))
		c.agree()
	})
}

// TestDuplicateID: a second node under a taken ID is told so and stops. The cluster goes on.
func TestDuplicateID(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		c.activate(ms[0].store)
		twin := c.add("twin", nil)
		twin.id = "n2"
		c.start(twin, 3, "n1:1", "n3:1")
		err := <-twin.fatal
		if !errors.Is(err, ErrDuplicateID) || !strings.Contains(err.Error(), `"n2"`) {
			t.Fatal(err)
		}
		c.stop(twin)
		delete(c.nodes, "twin")
		c.propose(ms[1].store, submit("abc", task.Fail))
		c.agree()
	})
}

// TestEmptyDirectory: a node that lost its disk comes back under its ID as another server. Nobody counts on what its
// predecessor had promised or stored.
func TestEmptyDirectory(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		c.activate(ms[0].store)
		c.propose(ms[0].store, submit("before", task.Fail))
		c.agree()
		lost := c.followers(c.leader())[0]
		former := lost.store.identity
		c.crash(lost)
		if err := os.RemoveAll(lost.dir); err != nil {
			t.Fatal(err)
		}
		c.start(lost, 3, "n1:1", "n2:1", "n3:1")
		c.await("replacement", func() bool { st := lost.store.Status(); return st.Ready && st.Role == RoleFollower })
		if lost.store.identity == former {
			t.Fatal("same identity with an empty directory")
		}
		if !c.has(lost.store, "before") {
			t.Fatal("a task is gone")
		}
		c.agree()
		for _, m := range ms {
			if st := m.store.Status(); len(st.Members) != 3 {
				t.Fatalf("%+v", st.Members)
			}
		}
	})
}

// TestAlone: one node can be a cluster.
func TestAlone(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		m := c.add("n1", nil)
		c.start(m, 1, "n1:1")
		c.leader()
		c.activate(m.store)
		c.stop(m)
		c.start(m, 1, "n1:1")
		c.leader()
		c.propose(m.store, submit("abc", task.Fail))
		info, err := os.Stat(m.dir)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Fatalf("%v %v", info, err)
		}
	})
}

// TestTwoClustersMeet: two clusters meet by a wrong join address. They leave each other alone, although their nodes
// have the same IDs.
func TestTwoClustersMeet(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		c.activate(ms[0].store)
		c.agree()
		other := c.add("other", nil)
		other.id = "n3"
		c.start(other, 1)
		c.await("a leader of its own", func() bool { return other.store.leadingTerm() != 0 })
		c.stop(other)
		c.stop(ms[2])
		c.start(other, 1, "n1:1", "n2:1")
		c.start(ms[2], 3, "other:1")
		c.await("contact", func() bool { return ms[2].store.Status().Ready && other.store.Status().Ready })
		<-time.After(time.Minute)
		for _, m := range c.nodes {
			if err := m.store.failure(); err != nil {
				t.Fatalf("%s: %v", m.addr, err)
			}
		}
		if n, o := len(ms[0].store.Status().Members), len(other.store.Status().Members); n != 3 || o != 1 {
			t.Fatalf("%d and %d members", n, o)
		}
		c.stop(other)
		delete(c.nodes, "other")
		c.agree()
	})
}

// names is a Resolver of one name.
type names struct {
	mu    sync.Mutex
	addrs []string
}

func (n *names) LookupHost(context.Context, string) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.addrs), nil
}

func (n *names) LookupSRV(context.Context, string, string, string) (string, []*net.SRV, error) {
	return "", nil, errors.New("no records")
}

// TestNamesAreLookedUpAnew: nodes find each other by one name. All of them move at once, the name with them, and they find each other again
// (SPEC C1).
func TestNamesAreLookedUpAnew(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		n := &names{addrs: []string{"n1", "n2", "n3"}}
		var ms []*member
		for _, id := range n.addrs {
			m := c.add(id, func(cfg *Config) { cfg.Resolver = n })
			ms = append(ms, m)
			c.start(m, 3, "dns:nodes.example:1")
		}
		c.leader()
		c.activate(ms[0].store)
		c.agree()
		for _, m := range ms {
			c.crash(m)
		}
		for i, to := range []string{"a", "b", "c"} {
			ms[i].addr = to + ":1"
		}
		for _, m := range ms {
			c.start(m, 3, "dns:nodes.example:1")
		}
		<-time.After(time.Minute)
		for _, m := range ms {
			if m.store.Status().LeaderID != "" {
				t.Fatalf("%s knows a leader, by what name?", m.id)
			}
		}
		n.mu.Lock()
		n.addrs = []string{"a", "b", "c"}
		n.mu.Unlock()
		c.leader()
		c.propose(ms[0].store, submit("after", task.Fail))
		c.agree()
	})
}
