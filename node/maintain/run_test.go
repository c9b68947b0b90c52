package maintain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/task"
)

// full makes a world that has something of every kind to delete, and something to keep.
func full(t *testing.T) *world {
	w := newWorld(t)
	w.behavior("default", "brief", func(p *task.Policy) { p.KeepSuccess = 1 })
	w.behavior("default", "going", nil)
	w.final("default", "old", "brief", true)
	w.final("default", "of-going", "going", true)
	w.must(task.DeleteBehavior{Namespace: "default", Name: "going", Purge: true})
	w.put("garbage")
	w.put("needed")
	if r := w.submit("default", "needs", "brief", blobPayload("needed")); r.Code != task.OK {
		t.Fatalf("%+v", r)
	}
	w.write(digestOf("orphan"))
	w.log("n2", "default", "nobody")
	w.must(task.PutNamespace{Name: "doomed", Create: true})
	w.behavior("doomed", "plain", nil)
	w.submit("doomed", "lost", "plain", task.Payload{})
	w.must(task.SetNamespaceStatus{Name: "doomed", Status: task.NamespaceIsPurging})
	w.now += day
	return w
}

// TestFull: a run deletes all that full makes, except what is needed.
func TestFull(t *testing.T) {
	t.Parallel()
	w := full(t)
	out := w.maintain(quick(), false)
	if !out.Record.Success || out.Again != followAt {
		t.Errorf("%+v", out)
	}
	w.wantKept("default", "needs")
	w.wantKept("doomed")
	for _, member := range w.members {
		if _, ok := w.blobs[member][digestOf("needed")]; !ok || len(w.blobs[member]) != 1 {
			t.Errorf("%s has %v", member, w.blobs[member])
		}
	}
	if len(w.logs["n2"]) != 0 {
		t.Errorf("logs %v", w.logs["n2"])
	}
	for kind, want := range map[string]task.ObjectCount{
		"task": {Scanned: 3, Retained: 1, Deleted: 2}, "blob": {Scanned: 2, Retained: 1, Deleted: 1},
		"file": {Scanned: 7, Retained: 6, Deleted: 1}, "log": {Scanned: 1, Deleted: 1},
	} {
		ns := ""
		if kind == "task" {
			ns = "default"
		}
		want.Kind, want.Namespace = kind, ns
		if got := count(&out.Record, kind, ns); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestDryRun: a dry run shows the numbers of the run that follows it. It changes nothing but its own record (SPEC M4).
func TestDryRun(t *testing.T) {
	t.Parallel()
	w := full(t)
	dry := w.maintain(quick(), true)
	if n := w.deletions(); n != 0 || dry.Again != 0 || !dry.Record.DryRun {
		t.Errorf("%d commands that delete, %+v", n, dry)
	}
	wet := w.maintain(quick(), false)
	for _, o := range dry.Record.Objects {
		if got := count(&wet.Record, o.Kind, o.Namespace); got != o {
			t.Errorf("dry %+v, then %+v", o, got)
		}
	}
	if len(dry.Record.Objects) < 8 || len(dry.Record.Objects) != len(wet.Record.Objects) {
		t.Errorf("dry %+v\nwet %+v", dry.Record.Objects, wet.Record.Objects)
	}
}

// broken is a kind whose steps fail.
type broken struct {
	Kind
	step string
}

var errBroken = errors.New("broken")

func (b broken) Mark(ctx context.Context, r *Run, keep func(Object) error) error {
	if err := b.Kind.Mark(ctx, r, keep); err != nil || b.step != "mark" {
		return err
	}
	return errBroken
}

func (b broken) Retains(r *Run, o Object, keep func(Object) error) error {
	if err := b.Kind.Retains(r, o, keep); err != nil || b.step != "retains" {
		return err
	}
	return errBroken
}

func (b broken) Scan(ctx context.Context, r *Run, found func(Object) error) error {
	if err := b.Kind.Scan(ctx, r, found); err != nil || b.step != "scan" {
		return err
	}
	return errBroken
}

// TestFailingStepDeletesNothing: any failure while a run marks and scans ends the run. The failure is recorded, and
// nothing is deleted (SPEC M2, M3).
func TestFailingStepDeletesNothing(t *testing.T) {
	t.Parallel()
	failed := 0
	for i, k := range kinds() {
		for _, step := range []string{"mark", "retains", "scan"} {
			w := full(t)
			before := w.kept("")
			job := w.begin(false)
			r := New(quick(), w, w, job)
			r.kinds[i] = broken{k, step}
			out, err := r.Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if out.Record.Success {
				if step != "retains" { // some kinds keep nothing
					t.Errorf("%s of %s: the run succeeded", step, k.Name())
				}
				continue
			}
			failed++
			rec := w.m.MaintenanceRuns()[0]
			if w.deletions() != 0 || len(w.kept("")) != len(before) || out.Again != 0 {
				t.Errorf("%s of %s: %d commands, %+v", step, k.Name(), w.deletions(), out)
			}
			if rec.Success || rec.FinishedAt == 0 || !strings.Contains(rec.Message, "broken") || !strings.Contains(rec.Message, k.Name()) {
				t.Errorf("%s of %s: recorded as %+v", step, k.Name(), rec)
			}
			if step != "scan" && rec.Filter.Items != 0 {
				t.Errorf("%s of %s: the next filter would be sized by a part of the marks: %+v", step, k.Name(), rec.Filter)
			}
		}
	}
	if failed < 2*len(kinds()) {
		t.Errorf("only %d runs failed", failed)
	}
}

// TestFailingDeleteEndsTheRun: a deletion fails. The deletions before it are counted, and everything else stays.
func TestFailingDeleteEndsTheRun(t *testing.T) {
	t.Parallel()
	w := full(t)
	w.refuse = func(c task.Command) error {
		if _, ok := c.(task.DropTasks); ok {
			return errBroken
		}
		return nil
	}
	out := w.maintain(quick(), false)
	if out.Record.Success || !strings.Contains(out.Record.Message, "delete task: broken") {
		t.Errorf("%+v", out.Record)
	}
	for _, c := range w.carried {
		switch c.(type) {
		case task.DropBlobs, task.PurgeNamespace:
			t.Errorf("%T after a failure", c)
		}
	}
}

// TestHaltedRunDeletesNothingMore: a run is superseded, at each of its calls in turn. Its next command tells it, and it
// changes nothing from then on (SPEC M1, M3).
func TestHaltedRunDeletesNothingMore(t *testing.T) {
	t.Parallel()
	halted := 0
	for at := 1; ; at++ {
		w := full(t)
		calls := 0
		var carried int
		var sum uint64
		w.meddle = func() {
			if calls++; calls == at {
				x := w.m.Task(task.MaintenanceKey())
				w.must(task.StartMaintenance{Params: task.Payload{Encoding: task.JSON, Data: []byte("{}")}, Supersede: x.Attempt})
				carried, sum = len(w.carried), w.m.Rev()
			}
		}
		_, err := New(quick(), w, w, w.begin(false)).Do(t.Context())
		if calls < at {
			break
		}
		if err == nil {
			if carried != len(w.carried) {
				t.Errorf("superseded at call %d: %d commands were carried out after it", at, len(w.carried)-carried)
			}
			continue
		}
		halted++
		if !errors.Is(err, ErrHalt) || carried != len(w.carried) || w.m.Rev() != sum {
			t.Errorf("superseded at call %d: %v, %d commands after it", at, err, len(w.carried)-carried)
		}
	}
	if halted < 20 {
		t.Errorf("only %d runs were halted", halted)
	}
}

// TestUnknownKindsStay: an object of an unknown kind is counted and never deleted, however old it is (SPEC M3).
func TestUnknownKindsStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.strange = []File{{Name: "00/notes.txt", Modified: 1, Kind: "unknown"}, {Name: "ff/x", Modified: 1, Kind: "of tomorrow"}}
	w.now += 1000 * day
	out := w.maintain(quick(), false)
	for _, kind := range []string{"unknown", "of tomorrow"} {
		if got := count(&out.Record, kind, ""); got.Scanned != 1 || got.Retained != 1 || got.Deleted != 0 {
			t.Errorf("%+v", got)
		}
	}
	if w.deletions() != 0 {
		t.Errorf("%+v", w.carried)
	}
	r := New(quick(), w, w, w.begin(false))
	r.filter = newFilter(10)
	if err := r.keep(Object{Kind: "of tomorrow", Name: "x"}); err == nil {
		t.Error("an object of an unknown kind was marked: what it retains is not known")
	}
}

// TestFilterTooSmall: a run whose filter is fuller than SPEC M3 allows deletes nothing and says so. The run sizes the
// next filter.
func TestFilterTooSmall(t *testing.T) {
	t.Parallel()
	w := full(t)
	for i := range 3000 {
		w.submit("default", fmt.Sprint("waiting-", i), "brief", task.Payload{})
	}
	cfg := quick()
	cfg.MinItems = 100
	first := w.maintain(cfg, false).Record
	if first.Success || !strings.Contains(first.Message, "too small") || w.deletions() != 0 || first.Filter.PPB <= 50_000 || first.Filter.Items < 3000 {
		t.Fatalf("%+v, %d commands", first, w.deletions())
	}
	second := w.maintain(cfg, false).Record
	if !second.Success || second.Filter.Bits <= 10*first.Filter.Bits || second.Filter.PPB > 10_000 || w.has("default", "old") {
		t.Errorf("%+v", second)
	}
}

// TestFilterSizes: a filter is made for 1.1 times the marks of the last run that counted them. Each filter has a salt
// of its own, and about the rate of false positives that it was made for.
func TestFilterSizes(t *testing.T) {
	t.Parallel()
	runs := []*task.MaintenanceRun{{}, {Filter: task.FilterStats{Items: 2_000_000}}, {Filter: task.FilterStats{Items: 9_000_000}}}
	if n := sizeFor(runs, 1_000_000); n != 2_200_001 {
		t.Errorf("%d", n)
	}
	if n := sizeFor(nil, 1_000_000); n != 1_000_000 {
		t.Errorf("%d", n)
	}
	const items = 200_000
	a, b := newFilter(items), newFilter(items)
	if a.salt == b.salt {
		t.Error("two runs have one salt")
	}
	for i := range items {
		o := &Object{Kind: "task", Namespace: "default", Name: fmt.Sprint(i)}
		if a.add(o); !a.has(o) {
			t.Fatal("a mark is forgotten")
		}
	}
	wrong := 0
	for i := range 10 * items {
		if a.has(&Object{Kind: "task", Namespace: "default", Name: fmt.Sprint("other", i)}) {
			wrong++
		}
	}
	if got := float64(wrong) / (10 * items); got > maxRate || a.rate() > 1.5*wantRate || a.rate() < wantRate/3 {
		t.Errorf("false positives: %g, estimated %g", got, a.rate())
	}
}

// TestRates: a run takes the time that its limits dictate, and no command is larger than a batch (SPEC M4).
func TestRates(t *testing.T) {
	t.Parallel()
	const tasks = 5000
	for _, c := range []struct {
		name         string
		scan, remove int64
		least, most  time.Duration
	}{
		// A run looks at everything twice, once to mark and once to scan.
		{"scans", 1000, 1 << 40, 9 * time.Second, 12 * time.Second},
		{"deletes", 1 << 40, 100, 45 * time.Second, 55 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.behavior("default", "brief", func(p *task.Policy) { p.KeepSuccess = 1 })
				for i := range tasks {
					w.final("default", fmt.Sprint("task", i), "brief", true)
				}
				w.now += minute
				cfg := quick()
				cfg.ScanRate, cfg.DeleteRate, cfg.Batch = c.scan, c.remove, 77
				began := time.Now()
				out := w.maintain(cfg, false)
				if took := time.Since(began); took < c.least || took > c.most {
					t.Errorf("took %v", took)
				}
				if got := count(&out.Record, "task", "default"); got.Deleted != tasks {
					t.Errorf("%+v", got)
				}
				for _, cmd := range w.carried {
					if d, ok := cmd.(task.DropTasks); ok && len(d.Tasks) > 77 {
						t.Errorf("a batch of %d", len(d.Tasks))
					}
				}
			})
		})
	}
}

