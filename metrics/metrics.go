package metrics

import (
	"log/slog"
	"net/http"
	goruntime "runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task/tracing"
)

// Config of Metrics. The zero value works.
type Config struct {
	// Behaviors bounds how many behaviors have metrics of their own, so that many pushed behaviors cannot fill the memory of the node and of
	// Prometheus. The behaviors beyond it are counted together as Other. Default 1,000.
	Behaviors int
	Version   string       // of this program
	Revision  string       // of the source that it was built from
	Logger    *slog.Logger // default slog.Default
	Now       func() time.Time
}

// Metrics holds the metrics of one node or worker. All methods may be called from many goroutines.
type Metrics struct {
	registry  *prometheus.Registry
	behaviors *behaviors
	compiles  [3]prometheus.Observer
	requests  *prometheus.CounterVec
	problems  *prometheus.CounterVec
	took      *prometheus.HistogramVec
	handler   http.Handler
	has       func(namespace, behavior string) bool // nil: nobody knows
	limit     int
}

// These bound a scrape, so that nobody keeps a node busy by asking.
const (
	maxScrapes    = 4
	scrapeTimeout = 10 * time.Second
)

// New returns the metrics of a process. At first these are only the metrics of Go and of the process.
func New(c Config) *Metrics {
	if c.Behaviors == 0 {
		c.Behaviors = 1000
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	m := &Metrics{registry: prometheus.NewRegistry(), behaviors: newBehaviors(c.Behaviors, c.Now), limit: c.Behaviors}
	compile := histogramVec("taskrt_module_compile_duration_seconds", .001, .005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30)
	for i, result := range []string{"compiled", "cached", "failed"} {
		m.compiles[i] = compile.WithLabelValues(result)
	}
	m.requests, m.problems = counterVec("taskrt_http_requests_total"), counterVec("taskrt_http_problems_total")
	m.took = histogramVec("taskrt_http_request_duration_seconds", .001, .0025, .01, .025, .1, .25, 1, 2.5, 10, 60)
	build := gaugeVec("taskrt_build_info")
	build.WithLabelValues(c.Version, c.Revision, goruntime.Version()).Set(1)
	m.registry.MustRegister(build, compile, m.requests, m.problems, m.took,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(m.behaviors.collectors()...)
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(c.Logger.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes, Timeout: scrapeTimeout, EnableOpenMetrics: true, // exemplars are in no other format
	})
	return m
}

// ServeHTTP answers a scrape.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.behaviors.prune(m.has)
	m.handler.ServeHTTP(w, r)
}

// Compiled counts a compilation. It is the OnCompile of runtime.Config.
func (m *Metrics) Compiled(c runtime.Compiled) {
	result := 0
	switch {
	case c.Err != nil:
		result = 2
	case c.Cached:
		result = 1
	}
	m.compiles[result].Observe(c.Took.Seconds())
}

// Request counts a request. It is the OnRequest of server.Config.
func (m *Metrics) Request(route, method string, status int, took time.Duration, trace string) {
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	observe(m.took.WithLabelValues(route), took, trace)
}

// Problem counts an error that was answered. It is the OnProblem of server.Config. code is a code of this program, or of a later program that leads.
func (m *Metrics) Problem(code string) { m.problems.WithLabelValues(code).Inc() }

// observe adds a time to a histogram. If a trace knows more of it, whose spans somebody keeps, it is the example of its bucket (SPEC U2). Without
// one nothing is allocated. trace comes from outside: it may be anything.
func observe(o prometheus.Observer, took time.Duration, trace string) {
	if t := tracing.Parse(trace); tracing.Sampled(t) {
		o.(prometheus.ExemplarObserver).ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": tracing.ID(t)}) //nolint:forcetypeassert // a histogram
		return
	}
	o.Observe(took.Seconds())
}
