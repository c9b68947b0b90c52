package traces

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"log/slog"
)

type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                        { return nil }

// BenchmarkUnsampled is what a submit pays that is not sampled, which leaves nothing with the task.
func BenchmarkUnsampled(b *testing.B) {
	b.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
	b.Setenv("OTEL_TRACES_SAMPLER_ARG", "0")
	x := open(nowhere{}, resource.Empty(), slog.New(slog.DiscardHandler))
	defer x.Close()
	b.ReportAllocs()
	for b.Loop() {
		if c, _ := x.Begin("/v1/tasks", ""); c != nil {
			b.Fatal("it has a trace")
		}
	}
}

// BenchmarkSampled is what a submit and its commit pay that are sampled.
func BenchmarkSampled(b *testing.B) {
	x := open(nowhere{}, resource.Empty(), slog.New(slog.DiscardHandler))
	defer x.Close()
	b.ReportAllocs()
	for b.Loop() {
		_, end := x.Begin("/v1/tasks", "")
		end(201)
	}
}