// TestCandidatesAreBounded: a run leaves what it cannot remember to a run that follows at once. The chain of runs comes
// to an end.
func TestCandidatesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.behavior("default", "brief", func(p *task.Policy) { p.KeepSuccess = 1 })
	for i := range 25 {
		w.final("default", fmt.Sprint("task", i), "brief", true)
	}
	w.now += minute
	cfg := quick()
	cfg.Candidates = 10
	for _, left := range []int{15, 5, 0} {
		out := w.maintain(cfg, false)
		if len(w.kept("default")) != left || (out.Again != 0) != (left > 0) || !out.Record.Success {
			t.Errorf("%d left, %+v", len(w.kept("default")), out)
		}
	}
}

// TestLastRunsAreKept: the records of the last 50 runs are kept (SPEC M4).
func TestLastRunsAreKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 60 {
		w.maintain(quick(), true)
	}
	runs := w.m.MaintenanceRuns()
	if len(runs) != 50 || runs[0].Run != 60 || runs[49].Run != 11 {
		t.Errorf("%d runs, from %d to %d", len(runs), runs[0].Run, runs[len(runs)-1].Run)
	}
}

// TestStopped: a run that is told to stop reports nothing more. The state machine ends its record.
func TestStopped(t *testing.T) {
	t.Parallel()
	w := full(t)
	job := w.begin(false)
	job.Progress = func(phase string, _ int64) error {
		if phase == "scan" {
			return ErrStopped
		}
		return nil
	}
	_, err := New(quick(), w, w, job).Do(t.Context())
	if !errors.Is(err, ErrStopped) || w.deletions() != 0 || w.m.MaintenanceRuns()[0].FinishedAt != 0 {
		t.Errorf("%v, %+v", err, w.m.MaintenanceRuns()[0])
	}
	w.must(task.GiveBack{Key: task.MaintenanceKey(), Token: job.Token})
	if r := w.m.MaintenanceRuns()[0]; r.Ended != "given_back" {
		t.Errorf("%+v", r)
	}
	if out := w.maintain(quick(), false); !out.Record.Success {
		t.Errorf("%+v", out)
	}
	if r := w.m.MaintenanceRuns()[1]; r.By != 2 {
		t.Errorf("%+v", r)
	}
	w.check()
}
