// Package saving saves a backup of the whole cluster from the node that is asked (SPEC C8). DESIGN.md says how.
package saving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/snapshot"
	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/task"
)

// Log is how a hold is made for the caller. service.Log implements it: its errors are *api.Error.
type Log interface {
	Propose(context.Context, task.Command) (task.Result, error)
	Read(context.Context, func(*task.Machine) (more bool)) error
}

// State is the replicated state. raftstore.Store implements it.
type State interface {
	Propose(context.Context, ...task.Command) ([]task.Result, error)
	// Freeze returns the state, with all that was acknowledged before the call.
	Freeze(context.Context) (*task.Frozen, error)
}

// Files opens a file of this node, or of another member that has it. files.Files implements it.
type Files interface {
	Open(ctx context.Context, digest string) (*blob.File, error)
}

// Config configures a Saver.
type Config struct {
	Log     Log
	State   State
	Files   Files
	Node    string // ID of this node
	Version string // of taskrt
	// Cluster returns the ID of the cluster.
	Cluster func() string
	Now     func() time.Time
	// Schedule begins a scheduled backup; nil: there are none.
	Schedule func(context.Context) (*snapshot.BeginReply, error)
	Logger   *slog.Logger
	// TTL is how long a hold lives without a renewal; default 60 s. It is renewed four times as often.
	TTL time.Duration
	// Concurrent is how many backups are saved at a time; default 2.
	Concurrent int
}

// Saver saves backups.
type Saver struct {
	Config
	busy chan struct{}
}

var _ snapshot.Snapshots = (*Saver)(nil)

const (
	defaultTTL        = time.Minute
	defaultConcurrent = 2
	renewals          = 4               // in one TTL
	retryPause        = time.Second     // after a renewal that had no answer
	endTimeout        = 5 * time.Second // to end the hold of a backup that is given up
)

// New returns a Saver.
func New(c Config) *Saver {
	if c.TTL == 0 {
		c.TTL = defaultTTL
	}
	if c.Concurrent == 0 {
		c.Concurrent = defaultConcurrent
	}
	return &Saver{Config: c, busy: make(chan struct{}, c.Concurrent)}
}

// Holds implements snapshot.Snapshots.
func (s *Saver) Holds(ctx context.Context) (*snapshot.HoldsReply, error) {
	r := &snapshot.HoldsReply{Holds: []snapshot.Hold{}}
	err := s.Log.Read(ctx, func(m *task.Machine) bool {
		r.Holds = r.Holds[:0]
		for _, x := range task.Holds(m) {
			left := max(x.Until-int64(m.LeaseNow()), 0)
			r.Holds = append(r.Holds, snapshot.Hold{ID: x.ID, Holder: x.Holder, TTL: millis(x.TTL), Left: millis(left)})
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Begin implements snapshot.Snapshots.
func (s *Saver) Begin(ctx context.Context) (*snapshot.BeginReply, error) {
	if s.Schedule == nil {
		return nil, api.NewError(api.CodeTaskNotFound, "this server makes no backups by itself")
	}
	return s.Schedule(ctx)
}

func millis(n int64) api.Duration { return api.Duration(time.Duration(n) * time.Millisecond) }

// Save implements snapshot.Snapshots. The hold is made before the state is frozen, so that no blob that the state knows is dropped while the
// backup is read.
func (s *Saver) Save(ctx context.Context, r snapshot.SaveRequest) (io.ReadCloser, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	select {
	case s.busy <- struct{}{}:
	default:
		return nil, api.NewError(api.CodeOverloaded, "this node is saving %d backups already; ask later, or another node", s.Concurrent)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	holder := "a backup that " + s.Node + " is saving"
	if r.WithoutBlobs {
		holder = ""
	}
	x := &saving{Taken: Taken{Saver: s, cancel: cancel}, request: r, limit: rate.NewLimiter(rate.Limit(r.Rate), burst)}
	if err := x.begin(ctx, holder); err != nil {
		x.done(ctx)
		return nil, err
	}
	x.header.WithBlobs = !r.WithoutBlobs
	from, to := io.Pipe()
	x.PipeReader = from
	x.work.Go(func() { to.CloseWithError(x.write(ctx, to)) })
	return x, nil
}

// burst is how many bytes are read at once at most: a piece of a backup.
const burst = 1 << 20

// saving is one backup. It is the reader that Save returns.
type saving struct {
	Taken
	*io.PipeReader

	request snapshot.SaveRequest
	limit   *rate.Limiter
	once    sync.Once
}

// errClosed is why a backup ends that nobody reads any longer.
var errClosed = errors.New("nobody reads it any longer")

// Close implements io.Closer. It returns when nothing of the backup is under way.
func (x *saving) Close() error {
	x.once.Do(func() {
		x.cancel(errClosed)
		_ = x.PipeReader.Close() // it returns nil
		x.work.Wait()
		x.done(context.Background())
	})
	return nil
}

// done ends the hold if it lives, and makes room for another backup.
func (x *saving) done(ctx context.Context) {
	x.End(ctx)
	<-x.busy
}

// write writes the backup. What goes wrong stands in it, in the place of its end.
func (x *saving) write(ctx context.Context, to io.Writer) error {
	w, err := backup.NewWriter(to, x.header)
	if err != nil {
		return err
	}
	w.Pace = func(bytes int) error { return x.limit.WaitN(ctx, bytes) }
	if err := x.content(ctx, w); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		x.Logger.Warn("a backup was given up", "hold", x.hold, "err", err)
		return w.BreakOff(err)
	}
	x.Logger.Info("a backup was saved", "index", x.header.Index, "blobs", x.header.Blobs, "bytes", x.header.BlobBytes)
	return nil
}

func (x *saving) content(ctx context.Context, w *backup.Writer) error {
	if err := x.State(w); err != nil {
		return err
	}
	x.frozen = nil // what changes since is no longer in memory twice
	if x.hold == "" {
		return w.Close()
	}
	for _, b := range x.blobs {
		if err := x.blob(ctx, w, b); err != nil {
			return err
		}
	}
	if err := x.Held(ctx); err != nil {
		return err
	}
	return w.Close()
}

// blob writes one blob. If this node does not have it, it is fetched from another member.
func (x *saving) blob(ctx context.Context, w *backup.Writer, b backup.Blob) error {
	f, err := x.open(ctx, b)
	switch {
	case errors.Is(err, blob.ErrNotFound) && x.request.AllowMissing && ctx.Err() == nil:
		x.Logger.Warn("a backup lacks a blob that no node has", "digest", b.Digest, "err", err)
		return w.Missing(b)
	case errors.Is(err, blob.ErrNotFound):
		return fmt.Errorf("%w (allow_missing goes on without it)", err)
	case err != nil:
		return err
	}
	defer f.Close()
	return w.Blob(b, io.NewSectionReader(f, 0, f.Size()))
}
