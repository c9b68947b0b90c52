// Package insight answers questions about what does not go on: which tasks failed, by group (SPEC Q2), and why a task waits (SPEC Q4).
package insight

import (
	"context"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/node/query"
	"github.com/taskrt/taskrt/task"
)

// Log is how the state is read. service.Log implements it.
type Log interface {
	// Read runs a function on a state that has whatever was acknowledged before, and again as long as it wants more.
	Read(context.Context, func(*task.Machine) (more bool)) error
	Local(func(*task.Machine)) // shows this node's state as it is
}

// Config configures New. Every field is needed.
type Config struct {
	Log   Log
	Found *query.Index
	Leads func() bool // whether this node knows a leader
	// Leader explains a task on the leader, by what its loop knows; see Explain.
	Leader func(context.Context, task.Key) (*insight.WhyReply, error)
}

// Insight implements insight.Insight.
type Insight struct{ config Config }

var _ insight.Insight = Insight{}

// New returns an Insight.
func New(c Config) Insight { return Insight{c} }

// Failures implements insight.Insight.
func (x Insight) Failures(ctx context.Context, r insight.FailuresRequest) (*insight.FailuresReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	known := false
	err := x.config.Log.Read(ctx, func(m *task.Machine) bool {
		known = m.NamespaceExists(r.Namespace)
		return false
	})
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, api.UnknownNamespace(r.Namespace)
	}
	return x.config.Found.ListFailures(ctx, &r)
}
