package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/taskrt/taskrt/task/tracing"
	"github.com/taskrt/taskrt/worker"
)

// Other is the namespace and the name under which the behaviors beyond Config.Behaviors are counted together. No behavior can have
// this name.
const Other = "(other)"

// forgetAfter is how long a worker without a node shows a behavior that it no longer runs.
const forgetAfter = time.Hour

// name is a behavior.
type name struct{ namespace, behavior string }

// behaviors holds the metrics that each behavior has.
type behaviors struct {
	limit int
	now   func() time.Time

	attempts  *prometheus.CounterVec
	duration  *prometheus.HistogramVec
	cpu, fuel *prometheus.CounterVec
	memory    *prometheus.HistogramVec
	instances *prometheus.CounterVec
	ready     *prometheus.GaugeVec

	pruning sync.Mutex // one scrape at a time
	mu      sync.RWMutex
	sets    map[name]*set
	rest    *set // of Other; nil: none yet
}

// set holds the metrics of one behavior. They are looked up once, so an attempt costs no search for labels and allocates nothing.
type set struct {
	attempts         [worker.Ends]prometheus.Counter
	duration, memory prometheus.Observer
	cpu, fuel        prometheus.Counter
	reused, fresh    prometheus.Counter
	ready            prometheus.Gauge

	used  atomic.Bool // since the last scrape
	since time.Time   // when it was found unused; belongs to prune
}

func newBehaviors(limit int, now func() time.Time) *behaviors {
	return &behaviors{
		limit: limit, now: now, sets: map[name]*set{},
		attempts:  counterVec("taskrt_attempts_total"),
		duration:  histogramVec("taskrt_attempt_duration_seconds", .001, .005, .025, .1, .5, 1, 5, 30, 60, 300, 1800, 3600),
		cpu:       counterVec("taskrt_attempt_cpu_seconds_total"),
		fuel:      counterVec("taskrt_attempt_fuel_total"),
		memory:    histogramVec("taskrt_attempt_peak_memory_bytes", 1<<18, 1<<20, 1<<22, 1<<24, 1<<26, 1<<28, 1<<30),
		instances: counterVec("taskrt_instances_total"),
		ready:     gaugeVec("taskrt_behavior_ready_seconds"),
	}
}

func (b *behaviors) collectors() []prometheus.Collector {
	return []prometheus.Collector{b.attempts, b.duration, b.cpu, b.fuel, b.memory, b.instances, b.ready}
}

// Ended counts an assignment that is over. It is the OnEnd of worker.Config.
func (m *Metrics) Ended(e worker.Ended) {
	s := m.behaviors.of(name{e.Namespace, e.Behavior})
	s.attempts[e.End].Inc()
	if !e.Ran {
		return
	}
	observe(s.duration, e.Wall, tracing.Parent(e.Trace))
	s.memory.Observe(float64(e.PeakMemory))
	s.cpu.Add(max(0, e.Busy.Seconds()))
	s.fuel.Add(float64(max(0, e.Fuel)))
	if e.Reused {
		s.reused.Inc()
	} else {
		s.fresh.Inc()
	}
	s.ready.Set(e.Ready.Seconds())
}

// of returns the metrics of a behavior, or the metrics of Other.
func (b *behaviors) of(n name) *set {
	b.mu.RLock()
	s := b.sets[n]
	if s == nil && len(b.sets) >= b.limit {
		s = b.rest
	}
	b.mu.RUnlock()
	if s == nil {
		s = b.add(n)
	}
	if !s.used.Load() { // a write by every attempt would have the CPUs pass it around
		s.used.Store(true)
	}
	return s
}

func (b *behaviors) add(n name) *set {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.sets[n]; s != nil {
		return s
	}
	if len(b.sets) < b.limit {
		b.sets[n] = b.make(n)
		return b.sets[n]
	}
	if b.rest == nil {
		b.rest = b.make(name{Other, Other})
	}
	return b.rest
}

func (b *behaviors) make(n name) *set {
	s := &set{
		duration: b.duration.WithLabelValues(n.namespace, n.behavior), memory: b.memory.WithLabelValues(n.namespace, n.behavior),
		cpu: b.cpu.WithLabelValues(n.namespace, n.behavior), fuel: b.fuel.WithLabelValues(n.namespace, n.behavior),
		reused: b.instances.WithLabelValues(n.namespace, n.behavior, "pooled"), fresh: b.instances.WithLabelValues(n.namespace, n.behavior, "new"),
		ready: b.ready.WithLabelValues(n.namespace, n.behavior),
	}
	for i := range s.attempts {
		s.attempts[i] = b.attempts.WithLabelValues(n.namespace, n.behavior, worker.End(i).String())
	}
	return s
}

// prune drops the behaviors that the function has does not know. If has is nil, it drops the behaviors of which nothing ran for
// forgetAfter.
func (b *behaviors) prune(has func(namespace, behavior string) bool) {
	b.pruning.Lock()
	defer b.pruning.Unlock()
	for _, n := range b.gone(has) {
		b.drop(n)
	}
}

func (b *behaviors) gone(has func(namespace, behavior string) bool) []name {
	b.mu.RLock()
	all := maps.Clone(b.sets)
	b.mu.RUnlock()
	now := b.now()
	var gone []name
	for n, s := range all {
		switch {
		case has != nil:
			if !has(n.namespace, n.behavior) { // asked without the lock: it takes others
				gone = append(gone, n)
			}
		case s.idle(now):
			gone = append(gone, n)
		}
	}
	return gone
}

// idle notes whether the set was used since the last scrape, and reports whether it has been unused for forgetAfter.
func (s *set) idle(now time.Time) bool {
	if s.used.Swap(false) || s.since.IsZero() {
		s.since = now
	}
	return now.Sub(s.since) >= forgetAfter
}

// drop forgets a behavior. An attempt that ends meanwhile may not be counted.
func (b *behaviors) drop(n name) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sets, n)
	labels := prometheus.Labels{"namespace": n.namespace, "behavior": n.behavior}
	b.attempts.DeletePartialMatch(labels)
	b.duration.DeletePartialMatch(labels)
	b.cpu.DeletePartialMatch(labels)
	b.fuel.DeletePartialMatch(labels)
	b.memory.DeletePartialMatch(labels)
	b.instances.DeletePartialMatch(labels)
	b.ready.DeletePartialMatch(labels)
}
