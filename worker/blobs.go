package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
)

// Blobs is the blob store as a worker uses it (SPEC H3). Digests are lower-case hex.
type Blobs interface {
	// Put returns once a majority of the nodes has data durably.
	Put(ctx context.Context, data []byte) (digest string, err error)
	// Open finds a blob here or gets it from a node. An error that wraps ErrNoBlob says that no node has the blob. The bytes that ReadAt
	// of the Blob returns have been checked against the digest.
	Open(ctx context.Context, digest string) (Blob, error)
}

// Blob is an open file of the store.
type Blob interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// ErrNoBlob means that no node has a blob.
var ErrNoBlob = errors.New("worker: no such blob")

// maxInline is how many bytes of a payload travel in a report. A longer payload goes to the blob store first (SPEC H3).
const maxInline = 64 << 10

// Pauses between tries to put or open a blob: a majority may be missing for a while.
const (
	firstBlobPause = 100 * time.Millisecond
	lastBlobPause  = 5 * time.Second
)

// openTries is how often the worker looks for a blob that is an input, before it gives the assignment back.
const openTries = 3

// retried calls f until it succeeds, or ctx ends, but not more often than times. It returns the last error that was not the end of ctx itself.
func retried[T any](ctx context.Context, times int, f func() (T, error)) (v T, err error) {
	for pause := firstBlobPause; ; pause = min(2*pause, lastBlobPause) {
		var last error
		if v, last = f(); last == nil {
			return v, nil
		}
		if err == nil || ctx.Err() == nil {
			err = last
		}
		if times--; times == 0 || !idle.For(ctx, pause) {
			return v, err
		}
	}
}

// inputs are the blobs of a run's params and checkpoint. A field is nil if that payload is no blob.
type inputs struct{ params, checkpoint Blob }

// openInputs opens the blobs that the guest reads as its inputs. An error means that the assignment cannot be carried out here now.
func (r *run) openInputs() (in inputs, err error) {
	t := r.a.Task
	if in.params, err = r.openInput(t.Params); err != nil {
		return in, fmt.Errorf("params: %w", err)
	}
	if in.checkpoint, err = r.openInput(t.Checkpoint); err != nil {
		in.close()
		return in, fmt.Errorf("checkpoint: %w", err)
	}
	return in, nil
}

// openInput opens the blob that a payload refers to. It returns nil for a payload that is no blob.
func (r *run) openInput(p task.Payload) (Blob, error) {
	if p.Blobs == nil || p.Blobs.Content == "" {
		return nil, nil
	}
	return retried(r.ctx, openTries, func() (Blob, error) { return r.s.w.cfg.Blobs.Open(r.ctx, p.Blobs.Content) })
}

func (in inputs) close() {
	for _, b := range []Blob{in.params, in.checkpoint} {
		if b != nil {
			_ = b.Close() // it was only read
		}
	}
}

// source shows a blob as the runtime reads it. It returns nil for a nil blob.
func source(b Blob) *runtime.Source {
	if b == nil {
		return nil
	}
	return &runtime.Source{ReaderAt: b, Size: b.Size()}
}

// noBlobs stands for the blob store of a worker that has no store.
type noBlobs struct{}

var errNoStore = errors.New("worker: this worker has no blob store")

func (noBlobs) Put(context.Context, []byte) (string, error) { return "", errNoStore }
func (noBlobs) Open(context.Context, string) (Blob, error)  { return nil, errNoStore }
