package traces

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
	"github.com/taskrt/taskrt/worker/spans"
)

// Config of Traces.
type Config struct {
	Process string // ID of the node or worker
	Version string // of this program
	Logger  *slog.Logger
}

// Traces makes spans and sends them to a collector. Nothing of it blocks: what cannot be sent is dropped.
type Traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	log      *slog.Logger

	waiting chan *spans.Attempt // attempts of which spans are to be made
	dropped atomic.Int64        // attempts for which there was no room
	done    sync.WaitGroup
	stop    context.CancelFunc
}

const (
	maxWaiting = 4096            // attempts: OnEnd must not wait for spans
	flushTime  = 3 * time.Second // how long a process that stops waits for the collector
)

// Open returns the Traces of a process, or nil if the environment names no collector.
func Open(c Config) (*Traces, error) {
	if ok, err := wanted(); !ok {
		return nil, err
	}
	ctx := context.Background()
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "taskrt"), attribute.String("service.instance.id", c.Process), attribute.String("service.version", c.Version),
	), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { c.Logger.Warn("spans were not sent", "err", err) }))
	return open(exporter, about, c.Logger), nil
}

func open(exporter sdk.SpanExporter, about *resource.Resource, log *slog.Logger) *Traces {
	ctx, stop := context.WithCancel(context.Background())
	t := &Traces{
		provider: sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about), sdk.WithIDGenerator(ids{})),
		log:      log, waiting: make(chan *spans.Attempt, maxWaiting), stop: stop,
	}
	t.tracer = t.provider.Tracer("github.com/taskrt/taskrt")
	t.done.Go(func() { t.work(ctx) })
	return t
}

// Close sends what waits, within a few seconds. A nil Traces has nothing.
func (t *Traces) Close() {
	if t == nil {
		return
	}
	t.stop()
	t.done.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn("the last spans were not sent", "err", err)
	}
	if n := t.dropped.Load(); n > 0 {
		t.log.Warn("attempts ended faster than spans could be made of them", "without_spans", n)
	}
}

// work makes spans of what waits until ctx ends, and then of the rest.
func (t *Traces) work(ctx context.Context) {
	for {
		select {
		case a := <-t.waiting:
			t.attempt(a)
			continue
		case <-ctx.Done():
		}
		for {
			select {
			case a := <-t.waiting:
				t.attempt(a)
			default:
				return
			}
		}
	}
}

func (t *Traces) put(a *spans.Attempt) {
	select {
	case t.waiting <- a:
	default:
		t.dropped.Add(1)
	}
}

// Ended is told of an attempt that a worker of this process has ended: the OnEnd of worker.Config. If the lease was lost, the node that ends the
// lease tells of the attempt.
func (t *Traces) Ended(e worker.Ended) {
	if e.Spans == nil || e.End == worker.EndLost {
		return
	}
	a := *e.Spans
	a.Outcome = e.End.String()
	t.put(&a)
}

// Lapsed is told of a task whose last attempt no worker of a node tells of: the OnLapse of node.Config.
func (t *Traces) Lapsed(x *task.Task) {
	if a := spans.Lapsed(x); a != nil {
		t.put(a)
	}
}

// Told returns two functions: onEnd hears of ends of attempts, and onLapse of attempts of which no worker tells. For a nil Traces they are ended and nil.
func (t *Traces) Told(ended func(worker.Ended)) (onEnd func(worker.Ended), onLapse func(*task.Task)) {
	if t == nil {
		return ended, nil
	}
	return func(e worker.Ended) { ended(e); t.Ended(e) }, t.Lapsed
}
