package maintain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/taskrt/taskrt/internal/clip"
	"github.com/taskrt/taskrt/task"
)

// page is how many objects are read under the state's lock at a time.
const page = 500

// Job is one attempt of the maintenance task.
type Job struct {
	Run    int64 // number of the attempt
	Token  uint64
	Worker string
	DryRun bool
	// Progress is told what the run does, at every page and batch. Its error ends the run.
	Progress func(phase string, done int64) error
}

// Outcome is how a run ended that came to its end.
type Outcome struct {
	Record task.MaintenanceRun
	Again  time.Duration // how soon another run should follow; 0: not because of this run
}

// Run is one run under way.
type Run struct {
	// Before is a time of the log. Objects that are not older are too young to be deleted (SPEC M3).
	Before task.Time
	// Now is the time of the log at which the run began.
	Now task.Time
	// Rev is the last rev that the marks can know. A record that was written later stays.
	Rev uint64

	job     Job
	cfg     Config
	cluster Cluster
	disks   Disks
	kinds   []Kind

	filter  *filter
	counts  counts
	scans   *rate.Limiter
	deletes *rate.Limiter
	notes   []string // for the record's message
	phase   string
	done    int64
	marked  bool // everything was marked: the next filter is sized by this one

	purging map[string]bool // namespaces in PURGING when the run began
	again   time.Duration

	candidates map[string][]Object // by kind
	parts      map[task.Key]int64  // by operation that may go: how many tasks go with it
	collected  int
	skipped    int64 // candidates beyond Config.Candidates
	kept       int64 // blobs that stay because of a backup (SPEC C8)
}

// New prepares a run.
func New(cfg Config, cluster Cluster, disks Disks, job Job) *Run {
	cfg = cfg.WithDefaults()
	return &Run{
		job: job, cfg: cfg, cluster: cluster, disks: disks, kinds: kinds(), counts: counts{},
		scans:      rate.NewLimiter(rate.Limit(cfg.ScanRate), page),
		deletes:    rate.NewLimiter(rate.Limit(cfg.DeleteRate), int(cfg.Batch)),
		candidates: map[string][]Object{}, parts: map[task.Key]int64{},
	}
}

// Do carries the run out and records it. If it returns an error the run may say nothing more: its token is dead, or ctx
// has ended. What else went wrong stands in the record.
func (r *Run) Do(ctx context.Context) (Outcome, error) {
	rec := task.MaintenanceRun{Run: r.job.Run, Token: r.job.Token, Worker: r.job.Worker, DryRun: r.job.DryRun}
	var former []*task.MaintenanceRun
	if err := r.cluster.CatchUp(ctx); err != nil {
		return Outcome{}, err
	}
	r.cluster.Local(func(m *task.Machine) {
		rec.StartedAt = int64(m.Now())
		former = m.MaintenanceRuns()
	})
	if _, err := r.command(ctx, task.RecordRun{Token: r.job.Token, Run: rec}); err != nil {
		return Outcome{}, err
	}
	// The record was the last to stamp the log's clock: the grace counts from here.
	r.cluster.Local(func(m *task.Machine) { r.Now, r.Rev = m.Now(), m.Rev() })
	r.Before = r.Now - task.Time(r.cfg.Grace.Milliseconds())
	rec.Before = int64(r.Before)
	r.filter = newFilter(sizeFor(former, r.cfg.MinItems))

	err := r.work(ctx)
	if err != nil && (ctx.Err() != nil || errors.Is(err, ErrHalt) || errors.Is(err, ErrStopped)) {
		return Outcome{}, err
	}
	return r.finish(ctx, rec, err)
}

// ErrStopped is returned by Job.Progress to end a run that is not to be recorded as failed, because it goes on
// elsewhere.
var ErrStopped = errors.New("maintain: the run was told to stop")

// finish records the end of a run, good or bad.
func (r *Run) finish(ctx context.Context, rec task.MaintenanceRun, failed error) (Outcome, error) {
	rec.Success, rec.Objects, rec.Message = failed == nil, r.counts.list(), r.message(failed)
	if r.marked {
		rec.Filter = r.filter.stats()
	}
	if err := r.cluster.CatchUp(ctx); err != nil {
		return Outcome{}, err
	}
	r.cluster.Local(func(m *task.Machine) { rec.FinishedAt = max(int64(m.Now()), 1) })
	if _, err := r.command(ctx, task.RecordRun{Token: r.job.Token, Run: rec}); err != nil {
		return Outcome{}, err
	}
	out := Outcome{Record: rec}
	if failed == nil {
		out.Again = r.again
	}
	return out, nil
}

// maxMessage bounds a record's message in bytes.
const maxMessage = 1 << 10

