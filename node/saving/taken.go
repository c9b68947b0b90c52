package saving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/google/uuid"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// Taken is the state of a cluster at one index, and a hold that keeps its blobs. End must follow.
type Taken struct {
	*Saver

	cancel context.CancelCauseFunc // of what needs the hold
	work   sync.WaitGroup

	hold   string // its ID; "": there is none
	frozen *task.Frozen
	blobs  []backup.Blob
	header backup.Header
}

// Take takes the state, and keeps its blobs until End, or until ctx ends. holder says for whom, in words. cancel is told why the hold is over
// before its time.
func (s *Saver) Take(ctx context.Context, holder string, cancel context.CancelCauseFunc) (*Taken, error) {
	ctx, stop := context.WithCancelCause(ctx)
	x := &Taken{Saver: s, cancel: func(why error) {
		if stop(why); why != nil {
			cancel(why)
		}
	}}
	if err := x.begin(ctx, holder); err != nil {
		x.End(ctx)
		return nil, err
	}
	return x, nil
}

// begin makes the hold, and takes the state. Without a holder there is no hold.
func (x *Taken) begin(ctx context.Context, holder string) error {
	if holder != "" {
		id := uuid.NewString()
		if _, err := x.Log.Propose(ctx, task.HoldBlobs{ID: id, Holder: holder, TTL: task.Millis(x.TTL.Milliseconds())}); err != nil {
			return err
		}
		x.hold = id
		x.work.Go(func() { x.renew(ctx) })
	}
	frozen, err := x.Saver.State.Freeze(ctx)
	if err != nil {
		return api.NewError(api.CodeNotReady, "the state cannot be read now: %v", err)
	}
	x.frozen, x.blobs = frozen, backup.Needed(frozen)
	x.header = x.describe(frozen)
	return nil
}

// describe makes the header.
func (x *Taken) describe(f *task.Frozen) backup.Header {
	h := backup.Header{
		Cluster: x.Cluster(), Node: x.Node, Version: x.Version, Begun: x.Now().UTC(), LogFormat: wire.Format, Blobs: int64(len(x.blobs)),
	}
	h.Describe(f)
	for _, b := range x.blobs {
		h.BlobBytes += b.Size
	}
	return h
}

// renew keeps the hold alive until ctx ends. A hold that is over ends the backup.
func (x *Taken) renew(ctx context.Context) {
	every := x.TTL / renewals
	for pause := every; idle.For(ctx, pause); {
		rs, err := x.Saver.State.Propose(ctx, task.HoldBlobs{ID: x.hold, TTL: task.Millis(x.TTL.Milliseconds()), Renew: true})
		switch {
		case err != nil:
			pause = min(retryPause, every)
		case rs[0].Code != task.OK:
			x.cancel(ErrHoldOver)
		default:
			pause = every
		}
	}
}

// ErrHoldOver ends a backup whose hold was not renewed in time.
var ErrHoldOver = errors.New("its hold on blobs is over, because no leader took a renewal in time: blobs may be gone")

// End ends the hold if it lives.
func (x *Taken) End(ctx context.Context) {
	x.cancel(nil)
	x.work.Wait()
	if x.hold == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if _, err := x.Saver.State.Propose(ctx, task.HoldBlobs{ID: x.hold}); err != nil {
		x.Logger.Warn("the hold of a backup ends by itself only", "hold", x.hold, "ttl", x.TTL, "err", err)
	}
}

// Header describes the state. It says that blobs are not in the file.
func (x *Taken) Header() backup.Header { return x.header }

// Blobs are the blobs that the state knows, by digest.
func (x *Taken) Blobs() []backup.Blob { return x.blobs }

// State writes the state.
func (x *Taken) State(w *backup.Writer) error { return w.State(x.frozen) }

// Open opens a blob. If this node does not have it, it is fetched from another member.
func (x *Taken) Open(ctx context.Context, b backup.Blob) (io.ReadCloser, error) {
	f, err := x.open(ctx, b)
	if err != nil {
		return nil, err
	}
	return section{io.NewSectionReader(f, 0, f.Size()), f}, nil
}

// section is a file that is read from its beginning.
type section struct {
	*io.SectionReader
	io.Closer
}

func (x *Taken) open(ctx context.Context, b backup.Blob) (*blob.File, error) {
	f, err := x.Files.Open(ctx, b.Digest)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return nil, fmt.Errorf("no node that answers has the blob %s of %d bytes: %w", b.Digest, b.Size, err)
	case err != nil:
		return nil, fmt.Errorf("blob %s: %w", b.Digest, err)
	}
	return f, nil
}

// Held returns an error if the hold did not live until now.
func (x *Taken) Held(ctx context.Context) error {
	rs, err := x.Saver.State.Propose(ctx, task.HoldBlobs{ID: x.hold, TTL: task.Millis(x.TTL.Milliseconds()), Renew: true})
	if err != nil {
		return fmt.Errorf("nobody says whether the hold on blobs lived until the end: %w", err)
	}
	if rs[0].Code != task.OK {
		return ErrHoldOver
	}
	return nil
}
