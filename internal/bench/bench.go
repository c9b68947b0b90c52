// Package bench measures a cluster from outside. DESIGN.md says how.
package bench

import (
	"bytes"
	"context"
	"crypto/tls"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
)

// echo answers with its params (testdata/wasm/echo.wat).
//
//go:embed echo.wasm
var echo []byte

// behavior is the behavior that is measured.
const behavior = "bench.echo"

// Config configures a run. Every preset reads the fields that concern it.
type Config struct {
	URLs      []string // of a running cluster; none: the bench starts one
	Binary    string   // what the bench starts then, three times
	Slots     int      // tasks that each of its nodes runs at the same time; 0: its default
	Callers   []int    // numbers of callers, one row each
	Workers   []int    // external: numbers of workers, two rows each
	Payload   int      // bytes of params
	Pipelined bool     // the callers of a node share a client that puts their submits together
	HTTP      bool     // no request goes over a stream
	For       time.Duration
	Warmup    time.Duration
	Runs      int
	Batch     int       // tasks of a batch
	Tasks     int       // drain, memory, restart, cold, scale, external: how many tasks are queued
	Finished  bool      // memory: the tasks are done before it is measured
	Drained   int       // scale: how many of them run
	Rates     []float64 // latency: per second, one row each
	Factor    float64   // overload: how many times as much is offered as the cluster takes
	Version   string    // told in the report
	Flags     []string  // further flags for the nodes that are started

	TLS    *tls.Config // of a running cluster with https; nil: the system's authorities
	Secure bool        // the nodes that are started have a cluster secret
	// Token is the token for a running cluster, as client.Config has it. nil: the cluster is open.
	Token func() (string, error)

	LogStore string // --log-store of the nodes that are started; "": their default
	Worker   string // --worker of them; "": their default

	// Progress, if set, is told how far the run is, from one goroutine.
	Progress func(done, total int, what string)
}

// Report is the result of a preset.
type Report struct {
	Preset  string    `json:"preset"`
	Version string    `json:"version"`
	Go      string    `json:"go"`
	OS      string    `json:"os"`
	CPUs    int       `json:"cpus"`
	Nodes   int       `json:"nodes"`
	Started time.Time `json:"started"`
	Payload int       `json:"payload_bytes"`
	Runs    int       `json:"runs"`
	Rows    []Row     `json:"rows"`
}

// Row is one line of a report: a preset at one size.
type Row struct {
	Name    string   `json:"name"`
	Figures []Figure `json:"figures"`
}

// Figure is a number of every run of a row, and their median.
type Figure struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"` // 1/s, us, ms, s, MB, bytes, or "" for a count
	Median float64   `json:"median"`
	Runs   []float64 `json:"runs"`
}

// Find returns a figure of a row, by their names; nil if there is none.
func (r *Report) Find(row, figure string) *Figure {
	for i := range r.Rows {
		if r.Rows[i].Name != row {
			continue
		}
		for k := range r.Rows[i].Figures {
			if f := &r.Rows[i].Figures[k]; f.Name == figure {
				return f
			}
		}
	}
	return nil
}

// value is a figure of one run.
type value struct {
	name, unit string
	v          float64
}

// row makes a Row of the values of several runs. All runs have the same figures.
func row(name string, runs [][]value) Row {
	r := Row{Name: name}
	for k, first := range runs[0] {
		f := Figure{Name: first.name, Unit: first.unit}
		for _, run := range runs {
			f.Runs = append(f.Runs, run[k].v)
		}
		f.Median = Median(f.Runs)
		r.Figures = append(r.Figures, f)
	}
	return r
}

// Median returns the median of a list that is not empty.
func Median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Presets are the names that Run knows, in the order of the help.
var Presets = []string{"submit", "bulk", "e2e", "drain", "external", "latency", "failover", "workers", "memory", "restart", "cold", "scale", "idle", "overload"}

// Run measures one preset.
func Run(ctx context.Context, preset string, c Config) (*Report, error) {
	measure := map[string]func(context.Context, *bed) error{
		"submit": submitPreset, "bulk": bulkPreset, "e2e": e2ePreset, "drain": drainPreset, "latency": latencyPreset,
		"failover": failoverPreset, "memory": memoryPreset, "overload": overloadPreset, "workers": workersPreset, "restart": restartPreset,
		"cold":  coldPreset,
		"scale": scalePreset, "idle": idlePreset, "external": externalPreset,
	}[preset]
	if measure == nil {
		return nil, fmt.Errorf("there is no preset %q", preset)
	}
	b, err := open(ctx, preset, c)
	if err != nil {
		return nil, err
	}
	err = measure(ctx, b)
	if err != nil && ctx.Err() == nil && b.cluster != nil { // what the nodes say of it goes with their directory
		for _, n := range b.cluster.Nodes {
			err = fmt.Errorf("%w\nthe end of the log of %s:\n%s", err, n.ID, n.LastLines(logLines))
		}
	}
	return &b.report, errors.Join(err, b.close())
}