func (r *Run) message(failed error) string {
	text := ""
	if failed != nil {
		text = failed.Error()
	}
	for _, note := range r.notes {
		if text != "" {
			text += "; "
		}
		text += note
	}
	return clip.Text(text, maxMessage)
}

// work marks, scans and deletes. Nothing is deleted before everything has been marked and scanned (SPEC M3).
func (r *Run) work(ctx context.Context) error {
	r.cluster.Local(func(m *task.Machine) { r.purging = namesOf(m, task.NamespaceIsPurging) })
	r.enter("mark")
	for _, k := range r.kinds {
		if err := k.Mark(ctx, r, r.keep); err != nil {
			return fmt.Errorf("mark what %s needs: %w", k.Name(), err)
		}
	}
	r.marked = true
	if got := r.filter.rate(); got > maxRate {
		return fmt.Errorf("the filter is too small: %d marks in one for %d bits would take %.2g of what nobody needs for needed, more than %.0e; nothing was deleted, and the next run has a larger one",
			r.filter.items, r.filter.bloom.Cap(), got, maxRate)
	}
	r.enter("scan")
	for _, k := range r.kinds {
		if err := k.Scan(ctx, r, r.found); err != nil {
			return fmt.Errorf("scan %s: %w", k.Name(), err)
		}
	}
	r.enter("delete")
	for _, k := range r.kinds {
		if err := r.remove(ctx, k); err != nil {
			return fmt.Errorf("delete %s: %w", k.Name(), err)
		}
	}
	if err := r.purge(ctx); err != nil {
		return fmt.Errorf("purge: %w", err)
	}
	return r.follow(ctx)
}

// found decides about one object of the scan.
func (r *Run) found(o Object) error {
	if r.purging[o.Namespace] {
		return nil // it goes with its namespace
	}
	line := r.counts.of(o.Kind, o.Namespace)
	line.Scanned++
	switch {
	case r.kind(o.Kind) == nil || r.filter.has(&o):
		line.Retained++
	case o.Rev > r.Rev, o.Time != 0 && o.Time >= r.Before:
		line.Newer++
	case r.collected >= r.cfg.Candidates:
		r.skipped++
	default:
		r.collected++
		o.Value = nil
		r.candidates[o.Kind] = append(r.candidates[o.Kind], o)
	}
	return nil
}

// remove deletes the candidates of a kind in batches. A dry run only counts them.
func (r *Run) remove(ctx context.Context, k Kind) error {
	all := r.candidates[k.Name()]
	delete(r.candidates, k.Name())
	slices.SortStableFunc(all, func(a, b Object) int { return cmp.Compare(a.Namespace, b.Namespace) }) // fewer commands
	for len(all) > 0 {
		n := min(len(all), int(r.cfg.Batch))
		batch := all[:n]
		all = all[n:]
		if r.job.DryRun {
			for i := range batch {
				o := &batch[i]
				r.counts.of(o.Kind, o.Namespace).Deleted++
				if o.Kind == "operation" {
					r.countParts(task.Key{Namespace: o.Namespace, ID: o.Name})
				}
			}
			continue
		}
		for ns, os := range byNamespace(batch) {
			if err := r.limitDeletes(ctx, len(os)); err != nil {
				return err
			}
			done, err := k.Delete(ctx, r, os)
			r.counts.of(k.Name(), ns).Deleted += done
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// byNamespace splits a batch, so that each deletion is counted in its namespace.
func byNamespace(os []Object) map[string][]Object {
	m := map[string][]Object{}
	for _, o := range os {
		m[o.Namespace] = append(m[o.Namespace], o)
	}
	return m
}

// follow says whether a run should follow this one without waiting for its time. There are two reasons: objects were
// found and not remembered, or a purge was asked for after this run had looked.
func (r *Run) follow(ctx context.Context) error {
	if r.job.DryRun {
		return nil
	}
	if r.skipped > 0 {
		r.note("%d more objects are left to the run that follows", r.skipped)
		r.soon(followAt)
	}
	if r.kept > 0 {
		r.note("%d blobs and files stay because of a backup that is being saved: %s", r.kept, r.holders())
	}
	r.cluster.Local(func(m *task.Machine) {
		for name := range namesOf(m, task.NamespaceIsPurging) {
			if !r.purging[name] {
				r.soon(followAt)
			}
		}
	})
	return eachBehavior(ctx, r, func(b *task.Behavior) error {
		if b.Purge && b.Rev > r.Rev {
			r.soon(followAt)
		}
		return nil
	})
}

// followAt is how soon the next run follows a run that made progress but has not done everything.
const followAt = time.Second

// soon asks for a run after d, or earlier if an earlier one is asked for.
func (r *Run) soon(d time.Duration) {
	if r.again == 0 || d < r.again {
		r.again = d
	}
}

func (r *Run) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}
