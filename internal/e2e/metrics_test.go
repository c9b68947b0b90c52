package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// ending is a task that ends in one way, and the outcome that metrics call it.
type ending struct {
	guest, behavior, policy, params string
	status, code                    string // of the task
	outcome                         string
	cancel                          bool
}

var endings = []ending{
	{"echo", "m.success", ``, "hello", "SUCCESS", "", "success", false},
	{"fails", "m.failure", ``, "1", "FAILURE", "fails", "failure", false},
	{"trap", "m.trap", ``, "", "FAILURE", "TRAP", "trap", false},
	{"runaway", "m.timeout", `,"run_timeout":"300ms"`, "loop", "FAILURE", "TIMEOUT", "timeout", false},
	{"runaway", "m.fuel", `,"limits":{"fuel":1000000}`, "loop", "FAILURE", "OUT_OF_FUEL", "out_of_fuel", false},
	{"grow", "m.memory", `,"limits":{"memory_bytes":4194304}`, "", "FAILURE", "OUT_OF_MEMORY", "out_of_memory", false},
	{"wait", "m.cancelled", `,"cancel_grace":"1m"`, "3600000", "FAILURE", "CANCELLED", "cancelled", true},
	{"runaway", "m.killed", `,"cancel_grace":"100ms"`, "recursion", "FAILURE", "CANCELLED", "killed", true},
}

// pushEndings uploads each guest with a manifest of its behaviors.
func pushEndings(c *cluster) {
	behaviors := map[string][]string{}
	for _, e := range endings {
		behaviors[e.guest] = append(behaviors[e.guest], fmt.Sprintf(`{"name":%q%s}`, e.behavior, e.policy))
	}
	for guest, list := range behaviors {
		c.pushAs(guest, `{"schema":1,"behaviors":[`+strings.Join(list, ",")+`]}`)
	}
}

type families map[string]*dto.MetricFamily

// scrape reads the metrics of a process as Prometheus does.
func (c *cluster) scrape(addr string) families {
	c.t.Helper()
	res, err := c.http.Get("http://" + addr + "/metrics")
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %s", addr, res.Status)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	f, err := parser.TextToMetricFamilies(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return f
}

// sum adds up the metrics that have these labels, written name=value; of a histogram the number of observations.
func (f families) sum(name string, labels ...string) (total float64) {
	for _, m := range f[name].GetMetric() {
		missing := func(want string) bool {
			return !slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetName()+"="+l.GetValue() == want })
		}
		if !slices.ContainsFunc(labels, missing) {
			total += m.Counter.GetValue() + m.Gauge.GetValue() + float64(m.Histogram.GetSampleCount())
		}
	}
	return total
}

