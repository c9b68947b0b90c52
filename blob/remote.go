package blob

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Remote is the cluster's files for a process that is not a member: a separate worker.
type Remote struct {
	Store *Store          // the process's own files; a cache
	Peers func() []string // node-to-node addresses of members
}

// Put has a member store data on a majority; afterwards a command may refer to the data. The errors ErrTooFew and ErrNoSpace
// are the cluster's.
func (r Remote) Put(ctx context.Context, data []byte) (string, error) {
	b, err := r.Store.StageBytes(data)
	if err != nil {
		return "", err
	}
	defer b.Close()
	errs := []error{fmt.Errorf("%w: no node has done it", ErrTooFew)}
	for _, peer := range shuffled(r.Peers()) {
		err := r.Store.putFor(ctx, peer, b)
		if err == nil {
			if err := b.keep(); err != nil { // a likely next step reads it
				r.Store.cfg.Logger.Warn("cannot keep a blob here", "digest", b.Digest, "err", err)
			}
			return b.Digest, nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		errs = append(errs, fmt.Errorf("%s: %w", peer, err))
	}
	return "", errors.Join(errs...)
}

// Open opens a file. It fetches the file if this process does not have it.
func (r Remote) Open(ctx context.Context, digest string) (*File, error) {
	return r.Store.Open(ctx, digest, r.Peers())
}

// Fetch returns a file's bytes. It implements worker.Modules.
func (r Remote) Fetch(ctx context.Context, digest string, _ int64) ([]byte, error) {
	return r.Store.Get(ctx, digest, r.Peers())
}

// putForTime is how long a member may take to store a file on a majority.
const putForTime = 90 * time.Second

func (s *Store) putFor(ctx context.Context, peer string, b *Staged) error {
	a, err := s.dial(ctx, peer)
	if err != nil {
		return err
	}
	defer a.close()
	return a.ask(opPutFor, b.Digest, []uint64{uint64(b.Size)}, b.Reader(), putForTime)
}

func shuffled(all []string) []string {
	all = slices.Clone(all)
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}
