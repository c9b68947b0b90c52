package metrics

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/diskspace"
	"github.com/taskrt/taskrt/metrics/table"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/node/scheduled"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/raftstore/digests"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scrape reads /metrics as Prometheus does.
func scrape(t testing.TB, m http.Handler) map[string]*dto.MetricFamily {
	t.Helper()
	rec := httptest.NewRecorder()
	m.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if rec.Code != http.StatusOK || !strings.HasPrefix(rec.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		b, _ := io.ReadAll(rec.Body)
		t.Fatalf("%d %s: %s", rec.Code, rec.Header().Get("Content-Type"), b)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(rec.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// value returns the value of the metric with these labels, each written name=value, in any order. ok is false if there is no
// such metric.
func value(families map[string]*dto.MetricFamily, name string, labels ...string) (v float64, ok bool) {
	for _, m := range families[name].GetMetric() {
		all := true
		for _, want := range labels {
			k, val, _ := strings.Cut(want, "=")
			all = all && slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetName() == k && l.GetValue() == val })
		}
		if !all {
			continue
		}
		switch {
		case m.Counter != nil:
			return m.Counter.GetValue(), true
		case m.Gauge != nil:
			return m.Gauge.GetValue(), true
		case m.Histogram != nil:
			return float64(m.Histogram.GetSampleCount()), true
		}
	}
	return 0, false
}

func wants(t *testing.T, families map[string]*dto.MetricFamily, want float64, name string, labels ...string) {
	t.Helper()
	if got, ok := value(families, name, labels...); !ok || got != want {
		t.Errorf("%s%v is %v (there: %v), want %v", name, labels, got, ok, want)
	}
}

// fake is a Node whose state a test sets.
type fake struct {
	stats node.Stats
	gone  map[string]bool
}

func (f *fake) Stats() node.Stats            { return f.stats }
func (f *fake) HasBehavior(_, b string) bool { return !f.gone[b] }
func quiet(c Config) Config                  { c.Logger = slog.New(slog.DiscardHandler); return c }
func queue(name string, due int64, oldest time.Time) node.Queue {
	q := node.Queue{Namespace: "default", Behavior: name, BehaviorStats: task.BehaviorStats{Due: due, Delayed: 2, Retrying: 3, Running: 4}}
	if due > 0 {
		q.Oldest = task.Time(oldest.UnixMilli())
	}
	return q
}

// busy returns a leader with something of everything.
func busy() *fake {
	now := time.UnixMilli(1_800_000_000_000)
	return &fake{gone: map[string]bool{}, stats: node.Stats{
		Store: raftstore.Status{
			Role: raftstore.RoleLeader, Term: 7, Applied: 90, Commit: 91, Ready: true, SnapshotsTaken: 2,
			Members: []raftstore.Member{{Voter: true}, {Voter: true}, {}},
			Digests: digests.Findings{Equal: 89, Different: 1},
			Disk:    raftstore.DiskHealth{Writes: 10, Bytes: 1000, Took: 30 * time.Millisecond},
		},
		Counts:      task.Counts{Created: 1, Running: 2, Retrying: 3, Repeating: 5, Success: 4, Failure: 5, Sessions: 6, Records: 8},
		LeasesEnded: 11, SessionsEnded: 12, StreamBreaches: 13, Now: now,
		Queues: []node.Queue{queue("aaa", 1, now.Add(-time.Minute)), queue("bbb", 0, now), queue("ccc", 5, now.Add(-time.Hour))},
		Worker: &worker.Status{Connected: true, Slots: 9, Breaches: 4, Held: []uint64{1, 2, 3}, Executing: []uint64{2}},
		Engine: runtime.Stats{Ready: 1, Compiling: 2, Waiting: 3, Guests: 4, Memory: 5, MemoryBudget: 6, Idle: 7, CacheBytes: 8},
		Blobs:  api.NodeBlobs{Missing: 3, Failing: 2, Corrupt: 1, Error: "no space left on device"}, Files: 20, Bytes: 2000,
		Backup: &scheduled.Last{Began: now.Add(-time.Minute), Finished: now, Bytes: 3000, NewBytes: 30}, BackupFailures: 6,
		LogDisk: diskspace.Space{Free: 10, Size: 100}, BlobDisk: diskspace.Space{Free: 20, Size: 200}, TokensEnding: 2,
	}}
}

// everything returns Metrics that were told something of every kind.
func everything() *Metrics {
	m := New(quiet(Config{Version: "v1.2.3", Revision: "abc"}))
	m.WatchNode(busy())
	m.WatchPort(func() int64 { return 3 })
	m.WatchStreams(func() int64 { return 4 }, func() int64 { return 5 })
	m.WatchClients("waiting", func() int64 { return 7 })
	m.WatchClients("idle", func() int64 { return 8 })
	m.WatchCertificate("http", func() time.Time { return time.Unix(2_000_000_000, 0) })
	m.WatchCertificate("node", func() time.Time { return time.Time{} }) // it never ends
	m.Ended(worker.Ended{
		Namespace: "default", Behavior: "echo", End: worker.EndSuccess, Ran: true, Wall: time.Second, Busy: 250 * time.Millisecond,
		Fuel: 1000, PeakMemory: 1 << 16, Ready: 2 * time.Second,
	})
	m.Ended(worker.Ended{Namespace: "default", Behavior: "echo", End: worker.EndTrap, Ran: true, Busy: 250 * time.Millisecond, Reused: true, Fuel: 5})
	m.Ended(worker.Ended{Namespace: "default", Behavior: "echo", End: worker.EndNotRun})
	m.Compiled(runtime.Compiled{Took: time.Second})
	m.Compiled(runtime.Compiled{Cached: true})
	m.Compiled(runtime.Compiled{Cached: true})
	m.Compiled(runtime.Compiled{Err: errors.New("not a module")})
	m.Request("/v1/tasks/{id}", "GET", 200, time.Millisecond, "")
	m.Request("", "", 404, time.Millisecond, "no trace")
	m.Problem("not_found")
	return m
}

func TestAttempts(t *testing.T) {
	f := scrape(t, everything())
	echo := []string{"namespace=default", "behavior=echo"}
	with := func(more ...string) []string { return append(slices.Clone(echo), more...) }
	wants(t, f, 1, "taskrt_attempts_total", with("outcome=success")...)
	wants(t, f, 1, "taskrt_attempts_total", with("outcome=trap")...)
	wants(t, f, 1, "taskrt_attempts_total", with("outcome=not_run")...)
	wants(t, f, 0, "taskrt_attempts_total", with("outcome=timeout")...)
	wants(t, f, 2, "taskrt_attempt_duration_seconds", echo...) // without the attempt that never ran
	wants(t, f, 2, "taskrt_attempt_peak_memory_bytes", echo...)
	wants(t, f, 0.5, "taskrt_attempt_cpu_seconds_total", echo...)
	wants(t, f, 1005, "taskrt_attempt_fuel_total", echo...)
	wants(t, f, 1, "taskrt_instances_total", with("how=new")...)
	wants(t, f, 1, "taskrt_instances_total", with("how=pooled")...)
	wants(t, f, 1, "taskrt_module_compile_duration_seconds", "result=compiled")
	wants(t, f, 2, "taskrt_module_compile_duration_seconds", "result=cached")
	wants(t, f, 1, "taskrt_module_compile_duration_seconds", "result=failed")
	wants(t, f, 1, "taskrt_http_requests_total", "route=/v1/tasks/{id}", "method=GET", "code=200")
	wants(t, f, 1, "taskrt_build_info", "version=v1.2.3", "revision=abc", "goversion="+goruntime.Version())
}

// TestNode: everything that a node measures can be scraped (SPEC C6).
func TestNode(t *testing.T) {
	f := scrape(t, everything())
	wants(t, f, 3, "taskrt_port_refused_total")
	wants(t, f, 1_800_000_000, "taskrt_backup_last_success_timestamp_seconds")
	wants(t, f, 60, "taskrt_backup_last_duration_seconds")
	wants(t, f, 3000, "taskrt_backup_last_bytes")
	wants(t, f, 30, "taskrt_backup_last_new_bytes")
	wants(t, f, 6, "taskrt_backup_failures_total")
	wants(t, f, 7, "taskrt_http_connections_dropped_total", "reason=waiting")
	wants(t, f, 4, "taskrt_http_streams")
	wants(t, f, 5, "taskrt_http_stream_requests")
	wants(t, f, 8, "taskrt_http_connections_dropped_total", "reason=idle")
	wants(t, f, 9, "taskrt_worker_slots")
	wants(t, f, 10, "taskrt_disk_free_bytes", "disk=raft")
	wants(t, f, 100, "taskrt_disk_size_bytes", "disk=raft")
	wants(t, f, 20, "taskrt_disk_free_bytes", "disk=blobs")
	wants(t, f, 200, "taskrt_disk_size_bytes", "disk=blobs")
	wants(t, f, 1_800_000_000, "taskrt_clock_timestamp_seconds")
	wants(t, f, 2, "taskrt_tokens_ending")
	wants(t, f, 2_000_000_000, "taskrt_certificate_expiry_timestamp_seconds", "port=http")
	if _, ok := value(f, "taskrt_certificate_expiry_timestamp_seconds", "port=node"); ok {
		t.Error("a certificate that never ends has an end")
	}
	wants(t, f, 1, "taskrt_queue_tasks", "namespace=default", "behavior=aaa", "state=due")
	wants(t, f, 2, "taskrt_queue_tasks", "namespace=default", "behavior=aaa", "state=delayed")
	wants(t, f, 3, "taskrt_queue_tasks", "namespace=default", "behavior=aaa", "state=retrying")
	wants(t, f, 4, "taskrt_queue_tasks", "namespace=default", "behavior=aaa", "state=running")
	wants(t, f, 60, "taskrt_queue_oldest_seconds", "behavior=aaa")
	wants(t, f, 0, "taskrt_queue_oldest_seconds", "behavior=bbb")
	wants(t, f, 3, "taskrt_tasks", "status=FAILURE", "final=false")
	wants(t, f, 5, "taskrt_tasks", "status=SUCCESS", "final=false")
	wants(t, f, 4, "taskrt_tasks", "status=SUCCESS", "final=true")
	wants(t, f, 1, "taskrt_raft_is_leader")
	wants(t, f, 7, "taskrt_raft_term")
	wants(t, f, 91, "taskrt_raft_commit_index")
	wants(t, f, 90, "taskrt_raft_applied_index")
	wants(t, f, 2, "taskrt_raft_members", "voter=true")
	wants(t, f, 1, "taskrt_raft_members", "voter=false")
	wants(t, f, 89, "taskrt_raft_digests_equal_index")
	wants(t, f, 1, "taskrt_raft_digests_different_total")
	wants(t, f, 10, "taskrt_raft_disk_write_duration_seconds")
	if h := f["taskrt_raft_disk_write_duration_seconds"].GetMetric()[0].GetHistogram(); h.GetSampleSum() != 0.03 || len(h.Bucket) < 10 {
		t.Errorf("disk writes: %v", h)
	}
	wants(t, f, 0, "taskrt_disk_error", "disk=raft")
	wants(t, f, 1, "taskrt_disk_error", "disk=blobs")
	wants(t, f, 11, "taskrt_leases_ended_total")
	wants(t, f, 20, "taskrt_blob_files")
	wants(t, f, 3, "taskrt_worker_tasks", "state=held")
	wants(t, f, 1, "taskrt_worker_tasks", "state=executing")
	wants(t, f, 4, "taskrt_worker_breaches_total")
	wants(t, f, 2, "taskrt_modules", "state=compiling")
	wants(t, f, 8, "taskrt_code_cache_bytes")
	if help := f["taskrt_code_cache_bytes"].GetHelp(); !strings.Contains(help, "code") || !strings.Contains(help, "images") {
		t.Errorf("the cache has code and images (runtime.Stats); the help says %q", help)
	}

	follower := busy()
	follower.stats.Queues, follower.stats.Worker, follower.stats.Store.LastContact = nil, nil, -1
	follower.stats.LogDisk = diskspace.Space{}
	m := New(quiet(Config{}))
	m.WatchNode(follower)
	f = scrape(t, m)
	for _, name := range []string{"taskrt_queue_tasks", "taskrt_worker_connected", "taskrt_raft_last_contact_seconds"} {
		if f[name] != nil {
			t.Errorf("%s of a node that has none", name)
		}
	}
}

// TestBehaviorsAreBounded: however many behaviors there are, the number of series is bounded, and every attempt is counted.
func TestBehaviorsAreBounded(t *testing.T) {
	m := New(quiet(Config{Behaviors: 2}))
	n := busy()
	m.WatchNode(n)
	for i := range 5 {
		for range 3 {
			m.Ended(worker.Ended{Namespace: "default", Behavior: fmt.Sprint("b", i), Ran: true, Fuel: 10})
		}
	}
	f := scrape(t, m)
	if got := len(f["taskrt_attempt_fuel_total"].Metric); got != 3 {
		t.Errorf("%d behaviors, want 2 and the others", got)
	}
	wants(t, f, 30, "taskrt_attempt_fuel_total", "behavior=b0")
	wants(t, f, 30, "taskrt_attempt_fuel_total", "behavior=b1")
	wants(t, f, 90, "taskrt_attempt_fuel_total", "namespace="+Other, "behavior="+Other)
	// The third queue is counted as the rest.
	wants(t, f, 5, "taskrt_queue_tasks", "behavior="+Other, "state=due")
	wants(t, f, 3600, "taskrt_queue_oldest_seconds", "behavior="+Other)

	// A behavior that was removed vanishes, and makes room.
	n.gone["b0"] = true
	f = scrape(t, m)
	for name, family := range f {
		for _, metric := range family.Metric {
			if strings.Contains(metric.String(), `"b0"`) {
				t.Errorf("%s has a removed behavior", name)
			}
		}
	}
	m.Ended(worker.Ended{Namespace: "default", Behavior: "b4", Ran: true, Fuel: 10})
	wants(t, scrape(t, m), 10, "taskrt_attempt_fuel_total", "behavior=b4")
}

// TestScrapesBesideAttempts: attempts end while scrapes drop their behaviors.
func TestScrapesBesideAttempts(t *testing.T) {
	m := New(quiet(Config{Behaviors: 3}))
	n := busy()
	n.gone["b1"], n.gone["b2"] = true, true
	m.WatchNode(n)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 500 {
				m.Ended(worker.Ended{Namespace: "default", Behavior: fmt.Sprint("b", i), Ran: true})
				m.Request("/metrics", "GET", 200, 0, "")
			}
		})
	}
	for range 2 { // fewer than maxScrapes, so none is refused
		all.Go(func() {
			for range 20 {
				scrape(t, m)
			}
		})
	}
	all.Wait()
	wants(t, scrape(t, m), 2000, "taskrt_http_requests_total", "route=/metrics")
}