const logLines = 10 // of each node, when a measurement fails

// bed is a cluster to measure, ready. The behavior is there, and is paused unless a preset resumes it.
type bed struct {
	Config

	cluster   *cluster // nil: it is somebody else's
	client    *client.Client
	namespace string
	behavior  string // of the tasks
	params    json.RawMessage
	report    Report
	steps     int
	step      int
}

// open starts a cluster, or makes a namespace in a running one.
func open(ctx context.Context, preset string, c Config) (*bed, error) {
	b := &bed{Config: c, report: Report{
		Preset: preset, Version: c.Version, Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
		Started: time.Now().UTC().Truncate(time.Second), Payload: c.Payload, Runs: c.Runs,
	}}
	b.params = Text(c.Payload)
	var err error
	b.namespace, b.behavior = api.DefaultNamespace, behavior
	if len(c.URLs) == 0 {
		b.tell("starting three nodes")
		if b.cluster, err = startCluster(ctx, c, preset == "latency"); err != nil {
			return nil, err
		}
		b.URLs, b.TLS, b.Token = b.cluster.URLs(), b.cluster.tls, b.cluster.token
	}
	if err = b.prepare(ctx); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// Text is a JSON string of size bytes, its quotes included.
func Text(size int) json.RawMessage {
	raw := make([]byte, max(size, 2))
	for i := range raw {
		raw[i] = byte('a' + i%26)
	}
	raw[0], raw[len(raw)-1] = '"', '"'
	return raw
}

func (b *bed) prepare(ctx context.Context) error {
	var err error
	if b.client, err = b.connect(0, 1); err != nil {
		return err
	}
	if b.cluster == nil {
		name := fmt.Sprintf("bench-%x", time.Now().UnixNano())
		if _, err := b.client.CreateNamespace(ctx, api.NamespaceSettings{Name: name}); err != nil {
			return fmt.Errorf("make a namespace to measure in: %w", err)
		}
		b.namespace = name
	}
	push := api.PushRequest{
		Namespace: b.namespace, Wasm: bytes.NewReader(echo), Size: int64(len(echo)), Manifest: json.RawMessage(`{"schema":1,"behaviors":[{"name":"` + behavior + `"}]}`),
	}
	if _, err := b.client.Push(ctx, push); err != nil {
		return fmt.Errorf("push the guest: %w", err)
	}
	state, err := b.client.Cluster(ctx)
	if err != nil {
		return err
	}
	b.report.Nodes = len(state.Nodes)
	return b.pause(ctx, true)
}

func (b *bed) pause(ctx context.Context, paused bool) error {
	_, err := b.client.PauseBehavior(ctx, b.namespace, behavior, paused)
	return err
}

// connect returns a client with room for callers callers. It asks the given node first, because callers are spread over the nodes.
func (b *bed) connect(node, callers int) (*client.Client, error) {
	urls := slices.Concat(b.URLs[node%len(b.URLs):], b.URLs[:node%len(b.URLs)])
	config := client.Config{URLs: urls, Transport: transport(callers, b.TLS), Pipelined: b.Pipelined, Token: b.Token}
	if b.HTTP {
		config.Stream = client.StreamNever
	}
	return client.New(config)
}

// close ends what open began. In a cluster of somebody else, the namespace is left to be purged.
func (b *bed) close() error {
	if b.client != nil {
		defer b.client.Close()
	}
	if b.cluster != nil {
		return b.cluster.stop()
	}
	if b.namespace == api.DefaultNamespace {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, status := range []string{"INACTIVE", "PURGING"} {
		if _, err := b.client.SetNamespaceStatus(ctx, b.namespace, status); err != nil {
			return fmt.Errorf("the namespace %s could not be purged: %w", b.namespace, err)
		}
	}
	return nil
}

// tell tells how far the run is.
func (b *bed) tell(what string) {
	if b.Progress != nil {
		b.Progress(b.step, max(b.steps, 1), what)
	}
}

// runs measures one row: it calls once Runs times, and adds to each what the logs wrote meanwhile.
func (b *bed) runs(ctx context.Context, name string, once func(context.Context) ([]value, error)) error {
	var all [][]value
	for i := range b.Runs {
		b.tell(fmt.Sprintf("%s, run %d of %d", name, i+1, b.Runs))
		before, begun := b.writes(ctx), time.Now()
		values, err := once(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		writes, took := b.writes(ctx)-before, time.Since(begun).Seconds()
		all = append(all, append(values, value{"log fsyncs", "1/s", float64(max(0, writes)) / took}))
		b.step++
	}
	b.report.Rows = append(b.report.Rows, row(name, all))
	return nil
}

// plural makes names of rows.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprint(n, " ", what, "s")
}

// Ratio returns a figure as a part of a former figure; false if there is none, or it was zero.
func Ratio(now, former *Figure) (float64, bool) {
	if now == nil || former == nil || former.Median == 0 || now.Unit != former.Unit {
		return 0, false
	}
	return now.Median / former.Median, true
}
