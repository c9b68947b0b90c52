// Command jetstream measures taskrt and NATS JetStream in turn, on one machine in one run: see README.md.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/taskrt/taskrt/internal/bench"
)

// settings of a run.
type settings struct {
	taskrt, nats   string // binaries
	presets        []string
	rounds         int
	length, warmup time.Duration
	callers        []int
	payload        []byte
	batch, tasks   int
	flags          []string // of taskrt's nodes
}

// row is the result of both systems. It has the values of each round.
type row struct {
	Name      string `json:"name"`
	Taskrt    side   `json:"taskrt"`
	JetStream side   `json:"jetstream"`
}

type side struct {
	Rate []float64 `json:"per_second"`
	P50  []float64 `json:"p50_ms,omitempty"`
	CPU  []float64 `json:"cpu_us_per_task"`
}

// figures of one round.
type figures struct {
	rate, p50 float64 // p50 in ms; 0: there is none
	cpu       float64 // of nodes and callers, in microseconds per task
}

func (s *side) add(f figures) {
	s.Rate, s.CPU = append(s.Rate, f.rate), append(s.CPU, f.cpu)
	if f.p50 > 0 {
		s.P50 = append(s.P50, f.p50)
	}
}

// ratio is the median of the ratios of all rounds: what disturbs a round disturbs both systems.
func (r *row) ratio() float64 {
	list := make([]float64, len(r.Taskrt.Rate))
	for i := range list {
		list[i] = r.Taskrt.Rate[i] / r.JetStream.Rate[i]
	}
	return bench.Median(list)
}

// comparison collects rows, by name, in the order of their first figure.
type comparison struct{ rows []*row }

func (c *comparison) row(name string) *row {
	for _, r := range c.rows {
		if r.Name == name {
			return r
		}
	}
	c.rows = append(c.rows, &row{Name: name})
	return c.rows[len(c.rows)-1]
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	c, asJSON, err := parse(args, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "jetstream:", err)
		return 2
	}
	result, err := compare(ctx, c, stderr)
	if err == nil {
		err = result.print(stdout, c, asJSON)
	}
	if err != nil {
		fmt.Fprintln(stderr, "jetstream:", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (c settings, asJSON bool, err error) {
	f := flag.NewFlagSet("jetstream", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&c.taskrt, "taskrt", "", "taskrt's binary")
	f.StringVar(&c.nats, "nats", "", "nats-server's binary")
	f.IntVar(&c.rounds, "rounds", 3, "how often each is measured, in turn; figures are medians")
	f.DurationVar(&c.length, "for", 4*time.Second, "how long a row measures")
	f.DurationVar(&c.warmup, "warmup", time.Second, "how long a row goes on before it measures")
	f.IntVar(&c.tasks, "tasks", 50_000, "of drain")
	f.IntVar(&c.batch, "batch", 1000, "of bulk")
	presets := f.String("presets", strings.Join(allPresets, ","), "which are measured")
	flags := f.String("flags", "", "more flags of taskrt's nodes, separated by spaces")
	f.BoolVar(&asJSON, "json", false, "print every round as JSON")
	if err := f.Parse(args); err != nil {
		return c, false, err
	}
	c.presets, c.flags = strings.Split(*presets, ","), strings.Fields(*flags)
	c.callers = []int{1, 16, 256}
	c.payload = bytes.Repeat([]byte("x"), 256)
	switch {
	case f.NArg() > 0:
		return c, false, fmt.Errorf("%q is no flag", f.Arg(0))
	case c.taskrt == "" || c.nats == "":
		return c, false, fmt.Errorf("-taskrt and -nats must name the binaries; make bench-jetstream builds them")
	case c.rounds < 1 || c.rounds > 100 || c.length < 100*time.Millisecond || c.length > time.Hour || c.warmup < 0 || c.warmup > time.Hour:
		return c, false, fmt.Errorf("-rounds must be 1 to 100, -for 100ms to 1h, -warmup at most 1h")
	case c.batch < 1 || c.batch > 4000 || c.tasks < c.batch || c.tasks > 10_000_000 || c.tasks%c.batch != 0:
		return c, false, fmt.Errorf("-batch must be 1 to 4000, -tasks a multiple of that, at most 10000000")
	}
	for _, p := range c.presets {
		if !slices.Contains(allPresets, p) {
			return c, false, fmt.Errorf("-presets: there is no %q in %s", p, strings.Join(allPresets, ","))
		}
	}
	return c, asJSON, nil
}

func (c *comparison) print(w io.Writer, s settings, asJSON bool) error {
	if asJSON {
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(map[string]any{"nats_client": nats.Version, "rounds": s.rounds, "for": s.length.String(), "flags": s.flags, "rows": c.rows})
	}
	fmt.Fprintf(w, "taskrt and JetStream, 3 processes each, R3, every write synced, %d bytes, %d rounds in turn; medians, ratio of each round\n", len(s.payload), s.rounds)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\ttaskrt 1/s\tJetStream 1/s\tratio\ttaskrt p50 ms\tJetStream p50 ms\ttaskrt CPU us\tJetStream CPU us\t")
	for _, r := range c.rows {
		fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%.2f\t%s\t%s\t%.0f\t%.0f\t\n", r.Name, bench.Median(r.Taskrt.Rate), bench.Median(r.JetStream.Rate), r.ratio(), p50(r.Taskrt), p50(r.JetStream),
			bench.Median(r.Taskrt.CPU), bench.Median(r.JetStream.CPU))
	}
	return table.Flush()
}

func p50(s side) string {
	if len(s.P50) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", bench.Median(s.P50))
}
