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

// parentOf returns the span that the text of a trace names, with its tracestate.
func parentOf(text string) trace.SpanContext {
	if !tracing.Valid(text) {
		return trace.SpanContext{}
	}
	id, _ := trace.TraceIDFromHex(tracing.ID(text))
	span, _ := trace.SpanIDFromHex(tracing.SpanID(text))
	state, _ := trace.ParseTraceState(tracing.State(text)) // it knows what tracing knows: a test says so
	var flags trace.TraceFlags
	if tracing.Sampled(text) {
		flags = trace.FlagsSampled
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: flags, TraceState: state, Remote: true})
}

// textOf returns the text of a span's trace.
func textOf(c trace.SpanContext) string {
	flags := "-00"
	if c.IsSampled() {
		flags = "-01"
	}
	return tracing.Join("00-"+c.TraceID().String()+"-"+c.SpanID().String()+flags, c.TraceState().String())
}
