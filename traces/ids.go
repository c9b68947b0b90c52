package traces

import (
	"context"
	"crypto/rand"
	"encoding/binary"

	"go.opentelemetry.io/otel/trace"

	"github.com/taskrt/taskrt/task/tracing"
)

// ids draws IDs, but for spans whose ID follows from what everybody knows.
type ids struct{}

type knownKey struct{}

// known returns a context under which the next span has this ID.
func known(ctx context.Context, id trace.SpanID) context.Context {
	return context.WithValue(ctx, knownKey{}, id)
}

// NewIDs implements trace.IDGenerator of the SDK.
func (g ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	var id trace.TraceID
	_, _ = rand.Read(id[:]) // it never fails
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements trace.IDGenerator of the SDK.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if id, ok := ctx.Value(knownKey{}).(trace.SpanID); ok && id.IsValid() {
		return id
	}
	var id trace.SpanID
	_, _ = rand.Read(id[:])
	if !id.IsValid() {
		binary.BigEndian.PutUint64(id[:], 1)
	}
	return id
}

// parentOf returns the span that a traceparent names.
func parentOf(traceparent string) trace.SpanContext {
	if !tracing.Valid(traceparent) {
		return trace.SpanContext{}
	}
	id, _ := trace.TraceIDFromHex(tracing.ID(traceparent))
	span, _ := trace.SpanIDFromHex(tracing.SpanID(traceparent))
	var flags trace.TraceFlags
	if tracing.Sampled(traceparent) {
		flags = trace.FlagsSampled
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: flags, Remote: true})
}

// traceparent returns the text of a span.
func traceparent(c trace.SpanContext) string {
	flags := "-00"
	if c.IsSampled() {
		flags = "-01"
	}
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + flags
}
