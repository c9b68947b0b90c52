package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/internal/leash"
)

// TestEcho: the guest is the one that everybody can read.
func TestEcho(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("../../testdata/wasm/echo.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(echo, want) {
		t.Error("echo.wasm is not testdata/wasm/echo.wasm: copy it")
	}
	if want, err = os.ReadFile("../../testdata/wasm/wait.wasm"); err != nil || !bytes.Equal(wait, want) {
		t.Errorf("wait.wasm is not testdata/wasm/wait.wasm: copy it (%v)", err)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for want, list := range map[float64][]float64{3: {3}, 2.5: {4, 1, 2, 3}, 5: {9, 5, 1}} {
		if got := Median(list); got != want {
			t.Errorf("%v: %v, want %v", list, got, want)
		}
	}
	r := row("x", [][]value{{{"a", "ms", 3}, {"b", "1/s", 10}}, {{"a", "ms", 1}, {"b", "1/s", 20}}, {{"a", "ms", 2}, {"b", "1/s", 60}}})
	if len(r.Figures) != 2 || r.Figures[0].Median != 2 || r.Figures[1].Median != 20 || !slices.Equal(r.Figures[1].Runs, []float64{10, 20, 60}) {
		t.Errorf("%+v", r)
	}
	report := Report{Rows: []Row{r}}
	if f := report.Find("x", "b"); f == nil || f.Median != 20 || report.Find("x", "c") != nil || report.Find("y", "b") != nil {
		t.Errorf("found %+v", f)
	}
	if ratio, ok := Ratio(&Figure{Unit: "ms", Median: 3}, &Figure{Unit: "ms", Median: 2}); !ok || ratio != 1.5 {
		t.Errorf("%v %t", ratio, ok)
	}
	for _, former := range []*Figure{nil, {Unit: "s", Median: 2}, {Unit: "ms"}} {
		if _, ok := Ratio(&Figure{Unit: "ms", Median: 3}, former); ok {
			t.Errorf("compared with %+v", former)
		}
	}
}

// TestLoop: what counts is what begins after the warm-up and ends before the end.
func TestLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Loop{Callers: 4, Warmup: time.Second, Length: 10 * time.Second, Call: func(ctx context.Context, _ int) error { return Pause(ctx, 100*time.Millisecond) }}
		begun := time.Now()
		m, err := l.Run(t.Context())
		if err != nil || m.Calls != 400 || m.All < 440 || m.All > 448 || m.Rate() != 40 || m.Times.TotalCount() != 400 {
			t.Fatalf("%+v, %v", m, err)
		}
		if q := quantiles("", m.Times); q[0].v < 99.9 || q[0].v > 100.1 || q[2].v > 100.1 {
			t.Errorf("%+v", q)
		}
		if took := time.Since(begun); took < 11*time.Second || took > 11200*time.Millisecond {
			t.Errorf("took %v", took)
		}
		var calls atomic.Int64
		l = Loop{Callers: 4, Limit: 10, Call: func(ctx context.Context, _ int) error { calls.Add(1); return Pause(ctx, time.Second) }}
		if m, err := l.Run(t.Context()); err != nil || calls.Load() != 10 || m.Calls != 10 || m.Took != 3*time.Second {
			t.Errorf("%d calls: %+v, %v", calls.Load(), m, err)
		}
		bad := errors.New("bad")
		l = Loop{Callers: 4, Length: time.Hour, Call: func(ctx context.Context, caller int) error {
			if err := Pause(ctx, time.Second); caller < 3 || err != nil {
				return err
			}
			return bad
		}}
		if _, err := l.Run(t.Context()); !errors.Is(err, bad) {
			t.Errorf("an error of a call: %v", err)
		}
		l = Loop{Callers: 1, Length: time.Second, Call: func(ctx context.Context, _ int) error { return Pause(ctx, time.Minute) }}
		if _, err := l.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "longer") {
			t.Errorf("nothing counted: %v", err)
		}
	})
}

// TestSample: of fixed size, and each has the same chance.
func TestSample(t *testing.T) {
	t.Parallel()
	s := &sample{most: 3, draw: func(n int64) int64 { return 9 - n }} // of the nth 9-n: the seventh replaces the third, and so on
	for _, v := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		s.add(v)
	}
	if got := strings.Join(s.kept, ""); len(s.kept) != 3 || s.seen != 9 || got != "ihg" {
		t.Errorf("%q of %d", got, s.seen)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 3, 256} {
		if p := Text(n); len(p) != n || !json.Valid(p) {
			t.Errorf("%d: %s", n, p)
		}
	}
}

const (
	scaleFigures    = " submits CPU of a submit drained CPU of a run log fsyncs"
	externalFigures = " done accept p50 accept p99 finish p50 finish p99 CPU of a task fsyncs of a task log fsyncs"
	overloadFigures = " offered admitted refused failed p50 p99 max RssAnon, the most of a node log fsyncs"
)

// TestPresets runs each of them shortly against processes: their figures are there, and what they claim was checked. None says
// how fast.
func TestPresets(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs real processes")
	}
	t.Setenv("TMPDIR", t.TempDir()) // others on this machine measure too
	binary := filepath.Join(t.TempDir(), "taskrt")
	if out, err := leash.Command("go", "build", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-o", binary, "github.com/taskrt/taskrt/cmd/taskrt").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := Config{
		Binary: binary, Callers: []int{1, 8}, Workers: []int{1, 8}, Payload: 100, For: time.Second, Warmup: 50 * time.Millisecond, Runs: 1, Batch: 64, Tasks: 300,
		Rates: []float64{50}, Factor: 3, Drained: 50, Version: "test",
	}
	t.Run("presets", func(t *testing.T) { eachPreset(t, c) }) // returns when all have ended
	t.Run("running", func(t *testing.T) { ofSomebodyElse(t, c) })
	if dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "taskrt-bench-*")); len(dirs) > 0 {
		t.Errorf("left: %v", dirs)
	}
}

