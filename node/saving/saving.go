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

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/snapshot"
	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// Log is how a hold is made for who asks. service.Log implements it: its errors are *api.Error.
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
	Logger  *slog.Logger
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
	x := &saving{Saver: s, request: r, cancel: cancel, limit: rate.NewLimiter(rate.Limit(r.Rate), burst)}
	if err := x.begin(ctx); err != nil {
		x.end(ctx)
		return nil, err
	}
	from, to := io.Pipe()
	x.PipeReader = from
	x.work.Go(func() { to.CloseWithError(x.write(ctx, to)) })
	return x, nil
}

// burst is how many bytes are read at once at most: a piece of a backup.
const burst = 1 << 20

// saving is one backup. It is the reader that Save returns.
type saving struct {
	*Saver
	*io.PipeReader

	request snapshot.SaveRequest
	limit   *rate.Limiter
	cancel  context.CancelCauseFunc
	work    sync.WaitGroup
	once    sync.Once

	hold   string // its ID; "": there is none
	frozen *task.Frozen
	blobs  []backup.Blob
	header backup.Header
}

// errClosed is why a backup ends that nobody reads any longer.
var errClosed = errors.New("nobody reads it any longer")

// Close implements io.Closer. It returns when nothing of the backup is under way.
func (x *saving) Close() error {
	x.once.Do(func() {
		x.cancel(errClosed)
		_ = x.PipeReader.Close() // it returns nil
		x.work.Wait()
		x.end(context.Background())
	})
	return nil
}

// begin makes the hold, and takes the state.
func (x *saving) begin(ctx context.Context) error {
	if !x.request.WithoutBlobs {
		id := uuid.NewString()
		holder := "a backup that " + x.Node + " is saving"
		if _, err := x.Log.Propose(ctx, task.HoldBlobs{ID: id, Holder: holder, TTL: task.Millis(x.TTL.Milliseconds())}); err != nil {
			return err
		}
		x.hold = id
		x.work.Go(func() { x.renew(ctx) })
	}
	frozen, err := x.State.Freeze(ctx)
	if err != nil {
		return api.NewError(api.CodeNotReady, "the state cannot be read now: %v", err)
	}
	x.frozen, x.blobs = frozen, backup.Needed(frozen)
	x.header = x.describe(frozen)
	return nil
}

// describe makes the header.
func (x *saving) describe(f *task.Frozen) backup.Header {
	h := backup.Header{
		Cluster: x.Cluster(), Node: x.Node, Version: x.Version, Begun: x.Now().UTC(), LogFormat: wire.Format,
		WithBlobs: !x.request.WithoutBlobs, Blobs: int64(len(x.blobs)),
	}
	h.Describe(f)
	for _, b := range x.blobs {
		h.BlobBytes += b.Size
	}
	return h
}

// renew keeps the hold alive until ctx ends. A hold that is over ends the backup.
func (x *saving) renew(ctx context.Context) {
	every := x.TTL / renewals
	for pause := every; idle.For(ctx, pause); {
		rs, err := x.State.Propose(ctx, task.HoldBlobs{ID: x.hold, TTL: task.Millis(x.TTL.Milliseconds()), Renew: true})
		switch {
		case err != nil:
			pause = min(retryPause, every)
		case rs[0].Code != task.OK:
			x.cancel(errHoldOver)
		default:
			pause = every
		}
	}
}

// errHoldOver ends a backup whose hold was not renewed in time.
var errHoldOver = errors.New("its hold on blobs is over, because no leader took a renewal in time: blobs may be gone")

// end ends the hold if it lives, and makes room for another backup.
func (x *saving) end(ctx context.Context) {
	x.cancel(nil)
	x.work.Wait()
	if x.hold != "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		if _, err := x.State.Propose(ctx, task.HoldBlobs{ID: x.hold}); err != nil {
			x.Logger.Warn("the hold of a backup ends by itself only", "hold", x.hold, "ttl", x.TTL, "err", err)
		}
	}
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
	if err := w.State(x.frozen); err != nil {
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
	if err := x.held(ctx); err != nil {
		return err
	}
	return w.Close()
}

// blob writes one blob. If this node has not got it, another member's is fetched.
func (x *saving) blob(ctx context.Context, w *backup.Writer, b backup.Blob) error {
	f, err := x.Files.Open(ctx, b.Digest)
	switch {
	case errors.Is(err, blob.ErrNotFound) && x.request.AllowMissing && ctx.Err() == nil:
		x.Logger.Warn("a backup lacks a blob that no node has", "digest", b.Digest, "err", err)
		return w.Missing(b)
	case errors.Is(err, blob.ErrNotFound):
		return fmt.Errorf("no node that answers has the blob %s of %d bytes (allow_missing goes on without it): %w", b.Digest, b.Size, err)
	case err != nil:
		return fmt.Errorf("blob %s: %w", b.Digest, err)
	}
	defer f.Close()
	return w.Blob(b, io.NewSectionReader(f, 0, f.Size()))
}

// held returns an error if the hold did not live until now.
func (x *saving) held(ctx context.Context) error {
	rs, err := x.State.Propose(ctx, task.HoldBlobs{ID: x.hold, TTL: task.Millis(x.TTL.Milliseconds()), Renew: true})
	if err != nil {
		return fmt.Errorf("nobody says whether the hold on blobs lived until the end: %w", err)
	}
	if rs[0].Code != task.OK {
		return errHoldOver
	}
	return nil
}