// TestIdleBehaviorsOfAWorkerVanish: a worker without a node does not hear of removals. It forgets a behavior that it has not
// run for an hour of scrapes.
func TestIdleBehaviorsOfAWorkerVanish(t *testing.T) {
	now := time.Unix(1000, 0)
	m := New(quiet(Config{Now: func() time.Time { return now }}))
	s := busy().stats
	m.WatchProcess(func() (worker.Status, runtime.Stats) { return *s.Worker, s.Engine })
	m.Ended(worker.Ended{Namespace: "default", Behavior: "old"})
	m.Ended(worker.Ended{Namespace: "default", Behavior: "new"})
	for range 13 {
		m.Ended(worker.Ended{Namespace: "default", Behavior: "new"})
		if _, ok := value(scrape(t, m), "taskrt_attempts_total", "behavior=old"); !ok {
			t.Fatalf("forgotten after %v", now.Sub(time.Unix(1000, 0)))
		}
		if now = now.Add(5 * time.Minute); now.Sub(time.Unix(1000, 0)) >= forgetAfter {
			break
		}
	}
	m.Ended(worker.Ended{Namespace: "default", Behavior: "new"})
	f := scrape(t, m)
	if _, ok := value(f, "taskrt_attempts_total", "behavior=old"); ok {
		t.Error("not forgotten after an hour")
	}
	if v, ok := value(f, "taskrt_attempts_total", "behavior=new", "outcome=success"); !ok || v < 13 {
		t.Errorf("what runs was forgotten: %v", v)
	}
	if f["taskrt_raft_term"] != nil || f["taskrt_worker_connected"] == nil || f["taskrt_guests"] == nil {
		t.Error("a worker exports what a worker has, and nothing of a node")
	}
}

