package traces

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/taskrt/taskrt/runtime/guestspans"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/tracing"
	"github.com/taskrt/taskrt/worker"
	"github.com/taskrt/taskrt/worker/spans"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// sink is a collector: it takes OTLP over HTTP in the protocol's own types.
type sink struct {
	mu    sync.Mutex
	spans []*wire.Span
	about map[string]string // of the resource
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil && r.Header.Get("Content-Encoding") == "gzip" {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, err = io.ReadAll(z)
		}
	}
	var q collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &q)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range q.ResourceSpans {
		for _, a := range of.Resource.Attributes {
			s.about[a.Key] = a.Value.GetStringValue()
		}
		for _, scope := range of.ScopeSpans {
			s.spans = append(s.spans, scope.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// named returns the only span of a name.
func (s *sink) named(t *testing.T, name string) *wire.Span {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	found := slices.DeleteFunc(slices.Clone(s.spans), func(x *wire.Span) bool { return x.Name != name })
	if len(found) != 1 {
		t.Fatalf("%d spans %q of %v", len(found), name, s.spans)
	}
	return found[0]
}

func started(t *testing.T, more map[string]string) (*Traces, *sink) {
	t.Helper()
	s := &sink{about: map[string]string{}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	for _, name := range []string{envTracesEndpoint, envProtocol, envTracesProtocol, envExporter, envDisabled, "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"} {
		t.Setenv(name, more[name])
	}
	t.Setenv(envEndpoint, srv.URL)
	x, err := Open(Config{Process: "n1", Version: "0.2.0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil || x == nil {
		t.Fatal(x, err)
	}
	return x, s
}

// TestSpans: a submit, its commit, and a second attempt with all that it did come to a collector as one trace (SPEC U2).
func TestSpans(t *testing.T) {
	x, s := started(t, nil)
	call, end := x.Begin("/v1/tasks", tracing.Join(given, "congo=t61,fw@dt= x"))
	call.Commit(time.Unix(5, 0), time.Unix(6, 0))
	end(201)
	record := &task.Task{
		Namespace: "default", ID: "a-task", Behavior: "b", Version: "v", Trace: call.Parent, Attempt: 2, Failures: 1, StartedAt: 9_000, CreatedAt: 1_000,
		Lease:   &task.Lease{Worker: "w", Node: "n1"},
		History: []task.Attempt{{Number: 1, StartedAt: 2_000, FinishedAt: 3_000, Outcome: "LOST", Worker: "w0", Node: "n0"}},
	}
	a := spans.Of(record).Arrived(func() time.Time { return time.Unix(10, 0) })
	a.Made, a.Began, a.Ended, a.More = 11e9, 12e9, 14e9, 3
	a.Calls = []spans.Call{
		{Name: "checkpoint", Began: 12e9, Ended: 13e9, Failed: true},
		{Name: "rows", Own: true, Began: 12e9, Ended: 14e9, Attributes: []guestspans.Attribute{{Key: "file", Value: "a.csv"}}},
		{Name: "row", Own: true, Began: 13e9, Ended: 14e9, In: 2, Failed: true, Why: "row 7 is bad"},
		{Name: "blob.read", Began: 13e9, Ended: 14e9, In: 3},
	}
	x.Ended(worker.Ended{End: worker.EndSuccess, Spans: a.Concluded(func() time.Time { return time.Unix(15, 0) })})
	x.Ended(worker.Ended{End: worker.EndLost, Spans: a}) // the leader tells of it
	x.Ended(worker.Ended{End: worker.EndSuccess})
	x.Close()

	submit, commit, wait, attempt := s.named(t, "submit"), s.named(t, "commit"), s.named(t, "wait"), s.named(t, "attempt")
	compile, guest, checkpoint := s.named(t, "compile"), s.named(t, "guest"), s.named(t, "checkpoint")
	rows, row, read := s.named(t, "rows"), s.named(t, "row"), s.named(t, "blob.read")
	for _, c := range []struct {
		span, parent *wire.Span
		began, ended uint64
	}{
		{commit, submit, 5e9, 6e9}, {wait, submit, 3e9, 10e9}, {attempt, submit, 10e9, 15e9}, {compile, attempt, 10e9, 11e9}, {guest, attempt, 12e9, 14e9},
		{checkpoint, guest, 12e9, 13e9}, {rows, guest, 12e9, 14e9}, {row, rows, 13e9, 14e9}, {read, row, 13e9, 14e9},
	} {
		if c.span.TraceState != "congo=t61,fw@dt= x" || c.parent.TraceState != c.span.TraceState {
			t.Errorf("%v below %v have another tracestate", c.span, c.parent)
		}
		if !bytes.Equal(c.span.ParentSpanId, c.parent.SpanId) || !bytes.Equal(c.span.TraceId, c.parent.TraceId) || c.span.StartTimeUnixNano != c.began || c.span.EndTimeUnixNano != c.ended {
			t.Errorf("%v, want it below %v, %d to %d", c.span, c.parent, c.began, c.ended)
		}
	}
	if got := parentOf(given); !bytes.Equal(submit.ParentSpanId, idOf(got.SpanID())) || submit.Kind != wire.Span_SPAN_KIND_SERVER {
		t.Errorf("submit: %v", submit)
	}
	first := parentOf(tracing.Attempt(call.Parent, "default", "a-task", 1))
	if len(attempt.Links) != 1 || !bytes.Equal(attempt.Links[0].SpanId, idOf(first.SpanID())) {
		t.Errorf("links: %v", attempt.Links)
	}
	if second := parentOf(tracing.Attempt(call.Parent, "default", "a-task", 2)); !bytes.Equal(attempt.SpanId, idOf(second.SpanID())) || attempt.Status.GetCode() != wire.Status_STATUS_CODE_UNSET {
		t.Errorf("attempt: %v", attempt)
	}
	if checkpoint.Status.GetCode() != wire.Status_STATUS_CODE_ERROR || !strings.Contains(attempt.String(), "taskrt.calls.not_shown") {
		t.Errorf("checkpoint: %v, attempt: %v", checkpoint, attempt)
	}
	if row.Status.GetMessage() != "row 7 is bad" || !strings.Contains(rows.String(), "a.csv") || !strings.Contains(row.String(), "taskrt.guest") || strings.Contains(read.String(), "taskrt.guest") {
		t.Errorf("spans of the guest: %v, %v, %v", rows, row, read)
	}
	if s.about["service.name"] != "taskrt" || s.about["service.instance.id"] != "n1" || s.about["service.version"] != "0.2.0" {
		t.Errorf("resource: %v", s.about)
	}
}

func idOf(id [8]byte) []byte { return id[:] }

// TestState: the library takes whatever a record keeps as a tracestate, and gives it back as it is.
func TestState(t *testing.T) {
	for _, state := range []string{
		"a=1", "fw529a3039@dt=FfQ,1a-_*/@v=!~ x,k= v", strings.Repeat("k", 256) + "=1", strings.Repeat("k", 241) + "@" + strings.Repeat("v", 14) + "=" + strings.Repeat("~", 255),
	} {
		text := tracing.Join(given, state)
		if got := textOf(parentOf(text)); tracing.State(text) != state || got != text {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestLapsed: of an attempt whose worker has died the record's history tells.
func TestLapsed(t *testing.T) {
	x, s := started(t, nil)
	lost := &task.Task{
		Namespace: "default", ID: "a-task", Trace: given, Attempt: 1, CreatedAt: 1_000,
		History: []task.Attempt{{Number: 1, StartedAt: 2_000, FinishedAt: 3_000, Outcome: "LOST", Worker: "w0", Node: "n0"}},
	}
	x.Lapsed(lost)
	unsampled := *lost
	unsampled.Trace = given[:53] + "00"
	x.Lapsed(&unsampled)
	x.Close()
	attempt, wait := s.named(t, "attempt"), s.named(t, "wait")
	if attempt.StartTimeUnixNano != 2e9 || attempt.EndTimeUnixNano != 3e9 || attempt.Status.GetCode() != wire.Status_STATUS_CODE_ERROR || attempt.Status.Message != "LOST" ||
		!strings.Contains(attempt.String(), `"n0"`) || wait.StartTimeUnixNano != 1e9 {
		t.Errorf("%v\n%v", attempt, wait)
	}
}

// TestSampling: what is not sampled leaves nothing, unless somebody else began the trace.
func TestSampling(t *testing.T) {
	x, s := started(t, map[string]string{"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0"})
	if c, end := x.Begin("/v1/tasks", ""); c != nil || end != nil {
		t.Errorf("%+v", c)
	}
	other := given[:53] + "00"
	if c, end := x.Begin("/v1/tasks", other); c == nil || c.Parent != other || c.Commit != nil || end != nil {
		t.Errorf("%+v", c)
	}
	if c, end := x.Begin("/v1/tasks", given); c == nil || !tracing.Sampled(c.Parent) || tracing.ID(c.Parent) != tracing.ID(given) || end == nil {
		t.Errorf("%+v", c)
	} else {
		end(503)
	}
	x.Close()
	if submit := s.named(t, "submit"); submit.Status.GetCode() != wire.Status_STATUS_CODE_ERROR {
		t.Errorf("%v", submit)
	}
}

// TestOff: without a collector there are no traces, and a nil one does nothing (SPEC U2).
func TestOff(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string // of the error
	}{
		{nil, ""},
		{map[string]string{envEndpoint: "http://127.0.0.1:1", envDisabled: "true"}, ""},
		{map[string]string{envEndpoint: "http://127.0.0.1:1", envExporter: "none"}, ""},
		{map[string]string{envEndpoint: "http://127.0.0.1:1", envExporter: "zipkin"}, envExporter},
		{map[string]string{envEndpoint: "http://127.0.0.1:1", envProtocol: "grpc"}, envProtocol},
	} {
		for _, name := range []string{envEndpoint, envTracesEndpoint, envProtocol, envTracesProtocol, envExporter, envDisabled} {
			t.Setenv(name, c.env[name])
		}
		x, err := Open(Config{Process: "n1", Logger: slog.New(slog.DiscardHandler)})
		if x != nil || (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, %v", c.env, x, err)
		}
	}
	var none *Traces
	called := 0
	ended, lapsed := none.Told(func(worker.Ended) { called++ })
	if ended(worker.Ended{}); called != 1 || lapsed != nil {
		t.Error("somebody is told of spans")
	}
	none.Close()
}

// TestCollectorAway: a collector that does not answer holds up nobody, and the process ends.
func TestCollectorAway(t *testing.T) {
	x, s := started(t, map[string]string{envTracesEndpoint: "http://127.0.0.1:1/v1/traces"})
	for range 3 * maxWaiting {
		x.Lapsed(&task.Task{Trace: given, History: []task.Attempt{{Number: 1, StartedAt: 2, FinishedAt: 3, Outcome: "LOST"}}})
	}
	x.Close()
	if len(s.spans) != 0 {
		t.Error("they went elsewhere")
	}
}
