package tokens

import (
	"context"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/api/jobs"
	"github.com/taskrt/taskrt/node/access"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
	kept "github.com/taskrt/taskrt/task/access"
)

// NewGate makes the gate of a cluster that asks for tokens.
func NewGate(s *raftstore.Store, static func() access.Static) *access.Gate {
	return access.New(access.Config{
		Local:   func(fn func(access.Tokens)) { s.Local(func(m *task.Machine) { fn(known{m.Access()}) }) },
		CatchUp: func(ctx context.Context) error { return s.Read(ctx, func(*task.Machine) {}) },
		Static:  static,
		Follow:  s.Follow,
	})
}

// Guard returns a Service for requests that come through a gate: it lets callers do with s what their roles allow (SPEC A5).
func Guard(g *access.Gate, s api.Service, l Log) api.Service { return g.Guard(s, looks(l)) }

// GuardInsight is Guard for an Insight.
func GuardInsight(g *access.Gate, x insight.Insight, l Log) insight.Insight {
	return g.GuardInsight(x, looks(l))
}

// GuardJobs is Guard for Jobs.
func GuardJobs(g *access.Gate, x jobs.Jobs, l Log) jobs.Jobs { return g.GuardJobs(x, looks(l)) }

func looks(l Log) access.Looks {
	return access.Looks{
		Local: func(fn func(access.Records)) { l.Local(func(m *task.Machine) { fn(records{m}) }) },
		Read: func(ctx context.Context, fn func(access.Records)) error {
			return l.Read(ctx, func(m *task.Machine) bool { fn(records{m}); return false })
		},
	}
}

// known are the tokens of a state, as the gate asks for them.
type known struct{ kept.View }

var _ access.Tokens = known{}

// Find implements access.Tokens.
func (k known) Find(hash [32]byte) *access.Token {
	x := k.Hashed(hash)
	if x == nil {
		return nil
	}
	until := x.Expires
	if hash != x.Hash && (until == 0 || x.FormerUntil < until) { // it is the secret from before the last rotation
		until = x.FormerUntil
	}
	return &access.Token{Principal: auth.Principal{Number: x.Number, Name: x.Name, Grant: x.Grant}, Rate: x.Rate, Until: until}
}

// Holds implements access.Tokens.
func (k known) Holds(number uint64) bool { return k.Speaks(number) }

// records are the tasks and operations of a state, as the guard asks for them.
type records struct{ m *task.Machine }

var _ access.Records = records{}

// Task implements access.Records.
func (r records) Task(namespace, id string) *access.Record {
	t := r.m.Task(task.Key{Namespace: namespace, ID: id})
	if t == nil {
		return nil
	}
	found := &access.Record{Behavior: t.Behavior, Creator: t.Creator}
	if t.Lease != nil {
		found.Lease = t.Lease.Token
	}
	return found
}

// Operation implements access.Records.
func (r records) Operation(namespace, id string) *access.Record {
	o := r.m.Operation(task.Key{Namespace: namespace, ID: id})
	if o == nil {
		return nil
	}
	return &access.Record{Behavior: o.Behavior, Creator: o.Creator}
}
