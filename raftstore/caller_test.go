package raftstore

import (
	"context"
	"testing"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/access"
)

type callerKey struct{}

// called makes a node ask the context of a proposal who asks for it.
func called(c *Config) {
	c.Caller = func(ctx context.Context) task.Caller {
		by, _ := ctx.Value(callerKey{}).(task.Caller)
		return by
	}
}

// TestCallers: the caller of a proposal comes from the node that was asked into the leader's entry, with and without a client's key. What the
// leader itself proposes has none. Below the level that knows callers nobody is named (SPEC A4, C9).
func TestCallers(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		three(c, func(cfg *Config) { called(cfg); knows(2)(cfg) })
		c.await("level 2", func() bool { return c.allAtLevel(2) })
		leader := c.leader()
		follower := c.followers(leader)[0]
		root := context.WithValue(t.Context(), callerKey{}, task.Caller{Token: access.Root, From: "10.0.0.1", Route: "r", Target: "x"})
		nobody := context.WithValue(t.Context(), callerKey{}, task.Caller{Token: 9})
		code := func(rs []task.Result, err error) task.Code {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			return rs[0].Code
		}
		token := task.CreateToken{Name: "one", Roles: 1, Namespaces: []string{"*"}, Behaviors: []string{"*"}, Hash: []byte("0123456789abcdef0123456789abcdef")}
		for _, m := range []*member{follower, leader} {
			if got := code(m.store.Propose(nobody, task.Tick{})); got != task.TokenRevoked {
				t.Errorf("an unknown caller at %s: %q", m.id, got)
			}
			if got := code(m.store.ProposeKeyed(nobody, Key{7, 8}, task.Tick{})); got != task.TokenRevoked {
				t.Errorf("an unknown caller with a key at %s: %q", m.id, got)
			}
		}
		if got := code(leader.store.ProposeLocal(nobody, task.Tick{})); got != task.OK {
			t.Errorf("the leader's own command: %q", got)
		}
		if got := code(follower.store.Propose(root, token)); got != task.OK {
			t.Errorf("the root token: %q", got)
		}
		leader.store.Local(func(m *task.Machine) {
			if x := m.Access().Named("one"); x == nil || x.CreatedBy != access.Root {
				t.Errorf("made by %+v", x)
			}
		})
	})
	bubble(t, func(t *testing.T, c *cluster) {
		all := three(c, func(cfg *Config) { called(cfg); knows(1)(cfg) })
		nobody := context.WithValue(t.Context(), callerKey{}, task.Caller{Token: 9})
		for _, m := range all {
			if rs, err := m.store.Propose(nobody, task.Tick{}); err != nil || rs[0].Code != task.OK {
				t.Errorf("below the level: %+v, %v", rs, err)
			}
		}
	})
}
