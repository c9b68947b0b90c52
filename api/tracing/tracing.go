// Package tracing carries the trace context of a call (SPEC U2): to the cluster in a client, and to the log in a node.
package tracing

import (
	"context"
	"time"

	"github.com/taskrt/taskrt/task/tracing"
)

// Header is the header of W3C Trace Context.
const Header = "Traceparent"

// Call is what is known of a call that is traced.
type Call struct {
	// Parent is the traceparent that tasks get which the call makes due.
	Parent string
	// Commit, if set, is told when a proposal of the call began and ended.
	Commit func(began, ended time.Time)
}

type callKey struct{}

// WithParent returns a context under which tasks get a traceparent: those that a Client submits, and operations that it starts. A text that is none
// is ignored, as W3C asks for.
func WithParent(ctx context.Context, traceparent string) context.Context {
	parent := tracing.Parse(traceparent)
	if parent == "" {
		return ctx
	}
	return With(ctx, &Call{Parent: parent})
}

// With returns a context of a call.
func With(ctx context.Context, c *Call) context.Context { return context.WithValue(ctx, callKey{}, c) }

// Parent returns the traceparent of a call; "": it has none.
func Parent(ctx context.Context) string {
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return c.Parent
	}
	return ""
}

// Committing is called when a proposal begins, and what it returns when it ends.
func Committing(ctx context.Context) (ended func()) {
	c, ok := ctx.Value(callKey{}).(*Call)
	if !ok || c.Commit == nil {
		return func() {}
	}
	began := time.Now()
	return func() { c.Commit(began, time.Now()) }
}
