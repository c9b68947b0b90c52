// Command run compares what package scale predicts with what clusters do in many settings on this machine, and measures the costs that scale predicts
// with. It reads Linux's /proc; slow networks and disks need root, ip, tc and strace.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/taskrt/taskrt/internal/scale"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const usage = `usage: run check|calibrate -taskrt BINARY [-for 3s] [-only WORDS] | run predict [flags]`

func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("%s", usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	binary := flags.String("taskrt", "bin/taskrt", "the binary that is measured")
	length := flags.Duration("for", 3*time.Second, "how long a load is measured")
	only := flags.String("only", "", "part of the names of the settings to measure")
	out := flags.String("out", "internal/scale/costs.json", "where calibrate writes")
	speed := flags.Float64("speed", 1, "of a core, as a part of that on which costs were measured")
	submits := flags.Float64("serial-submit", 4, "microseconds of the state machine for a submit: `go test -bench Apply ./task`, with decoding")
	runs := flags.Float64("serial-run", 9, "the same for a task that runs: Assign and Finish, planning, decoding")
	keep := flags.String("keep", "", "a file that keeps what calibrate measured, for the next time")
	switch args[0] {
	case "predict":
		return predict(flags, args[1:], stdout)
	case "check", "calibrate":
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s", usage)
	}
	r := &runner{binary: *binary, length: *length, only: *only, stderr: stderr, speed: *speed, serial: [2]float64{*submits, *runs}}
	if args[0] == "calibrate" {
		return r.calibrate(ctx, *out, *keep)
	}
	return r.check(ctx, stdout)
}

// runner measures settings, one after the other.
type runner struct {
	binary string
	length time.Duration
	only   string
	stderr io.Writer
	speed  float64 // of this machine's cores, as a part of that on which the costs were measured

	// serial is the microseconds of the state machine's goroutine for a task that is submitted, and that runs.
	serial [2]float64
}

// each measures the loads of a setting, and tells of each. A load that fails keeps no other one from being measured.
func (r *runner) each(ctx context.Context, s setting, tell func(m *measured) error) error {
	if !strings.Contains(s.name, r.only) {
		return nil
	}
	s.binary = r.binary
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Minute, fmt.Errorf("%s took longer than ten minutes", s.name))
	defer cancel()
	l, err := open(ctx, s)
	defer func() { _ = l.close() }()
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	var errs []error
	for _, w := range s.loads {
		write, err := l.writeTime()
		if err != nil {
			return err
		}
		m, err := l.load(ctx, w, r.length)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
			continue
		}
		m.Setting, m.Write = s.name, write
		fmt.Fprintf(r.stderr, "%s: %s: %.0f/s, p50 %v, write %v, CPU %s, groups a task %.4f, sent %.0f, stored %.0f, free cores %s\n",
			s.name, label(w), m.Rate, m.P50, write.Round(10*time.Microsecond), parts(m.CPU), m.Groups, m.Sent, m.Stored, parts(m.Free))
		if err := tell(m); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// check prints what was predicted beside what was measured, as a table for docs/scale.md.
func (r *runner) check(ctx context.Context, stdout io.Writer) error {
	costs, err := scale.Measured()
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "Measured on %s, %d CPUs; costs of %s.\n\n", time.Now().UTC().Format("2 January 2006"), runtime.NumCPU(), costs.Measured)
	fmt.Fprintln(stdout, "| setting | load | free cores; durable write | predicted: a second; p50 | measured | off by | CPU of a task: predicted; measured | limit |")
	fmt.Fprintln(stdout, "|---|---|---|---|---|---|---|---|")
	var errs []error
	for _, s := range checks() {
		errs = append(errs, r.each(ctx, s, func(m *measured) error {
			p, err := costs.Predict(s.cluster(m.Write, m.Free, r.speed), m.Work)
			if err == nil {
				compare(stdout, s, m, p)
			}
			return err
		}))
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

func compare(stdout io.Writer, s setting, m *measured, p scale.Prediction) {
	ms := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return fmt.Sprintf("; %.3g ms", float64(d.Microseconds())/1000)
	}
	free := 0.0
	for _, cores := range m.Free {
		free += cores
	}
	fmt.Fprintf(stdout, "| %s | %s | %.1f; %.2g ms | %.0f%s | %.0f%s | %+.0f %% | %.0f; %.0f µs | %s |\n", s.name, label(m.Work), free, float64(m.Write.Microseconds())/1000,
		p.Rate, ms(p.P50), m.Rate, ms(m.P50), 100*(p.Rate/m.Rate-1), p.CPU*1e6, m.total(), p.Limit)
}

