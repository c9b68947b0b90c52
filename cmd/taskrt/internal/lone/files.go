package lone

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/worker"
)

// keepBytes is how much of the cluster's files a worker keeps on its disk: the modules and payloads that it used
// last.
const keepBytes = 2 << 30

// files are the cluster's files for a worker that is no member: its own disk is a cache of them.
type files struct {
	nodes *Directory
	store *blob.Store
}

var (
	_ worker.Modules = (*files)(nil)
	_ worker.Blobs   = (*files)(nil)
)

func (f *files) remote() blob.Remote { return blob.Remote{Store: f.store, Peers: f.nodes.members} }

// Fetch implements worker.Modules.
func (f *files) Fetch(ctx context.Context, digest string, size int64) ([]byte, error) {
	b, err := f.remote().Fetch(ctx, digest, size)
	if err != nil {
		return nil, fmt.Errorf("fetch module: %w", err)
	}
	return b, nil
}

// Put implements worker.Blobs.
func (f *files) Put(ctx context.Context, data []byte) (digest string, err error) {
	return f.remote().Put(ctx, data)
}

// Open implements worker.Blobs.
func (f *files) Open(ctx context.Context, digest string) (worker.Blob, error) {
	b, err := f.remote().Open(ctx, digest)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", worker.ErrNoBlob, err)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}
