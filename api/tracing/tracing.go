// Package tracing carries the trace context of a call (SPEC U2): to the cluster in a client, and to the log in a node.
package tracing

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/taskrt/taskrt/task/tracing"
)

// These are the headers of W3C Trace Context.
const (
	Header      = "Traceparent"
	StateHeader = "Tracestate"
)

// Call is what is known of a call that is traced.
type Call struct {
	// Parent is what tasks keep which the call makes due: a traceparent, perhaps with a tracestate (Join of task/tracing).
	Parent string
	// Commit, if set, is told when a proposal of the call began and ended.
	Commit func(began, ended time.Time)
}

type callKey struct{}

// WithParent returns a context under which tasks get a traceparent: those that a Client submits, and operations that it starts. A text that is no
// traceparent is ignored, as W3C asks.
func WithParent(ctx context.Context, traceparent string) context.Context {
	parent := tracing.Parse(traceparent)
	if parent == "" {
		return ctx
	}
	return With(ctx, &Call{Parent: parent})
}

// WithState returns a context under which tasks get a tracestate, too, beside the traceparent that ctx has. Without one it says nothing; an invalid state
// is ignored.
func WithState(ctx context.Context, tracestate string) context.Context {
	c, ok := ctx.Value(callKey{}).(*Call)
	if !ok || c.Parent == "" {
		return ctx
	}
	also := *c
	also.Parent = tracing.Join(tracing.Parent(c.Parent), tracestate)
	return With(ctx, &also)
}

// Headers sets the headers of a request to what ctx has.
func Headers(ctx context.Context, h http.Header) {
	parent, state := Texts(ctx)
	if parent != "" {
		h.Set(Header, parent)
	}
	if state != "" {
		h.Set(StateHeader, state)
	}
}

// Texts returns the traceparent and the tracestate that ctx has; "": none.
func Texts(ctx context.Context) (traceparent, tracestate string) {
	parent := Parent(ctx)
	return tracing.Parent(parent), tracing.State(parent)
}

// Of returns what tasks keep of a request with these headers; "": it has none. Several traceparents are none, as W3C says, and several tracestates are one.
func Of(h http.Header) string {
	one := h[Header]
	if len(one) != 1 {
		return ""
	}
	return tracing.Join(tracing.Parse(one[0]), strings.Join(h[StateHeader], ","))
}

// Own returns a context of one entry of a call: with the trace that the entry names itself, else with that of the call.
func Own(ctx context.Context, traceparent, tracestate string) context.Context {
	parent := tracing.Parse(traceparent)
	if parent == "" {
		return ctx
	}
	return With(ctx, &Call{Parent: tracing.Join(parent, tracestate)})
}

// With returns a context of a call.
func With(ctx context.Context, c *Call) context.Context { return context.WithValue(ctx, callKey{}, c) }

// Parent returns what tasks keep which a call makes due; "": nothing.
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
