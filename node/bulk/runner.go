package bulk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/access"
	"github.com/taskrt/taskrt/task/jobs"
	"github.com/taskrt/taskrt/task/store"
)

// Store is the replicated store, as the leader's.
type Store interface {
	ProposeLocal(context.Context, ...task.Command) ([]task.Result, error)
	Local(func(*task.Machine))
	Freeze(context.Context) (*task.Frozen, error)
}

// Files keeps blobs.
type Files interface {
	// Keep stores bytes on a majority, and returns their digest.
	Keep(ctx context.Context, data []byte) (digest string, err error)
	// Get returns the bytes of a blob.
	Get(ctx context.Context, digest string) ([]byte, error)
}

// Runner carries out the jobs of a cluster while its node leads.
type Runner struct {
	store  Store
	files  Files
	logger *slog.Logger

	wake chan struct{}
}

// NewRunner returns a Runner.
func NewRunner(s Store, f Files, l *slog.Logger) *Runner {
	return &Runner{store: s, files: f, logger: l, wake: make(chan struct{}, 1)}
}

const (
	pause    = 100 * time.Millisecond // before what failed, or had no effect, is done again
	maxPause = 5 * time.Second
	maxTries = 24 // to read a blob that nobody has: about two minutes
)

// Wake says that jobs have changed. It never blocks.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run carries out jobs until ctx, which is that of a term, ends.
func (r *Runner) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	var mu sync.Mutex
	under := map[uint64]bool{}
	for ctx.Err() == nil {
		for _, x := range r.active() {
			mu.Lock()
			begun := under[x.Number]
			under[x.Number] = true
			mu.Unlock()
			if begun {
				continue
			}
			wg.Go(func() {
				r.carryOut(ctx, x.Number)
				mu.Lock()
				delete(under, x.Number)
				mu.Unlock()
			})
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
		}
	}
}

func (r *Runner) active() (active []*task.Job) {
	r.store.Local(func(m *task.Machine) {
		for _, x := range task.Jobs(m) {
			if !x.Ended() {
				active = append(active, x)
			}
		}
	})
	return active
}

// job returns the job, or nil once it has ended.
func (r *Runner) job(number uint64) *task.Job {
	for _, x := range r.active() {
		if x.Number == number {
			return x
		}
	}
	return nil
}

// carryOut goes on with a job until it has ended, or the term has.
func (r *Runner) carryOut(ctx context.Context, number uint64) {
	w := work{Runner: r}
	wait := pause
	for {
		x := r.job(number)
		if x == nil || ctx.Err() != nil {
			return
		}
		var err error
		if x.State == jobs.Selecting {
			err = w.choose(ctx, x)
		} else {
			err = w.step(ctx, x)
		}
		if end, is := errors.AsType[*failure](err); is {
			err = r.decide(ctx, task.EndJob{Number: number, Code: end.code, Message: end.message})
		}
		if err == nil {
			wait = pause
			continue
		}
		r.logger.Debug("a bulk job waits", "job", number, "err", err)
		if !idle.For(ctx, wait) {
			return
		}
		wait = min(2*wait, maxPause)
	}
}

// failure ends a job.
type failure struct{ code, message string }

func (f *failure) Error() string { return f.code + ": " + f.message }

// errLater says that a turn comes later.
var errLater = errors.New("bulk: a quota is used up for now")

func (r *Runner) decide(ctx context.Context, c task.Command) error {
	_, err := r.propose(ctx, c)
	return err
}

// propose proposes a command. It is no error if the job is elsewhere, or has ended: then another leader has gone on with it.
func (r *Runner) propose(ctx context.Context, c task.Command) (task.Result, error) {
	rs, err := r.store.ProposeLocal(ctx, c)
	if err != nil {
		return task.Result{}, err
	}
	if code := rs[0].Code; code != task.OK && code != task.JobMoved && code != task.JobNotFound {
		return rs[0], fmt.Errorf("%s: %s", code, rs[0].Message)
	}
	return rs[0], nil
}

// work is what one goroutine knows of its job.
type work struct {
	*Runner
	at    int      // which blob is read
	read  []uint64 // its numbers
	tries int      // that have failed to read it
}