// TestTableListsEveryMetric: a scrape of a leader that has done something of everything has the metrics of the table, and no others.
func TestTableListsEveryMetric(t *testing.T) {
	all := table.All()
	for name, f := range scrape(t, everything()) {
		if !strings.HasPrefix(name, "taskrt_") {
			continue // a metric of Go or of the process
		}
		m, ok := all[name]
		if !ok {
			t.Errorf("the table does not list %s", name)
			continue
		}
		delete(all, name)
		if kind := strings.ToLower(f.GetType().String()); kind != string(m.Kind) {
			t.Errorf("%s is a %s; the table says %s", name, kind, m.Kind)
		}
		if f.GetHelp() != m.Help() {
			t.Errorf("the help of %s is %q, not %q", name, f.GetHelp(), m.Help())
		}
		want := slices.Sorted(slices.Values(m.Labels))
		for _, series := range f.Metric {
			var labels []string
			for _, l := range series.Label {
				labels = append(labels, l.GetName())
			}
			slices.Sort(labels)
			if !slices.Equal(labels, want) {
				t.Errorf("%s has the labels %v; the table says %v", name, labels, want)
			}
		}
	}
	for name := range all {
		t.Errorf("the table lists %s, which is not exported", name)
	}
}

// TestNamesFollowTheConventions: names, types and help texts keep the rules of Prometheus.
func TestNamesFollowTheConventions(t *testing.T) {
	m := everything()
	rec := httptest.NewRecorder()
	m.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	problems, err := promlint.New(rec.Body).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "taskrt_") { // the others are the library's
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// TestEndedAllocatesNothing: an attempt allocates nothing for its metrics.
func TestEndedAllocatesNothing(t *testing.T) {
	m := New(quiet(Config{}))
	e := worker.Ended{Namespace: "default", Behavior: "echo", Ran: true, Wall: time.Millisecond, Busy: time.Millisecond, Fuel: 10, PeakMemory: 1 << 16}
	if n := testing.AllocsPerRun(100, func() { m.Ended(e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestExemplars: attempts and requests of a trace that is kept are the examples of their buckets, for whoever asks in OpenMetrics. What is no trace, or
// one that nobody keeps, is counted all the same (SPEC U2).
func TestExemplars(t *testing.T) {
	const kept, other = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
	m := New(quiet(Config{}))
	traces := []string{kept, other, "", "00-x", strings.Repeat("0", 60), kept[:54] + "\n"}
	for i, trace := range traces { // each in a bucket of its own
		took := []time.Duration{time.Millisecond, 4 * time.Millisecond, 20 * time.Millisecond, 90 * time.Millisecond, 2 * time.Second, 50 * time.Second}[i]
		text := trace
		if trace == kept {
			text += ";congo=t61" // as a record has it
		}
		m.Ended(worker.Ended{Namespace: "default", Behavior: "echo", Ran: true, Wall: took, Trace: text})
		m.Request("/v1/tasks", "POST", 201, took, trace)
	}
	rec := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	m.ServeHTTP(rec, r)
	text := rec.Body.String()
	if !strings.HasPrefix(rec.Header().Get("Content-Type"), "application/openmetrics-text") || !strings.HasSuffix(text, "# EOF\n") {
		t.Fatalf("%s: %.300s", rec.Header().Get("Content-Type"), text)
	}
	var examples []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, "trace_id") {
			name, _, _ := strings.Cut(line, "{")
			examples = append(examples, name)
			if !strings.Contains(line, `# {trace_id="0af7651916cd43dd8448eb211c80319c"} 0.001 `) {
				t.Errorf("the example is %s", line)
			}
		}
	}
	if !slices.Equal(examples, []string{"taskrt_attempt_duration_seconds_bucket", "taskrt_http_request_duration_seconds_bucket"}) {
		t.Errorf("examples of %v", examples)
	}
	f := scrape(t, m)
	wants(t, f, float64(len(traces)), "taskrt_attempt_duration_seconds")
	wants(t, f, float64(len(traces)), "taskrt_http_request_duration_seconds")
}

func BenchmarkEnded(b *testing.B) {
	m := New(quiet(Config{}))
	e := worker.Ended{Namespace: "default", Behavior: "echo", Ran: true, Wall: time.Millisecond, Busy: time.Millisecond, Fuel: 10, PeakMemory: 1 << 16}
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			m.Ended(e)
		}
	})
}

func BenchmarkScrape(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprint(n, "-behaviors"), func(b *testing.B) {
			m := New(quiet(Config{}))
			for i := range n {
				m.Ended(worker.Ended{Namespace: "default", Behavior: fmt.Sprint("behavior-", i), Ran: true})
			}
			b.ReportAllocs()
			for b.Loop() {
				scrape(b, m)
			}
		})
	}
}