// calibrate measures what things cost here, and writes it down. Measurements from before, which are kept in the file keep, count, too: of equal
// loads, the one that used the least CPU time.
func (r *runner) calibrate(ctx context.Context, out, keep string) error {
	k := &scale.Costs{Measured: fmt.Sprintf("%s, %s/%s, %d CPUs", time.Now().UTC().Format("2 January 2006"), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())}
	var list []*measured
	if text, err := os.ReadFile(keep); err == nil {
		if err := json.Unmarshal(text, &list); err != nil {
			return fmt.Errorf("%s: %w", keep, err)
		}
	}
	for _, s := range calibration() {
		if err := r.each(ctx, s, func(m *measured) error { list = append(list, m); return nil }); err != nil {
			return err
		}
	}
	list = least(list)
	if keep != "" {
		if err := writeJSON(keep, list); err != nil {
			return err
		}
	}
	if err := r.fit(k, list); err != nil {
		return err
	}
	return writeJSON(out, k)
}

// fit fills in k what list explains. Only the loads over streams have batches. The cost of a task is taken from them for loads by HTTP, and the cost
// of a request also for loads that run.
func (r *runner) fit(k *scale.Costs, list []*measured) error {
	pick := func(http bool, kind scale.Kind) (some []*measured) {
		for _, m := range list {
			if m.Work.Kind == kind && m.Work.HTTP == http {
				some = append(some, m)
			}
		}
		return some
	}
	k.Stream = rolesOf(pick(false, scale.Submit), nil)
	k.HTTP = rolesOf(pick(true, scale.Submit), holding(k.Stream, byTask, byKiB))
	k.E2E = rolesOf(pick(false, scale.Run), holding(k.Stream, byRequest))
	k.Drain = rolesOf(pick(false, scale.Drain), held{guests: {byEntry: k.E2E.Guests.Entry}})
	k.Stream.Serial, k.HTTP.Serial, k.E2E.Serial, k.Drain.Serial = r.serial[0], r.serial[0], r.serial[0]+r.serial[1], r.serial[1]
	for _, m := range list {
		if m.Sent == 0 {
			s := setting{nodeCount: m.Nodes}
			k.Rows = append(k.Rows, scale.Row{Cluster: s.cluster(m.Write, m.Free, 1), Work: m.Work, Rate: round(m.Rate), P50: m.P50, CPU: round(m.total())})
		}
	}
	return shared(k, list)
}

func writeJSON(file string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o600)
}

// shared finds the part of CPU time for which a lone caller waits: that which predicts its time best.
func shared(k *scale.Costs, list []*measured) error {
	best, share := -1.0, 0.0
	for k.Share = 0.05; k.Share <= 1.5; k.Share += 0.01 {
		sum := 0.0
		for _, m := range list {
			if m.Work.Callers != 1 {
				continue
			}
			s := setting{nodeCount: m.Nodes}
			p, err := k.Predict(s.cluster(m.Write, m.Free, 1), m.Work)
			if err != nil {
				return err
			}
			off := p.P50.Seconds()/m.P50.Seconds() - 1
			sum += off * off
		}
		if best < 0 || sum <= best*1.02 { // while too few cores are what a lone caller waits for, many values do: the largest is it
			share = k.Share
		}
		if best < 0 || sum < best {
			best = sum
		}
	}
	k.Share = math.Round(share*100) / 100
	return nil
}

// parts prints numbers by name, in the order of the names.
func parts(list map[string]float64) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		words = append(words, fmt.Sprintf("%s %.4g", name, list[name]))
	}
	return strings.Join(words, " ")
}