// choose selects the tasks of a job of one frozen state.
func (w *work) choose(ctx context.Context, x *task.Job) error {
	f, err := w.store.Freeze(ctx)
	if err != nil {
		return err
	}
	if f.Index() < x.Index {
		return errors.New("bulk: the state is older than the job")
	}
	out := writer{put: func(data []byte) (string, error) { return w.files.Keep(ctx, data) }}
	err = Select(ctx, f, x, w.rights(x), func(created uint64) error {
		if out.count == jobs.MaxTasks {
			return &failure{"too_many_tasks", fmt.Sprintf("more than %d tasks are meant: narrow the filter", jobs.MaxTasks)}
		}
		return out.add(created)
	})
	if err == nil {
		err = out.flush()
	}
	if err != nil {
		return err
	}
	return w.decide(ctx, task.SelectJob{Number: x.Number, Index: f.Index(), Count: out.count, Blobs: out.blobs})
}

// lookedAt is after how many records Select looks whether its caller has gone.
const lookedAt = 1024

// rights says what a job may change, by behavior and creator: others must not learn by it how many tasks there are. nil: everything.
func (r *Runner) rights(x *task.Job) (may func(behavior string, creator uint64) bool) {
	if x.By == 0 {
		return nil
	}
	var grant access.Grant
	r.store.Local(func(m *task.Machine) {
		if t := m.Access().Numbered(x.By); t != nil {
			grant = t.Grant
		} else if x.By == access.Root {
			grant = access.Everything()
		}
	})
	return func(behavior string, creator uint64) bool {
		s := access.Steer{By: x.By, Grant: grant}
		s.Record(access.Operate, x.Namespace, behavior, creator)
		return s.Refusal().Code == ""
	}
}

// Select gives take the numbers of the tasks of a frozen state that a job is about, and may change.
func Select(ctx context.Context, f *task.Frozen, x *task.Job, may func(behavior string, creator uint64) bool, take func(created uint64) error) (err error) {
	n := 0
	wanted := func(o *store.Owner) bool { return o.Namespace == x.Namespace && x.Filter().Likes(o.Name) }
	f.Tasks.Of(wanted, func(t *task.Task) bool { // which are in the order of their numbers
		if n++; n%lookedAt == 0 && ctx.Err() != nil {
			err = ctx.Err()
		} else if t.Namespace == x.Namespace && (may == nil || may(t.Behavior, t.Creator)) && task.Matches(t, x.Filter()) {
			err = take(t.CreatedRev)
		}
		return err == nil
	})
	return err
}

// step lets the next tasks have their turn, and then waits as long as the rate asks for.
func (w *work) step(ctx context.Context, x *task.Job) error {
	next, err := w.numbers(ctx, x)
	if err != nil {
		return err
	}
	n := min(int64(len(next)), max(x.Rate/stepsPerSecond, 1), maxStep)
	res, err := w.propose(ctx, task.StepJob{Number: x.Number, From: x.Position, Tasks: next[:n]})
	if err != nil || res.Code != task.OK {
		return err
	}
	if !res.Changed {
		return errLater
	}
	idle.For(ctx, time.Duration(max(res.Count, 1))*time.Second/time.Duration(x.Rate))
	return nil
}

const (
	// stepsPerSecond is how many entries a job makes at least, if its rate allows.
	stepsPerSecond = 40
	// maxStep is how many tasks have their turn in one entry, at any rate: so many take the machine 0.3 to 0.4 ms.
	maxStep = min(128, jobs.MaxStep)
)

// numbers returns the numbers from the job's place on, as far as its blob goes.
func (w *work) numbers(ctx context.Context, x *task.Job) ([]uint64, error) {
	at := int(x.Position / jobs.PerBlob)
	if w.read == nil || w.at != at {
		data, err := w.files.Get(ctx, x.Blobs[at])
		if err == nil {
			w.read, err = numbers(data)
		}
		if w.at = at; err != nil {
			if w.tries++; w.tries > maxTries {
				return nil, &failure{"blob_gone", "no member has a part of what was selected: " + x.Blobs[at]}
			}
			return nil, err
		}
		w.tries = 0
	}
	if from := x.Position % jobs.PerBlob; from < int64(len(w.read)) {
		return w.read[from:], nil
	}
	return nil, &failure{"blob_gone", errDamaged.Error()}
}
