package traces

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/taskrt/taskrt/api/server/traced"
	own "github.com/taskrt/taskrt/api/tracing"
	"github.com/taskrt/taskrt/task/tracing"
	"github.com/taskrt/taskrt/worker/spans"
)

var _ traced.Tracer = (*Traces)(nil)

// Begin implements traced.Tracer: it begins the span of a submit. Tasks get it as their parent. If nobody has begun a trace, and this one is not
// sampled, tasks get none.
func (t *Traces) Begin(route, parent string) (*own.Call, func(status int)) {
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), parentOf(parent))
	ctx, span := t.tracer.Start(ctx, "submit", trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String("http.route", route)))
	if !span.IsRecording() {
		if parent == "" {
			return nil, nil
		}
		return &own.Call{Parent: parent}, nil
	}
	call := &own.Call{Parent: textOf(span.SpanContext()), Commit: func(began, ended time.Time) {
		_, commit := t.tracer.Start(ctx, "commit", trace.WithTimestamp(began))
		commit.End(trace.WithTimestamp(ended))
	}}
	return call, func(status int) {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= 500 {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// good are outcomes that are no errors.
var good = map[string]bool{
	"success": true, "yielded": true, "stopped": true, "cancelled": true, "SUCCESS": true, "SNOOZED": true, "GIVEN_BACK": true, "CANCELLED": true,
}

// attempt makes the spans of an attempt: the wait before it, itself, and below it what it did.
func (t *Traces) attempt(a *spans.Attempt) {
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), parentOf(a.Trace))
	about := []attribute.KeyValue{
		attribute.String("taskrt.namespace", a.Namespace), attribute.String("taskrt.task", a.ID), attribute.String("taskrt.behavior", a.Behavior),
		attribute.Int64("taskrt.attempt", a.Number),
	}
	if a.Due != 0 && a.Came != 0 {
		t.part(ctx, "wait", min(a.Due, a.Came), a.Came, false, about...)
	}
	about = append(about, attribute.String("taskrt.version", a.Version), attribute.String("taskrt.worker", a.Worker), attribute.String("taskrt.outcome", a.Outcome))
	for name, value := range map[string]string{"taskrt.node": a.Node, "taskrt.parent": a.Parent, "taskrt.partition": a.Partition} {
		if value != "" {
			about = append(about, attribute.String(name, value))
		}
	}
	if a.More > 0 {
		about = append(about, attribute.Int64("taskrt.calls.not_shown", a.More))
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithTimestamp(at(a.Came)), trace.WithAttributes(about...)}
	if a.Former != 0 {
		options = append(options, trace.WithLinks(trace.Link{
			SpanContext: spanOf(a, a.Former), Attributes: []attribute.KeyValue{attribute.String("taskrt.link", "retry")},
		}))
	}
	ctx, span := t.tracer.Start(known(ctx, spanOf(a, a.Number).SpanID()), "attempt", options...)
	ctx = known(ctx, trace.SpanID{}) // those below draw theirs
	if !good[a.Outcome] {
		span.SetStatus(codes.Error, a.Outcome)
	}
	t.part(ctx, "compile", a.Came, a.Made, false)
	if a.Began != 0 {
		guest, guestSpan := t.tracer.Start(ctx, "guest", trace.WithTimestamp(at(a.Began)))
		t.calls(guest, a.Calls)
		guestSpan.End(trace.WithTimestamp(at(a.Ended)))
	}
	span.End(trace.WithTimestamp(at(max(a.Came, a.Over))))
}

// calls makes the spans of what a guest called, and its own, inside one another.
func (t *Traces) calls(guest context.Context, calls []spans.Call) {
	within := make([]context.Context, len(calls)+1)
	within[0] = guest
	for i := range calls {
		c := &calls[i]
		if !c.Own {
			t.part(within[c.In], c.Name, c.Began, c.Ended, c.Failed)
			continue
		}
		about := []attribute.KeyValue{attribute.Bool("taskrt.guest", true)}
		for _, a := range c.Attributes {
			about = append(about, attribute.String(a.Key, a.Value))
		}
		ctx, span := t.tracer.Start(within[c.In], c.Name, trace.WithTimestamp(at(c.Began)), trace.WithAttributes(about...))
		if c.Failed {
			span.SetStatus(codes.Error, c.Why)
		}
		span.End(trace.WithTimestamp(at(max(c.Began, c.Ended))))
		within[i+1] = ctx
	}
}

// part makes a span, if it had an end.
func (t *Traces) part(ctx context.Context, name string, began, ended int64, failed bool, about ...attribute.KeyValue) {
	if ended == 0 {
		return
	}
	_, span := t.tracer.Start(ctx, name, trace.WithTimestamp(at(began)), trace.WithAttributes(about...))
	if failed {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(at(ended)))
}

// spanOf returns the span of an attempt of the task.
func spanOf(a *spans.Attempt, number int64) trace.SpanContext {
	return parentOf(tracing.Attempt(a.Trace, a.Namespace, a.ID, number))
}

func at(nano int64) time.Time { return time.Unix(0, nano) }
