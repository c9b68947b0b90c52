package scheduled

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/backup/series"
	"github.com/taskrt/taskrt/node/saving"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
)

// Store is the replicated state. raftstore.Store implements it.
type Store interface {
	Propose(context.Context, ...task.Command) ([]task.Result, error)
	Read(context.Context, func(*task.Machine)) error
}

// Guest makes backups as a module is run: in a slot of the worker, under its session, with a token.
type Guest struct {
	Config  Config
	Store   Store
	Saver   *saving.Saver
	Node    string        // ID of this node
	Cluster func() string // ID
	Members func() int
	Now     func() time.Time // wall clock
	Logger  *slog.Logger
	// Failures counts the runs that failed on this node.
	Failures *atomic.Int64
}

var _ worker.Guest = Guest{}

// CodeFailed is the error code of a run that failed.
const CodeFailed = "backup_failed"

// These end a run that is not to count as failed.
var (
	errHalt      = errors.New("the run's lease is lost")
	errStopped   = errors.New("the node stops")
	errCancelled = errors.New("the run was cancelled")
)

// run is a run under way.
type run struct {
	Guest
	host   runtime.Host
	token  uint64
	random string // a marker, if none is there
	limit  *rate.Limiter
	cancel context.CancelCauseFunc
	taken  *saving.Taken
}

// burst is how many bytes are read or written at once at most.
const burst = 1 << 20

// Run implements worker.Guest.
func (g Guest) Run(ctx context.Context, a runtime.Attempt, host runtime.Host) runtime.Outcome {
	var info abi.TaskInfo
	if err := json.Unmarshal(a.InfoJSON(), &info); err != nil {
		return failed("task info: " + err.Error())
	}
	ctx, stop := context.WithTimeoutCause(ctx, a.RunTimeout, runtime.ErrKilledTimeout)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{Guest: g, host: host, token: info.Token, random: rand.Text(), limit: rate.NewLimiter(rate.Limit(g.Config.Rate), burst), cancel: cancel}
	last, err := r.do(ctx)
	if err != nil {
		o := r.broken(ctx, err)
		if o.Kind == runtime.Failed {
			g.Failures.Add(1)
			g.Logger.Error("the backup failed, and is tried again", "target", g.Config.Target, "run", info.Attempt, "err", o.Message)
		}
		return o
	}
	text, err := json.Marshal(last)
	if err != nil {
		return failed(err.Error())
	}
	g.Logger.Info("the cluster was backed up", "target", g.Config.Target, "backup", last.Name, "bytes", last.Bytes, "new_bytes", last.NewBytes, "took", last.Finished.Sub(last.Began))
	return runtime.Outcome{Kind: runtime.Succeeded, HasResult: true, Result: text}
}

// do makes the backup, and remembers that it is there.
func (r *run) do(ctx context.Context) (*Last, error) {
	began := r.Now().UTC()
	s := series.Series{Target: r.Config.Target, Cluster: r.Cluster()}
	exclusive, err := r.prove(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() {
		if r.taken != nil {
			r.taken.End(ctx)
		}
	}()
	e, err := s.Run(ctx, series.Job{
		Token: r.token, Now: r.Now, Keep: r.Config.Keep, Seal: r.Config.Seal, Exclusive: exclusive, Logger: r.Logger,
		Alive: r.alive, Take: r.take, Pace: r.limit.WaitN, Progress: r.progress,
	})
	after, made := errors.AsType[*series.AfterError](err)
	if err != nil && !made {
		return nil, err
	}
	last := &Last{
		Name: e.Name, Node: r.Node, Began: began, Finished: r.Now().UTC(), Index: e.Header.Index, Bytes: e.Bytes(),
		Blobs: e.Header.Blobs, New: e.New, NewBytes: e.NewBytes, Encrypted: e.Encrypted,
	}
	if made {
		last.Note = after.Error()
		r.Logger.Warn("the target of backups was not cleaned up; the next run does it", "target", r.Config.Target, "err", after.Err)
	}
	var had *Record
	if err := r.Store.Read(ctx, func(m *task.Machine) { had = Recall(m, s.Cluster) }); err != nil || had == nil {
		return nil, errors.Join(errors.New("the backup is there, and the cluster does not remember it"), err)
	}
	had.Token, had.Last = r.token, last
	return last, r.remember(ctx, *had)
}

// take takes the state.
func (r *run) take(ctx context.Context) (_ series.Source, err error) {
	r.taken, err = r.Saver.Take(ctx, "the backup that "+r.Node+" makes by schedule", r.cancel)
	return r.taken, err
}

// alive returns an error if the lease is another's by now.
func (r *run) alive(ctx context.Context) error {
	var token uint64
	err := r.Store.Read(ctx, func(m *task.Machine) {
		if t := m.Task(Key()); t != nil && t.Lease != nil {
			token = t.Lease.Token
		}
	})
	if err == nil && token != r.token {
		return errHalt
	}
	return err
}

// progress tells the worker what the run does, and hears what the worker has to say.
func (r *run) progress(phase string, done int64) error {
	switch s := r.host.Beat(done, r.total(phase), []byte(phase)); {
	case s&abi.SignalLeaseLost != 0:
		return errHalt
	case s&abi.SignalCancel != 0:
		return errCancelled
	case s&abi.SignalDraining != 0:
		return errStopped
	}
	return nil
}

func (r *run) total(phase string) int64 {
	if phase == "blobs" && r.taken != nil {
		return int64(len(r.taken.Blobs()))
	}
	return 0
}

// broken is the outcome of a run that made no backup.
func (r *run) broken(ctx context.Context, err error) runtime.Outcome {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, runtime.ErrKilledTimeout):
		return runtime.Outcome{Kind: runtime.Failed, Class: runtime.ClassTimeout, Code: runtime.CodeTimeout, Message: "the backup took too long"}
	case errors.Is(err, errCancelled):
		return runtime.Outcome{Kind: runtime.Cancelled, Message: "the backup was cancelled"}
	case errors.Is(err, errStopped):
		return runtime.Outcome{Kind: runtime.Yielded}
	case errors.Is(err, errHalt):
		return runtime.Outcome{Kind: runtime.Killed, Cause: runtime.ErrKilledLease}
	case errors.Is(cause, saving.ErrHoldOver):
		return failed(cause.Error())
	case ctx.Err() != nil:
		return runtime.Outcome{Kind: runtime.Killed, Cause: cause}
	}
	return failed(err.Error())
}

func failed(message string) runtime.Outcome {
	return runtime.Outcome{Kind: runtime.Failed, Class: runtime.ClassGuest, Code: CodeFailed, Retryable: true, Message: fmt.Sprintf("%.2000s", message)}
}