// TestMetrics runs a task of each kind of end in the worker process of a cluster whose nodes run none, and reads from /metrics what it
// and the nodes say of them.
func TestMetrics(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--worker", "none")
	c.ownCode = true // it counts what is compiled
	addr := freeAddr(t)
	w := c.addWorker("w1", 4, "--metrics", addr)
	pushEndings(c)
	for _, e := range endings {
		id := "task-" + e.behavior
		c.submit(0, map[string]any{"behavior": e.behavior, "id": id, "params": e.params})
		if e.cancel {
			c.eventually("the guest of "+id+" runs", func() bool { return c.scrape(addr).sum("taskrt_worker_tasks", "state=executing") == 1 })
			c.cancel(id)
		}
		got := c.final(id)
		if got.Status != e.status || e.code != "" && (got.Error == nil || got.Error.Code != e.code) {
			t.Errorf("%s: %+v %+v", e.behavior, got, got.Error)
		}
	}

	// That an attempt is over comes another way than its report.
	c.eventually("every end is counted", func() bool { return c.scrape(addr).sum("taskrt_attempts_total") >= float64(len(endings)) })
	f := c.scrape(addr)
	for _, e := range endings {
		of := "behavior=" + e.behavior
		if one, all := f.sum("taskrt_attempts_total", of, "outcome="+e.outcome), f.sum("taskrt_attempts_total", of); one != 1 || all != 1 {
			t.Errorf("%s: %v attempts, %v of them %s", e.behavior, all, one, e.outcome)
		}
		if n := f.sum("taskrt_attempt_duration_seconds", of); n != 1 {
			t.Errorf("%s: %v durations", e.behavior, n)
		}
		if n := f.sum("taskrt_attempt_fuel_total", of); n <= 0 {
			t.Errorf("%s: %v units of fuel", e.behavior, n)
		}
		if n := f.sum("taskrt_instances_total", of); n != 1 {
			t.Errorf("%s: %v instances", e.behavior, n)
		}
	}
	if n := f.sum("taskrt_attempt_fuel_total", "behavior=m.fuel"); n != 1_000_000 {
		t.Errorf("a guest that ran out of fuel used %v units", n)
	}
	if busy := f.sum("taskrt_attempt_cpu_seconds_total", "behavior=m.timeout"); busy <= 0 || busy > 60 {
		t.Errorf("a guest that computed for 300 ms used %v s of CPU", busy)
	}
	guests := map[string]bool{}
	for _, e := range endings {
		guests[e.guest] = true
	}
	if n := f.sum("taskrt_module_compile_duration_seconds", "result=compiled"); n != float64(len(guests)) {
		t.Errorf("%v modules were compiled, want %d", n, len(guests))
	}
	if n := f.sum("taskrt_worker_slots"); n != 4 {
		t.Errorf("the worker has %v slots", n)
	}
	if f.sum("taskrt_worker_connected") != 1 || f["go_goroutines"] == nil || f["process_cpu_seconds_total"] == nil {
		t.Error("worker, Go or process missing")
	}
	c.scrapeNodes()
	c.observed(addr, c.nodes[0].http, c.nodes[1].http, c.nodes[2].http)

	// A worker that starts again is ready without compiling.
	w.terminate()
	w.start()
	c.eventually("the worker has its modules", func() bool {
		res, err := c.http.Get("http://" + addr + "/metrics")
		if err != nil {
			return false
		}
		res.Body.Close()
		return c.scrape(addr).sum("taskrt_modules", "state=ready") == float64(len(guests))
	})
	f = c.scrape(addr)
	if made, cached := f.sum("taskrt_module_compile_duration_seconds", "result=compiled"), f.sum("taskrt_module_compile_duration_seconds", "result=cached"); made != 0 || cached != float64(len(guests)) {
		t.Errorf("after a restart: %v compiled, %v from the cache", made, cached)
	}
}

// scrapeNodes checks what the nodes say after the tasks of endings.
func (c *cluster) scrapeNodes() {
	c.t.Helper()
	c.submit(0, map[string]any{"behavior": "m.success", "id": "later", "not_before": "2100-01-01T00:00:00Z"})
	leaders, delayed := 0.0, 0.0
	for _, p := range c.nodes {
		f := c.scrape(p.http)
		leaders += f.sum("taskrt_raft_is_leader")
		delayed += f.sum("taskrt_queue_tasks", "behavior=m.success", "state=delayed")
		if f.sum("taskrt_attempts_total", "behavior=m.success") != 0 {
			c.t.Errorf("%s counts attempts of another process", p.id)
		}
		if f.sum("taskrt_raft_term") < 1 || f.sum("taskrt_raft_disk_write_duration_seconds") < 1 || f.sum("taskrt_raft_members") != 3 || f.sum("taskrt_sessions") < 1 {
			c.t.Errorf("%s: raft or sessions", p.id)
		}
		for _, disk := range []string{"disk=raft", "disk=blobs"} {
			if free, size := f.sum("taskrt_disk_free_bytes", disk), f.sum("taskrt_disk_size_bytes", disk); free <= 0 || free > size {
				c.t.Errorf("%s: %v of %v bytes are free: %s", p.id, free, size, disk)
			}
		}
		if at := f.sum("taskrt_clock_timestamp_seconds"); at < 1e9 {
			c.t.Errorf("%s has the time %v", p.id, at)
		}
		if f.sum("taskrt_http_requests_total", "route=/readyz", "code=200") < 1 {
			c.t.Errorf("%s has counted no request", p.id)
		}
	}
	if leaders != 1 || delayed != 1 {
		c.t.Errorf("%v leaders, %v delayed tasks", leaders, delayed)
	}
}