// eachPreset runs the presets beside each other.
func eachPreset(t *testing.T, c Config) {
	mayBeZero := []string{"log fsyncs", "fsyncs of a task", "refused", "failed", "GC cycles", "longest GC pause", "CPU of the leader", "CPU of a follower, the most", "log entries"}
	for preset, want := range map[string]string{
		"submit":   "1 caller: submits p50 p99 max CPU of a task log fsyncs; 8 callers: submits p50 p99 max CPU of a task log fsyncs",
		"bulk":     "1 caller, batches of 64: tasks batch p50 batch p99 batch max CPU of a task log fsyncs; 8 callers, batches of 64: tasks batch p50 batch p99 batch max CPU of a task log fsyncs",
		"e2e":      "1 caller: done p50 p99 max CPU of a task log fsyncs; 8 callers: done p50 p99 max CPU of a task log fsyncs",
		"external": "1 worker:" + externalFigures + "; a worker of 1 slot:" + externalFigures + "; 8 workers:" + externalFigures + "; a worker of 8 slots:" + externalFigures,
		"drain":    "300 tasks: done time CPU of a task log fsyncs",
		"latency":  "50/s: start p50 start p99 start max result p50 result p99 result max log fsyncs",
		"overload": "what it takes: 1 caller, batches of 64:" + overloadFigures + "; a tenth of it:" + overloadFigures + "; 3 times of it:" + overloadFigures + "; a tenth of it, afterwards:" + overloadFigures,
		"restart":  "300 tasks queued: until ready CPU GC cycles longest GC pause RssAnon log fsyncs",
		"cold":     "300 tasks queued: until a leader until all are ready terms CPU log fsyncs",
		"scale":    "1000 tasks queued before:" + scaleFigures + "; 1500 tasks queued before:" + scaleFigures + "; as a part of it:" + scaleFigures,
		"memory":   "300 tasks done: RssAnon, the most of a node RssAnon for a task log fsyncs",
		"idle":     "nothing to do: CPU of the leader CPU of a follower, the most log entries log fsyncs",
		"workers":  "kill -9 of a worker: until all run elsewhere tasks it had log fsyncs; kill -9 of a worker, started again at once: until all run elsewhere tasks it had log fsyncs",
		"failover": "kill -9 of the leader: until done again log fsyncs; SIGSTOP of the leader: until done again log fsyncs",
	} {
		t.Run(preset, func(t *testing.T) {
			t.Parallel() // they wait, mostly
			told := 0
			c := c
			if preset == "scale" {
				c.Tasks = 1500
			}
			c.Finished = preset == "memory"
			c.Progress = func(done, total int, what string) {
				if told++; done < 0 || done > total || what == "" {
					t.Errorf("told %d of %d: %s", done, total, what)
				}
			}
			measured := func(f *Figure) bool {
				return f.Median > 0 || f.Name == "RssAnon for a task" || // of so few tasks it says nothing, and may be below zero
					f.Median == 0 && slices.Contains(mayBeZero, f.Name)
			}
			r, err := longer(t.Context(), preset, c, measured)
			if err != nil {
				t.Fatal(err)
			}
			var rows []string
			for _, row := range r.Rows {
				var names []string
				for _, f := range row.Figures {
					names = append(names, f.Name)
					if len(f.Runs) != 1 || !measured(&f) {
						t.Errorf("%s: %+v", row.Name, f)
					}
				}
				rows = append(rows, row.Name+": "+strings.Join(names, " "))
			}
			if got := strings.Join(rows, "; "); got != want || r.Preset != preset || r.Nodes != 3 || r.Payload != 100 || told == 0 {
				t.Errorf("%+v\n%s, want\n%s", r, got, want)
			}
		})
	}
}

// longer is Run, and where the machine is too busy for anything to be measured in the time, again for longer.
func longer(ctx context.Context, preset string, c Config, measured func(*Figure) bool) (*Report, error) {
	for {
		r, err := Run(ctx, preset, c)
		enough := !errors.Is(err, errTooShort)
		for i := 0; err == nil && i < len(r.Rows); i++ {
			for k := range r.Rows[i].Figures {
				enough = enough && measured(&r.Rows[i].Figures[k])
			}
		}
		if enough || c.For > 20*time.Second {
			return r, err
		}
		c.For *= 4
	}
}

// ofSomebodyElse measures a cluster that runs already.
func ofSomebodyElse(t *testing.T, c Config) {
	cl, err := startCluster(t.Context(), Config{Binary: c.Binary, Slots: 2}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.stop()
	c.URLs = cl.URLs()
	if _, err := longer(t.Context(), "e2e", c, func(*Figure) bool { return true }); err != nil {
		t.Fatal(err)
	}
	b := &bed{Config: c}
	client, err := b.connect(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	list, err := client.Namespaces(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	left := ""
	for _, ns := range list {
		if strings.HasPrefix(ns.Name, "bench-") {
			left += ns.Status
		}
	}
	if left == "" || strings.ReplaceAll(left, "PURGING", "") != "" {
		t.Errorf("namespaces that are left: %q", left)
	}
	for _, preset := range []string{"failover", "memory", "workers", "restart", "cold", "idle"} {
		if _, err := Run(t.Context(), preset, c); !errors.Is(err, errNotOurs) {
			t.Errorf("%s of a cluster of somebody else's: %v", preset, err)
		}
	}
}
