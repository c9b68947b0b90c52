package blob

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Spread says where a file goes.
type Spread struct {
	Index uint64   // of the note in the log that each node must have applied before it writes
	Peers []string // addresses of the other nodes that count
	Need  int      // how many must have it
	Self  bool     // this node counts
}

// Spread stores a file on this node and on peers. It returns once to.Need of the nodes that count have the file durably, and
// goes on in the background with the other nodes. This node need not be one of the nodes that have the file: its disk may be
// full while the peers' disks are not.
func (s *Store) Spread(ctx context.Context, b *Staged, to Spread) error {
	if !s.enter() {
		return ErrClosed
	}
	results := make(chan error, len(to.Peers)+1) // of the nodes that count
	var work sync.WaitGroup
	work.Go(func() {
		err := s.applied(s.ctx, to.Index)
		if err == nil {
			err = b.keep()
		}
		if err != nil {
			s.cfg.Logger.Error("cannot store a blob here", "digest", b.Digest, "err", err)
			err = fmt.Errorf("this node: %w", err)
		}
		if to.Self {
			results <- err
		}
	})
	for _, peer := range to.Peers {
		work.Go(func() {
			err := s.send(s.ctx, peer, b, to.Index)
			if err != nil {
				err = fmt.Errorf("%s: %w", peer, err)
			}
			results <- err
		})
	}
	b.hold()
	go func() {
		defer s.wg.Done()
		work.Wait()
		b.Close()
	}()
	return to.count(ctx, results)
}

// count waits until enough nodes have the file, or until not enough nodes can have it any more.
func (to Spread) count(ctx context.Context, results <-chan error) error {
	have, left := 0, len(to.Peers)
	if to.Self {
		left++
	}
	var errs []error
	for ; left > 0 && have < to.Need && have+left >= to.Need; left-- {
		select {
		case err := <-results:
			if err == nil {
				have++
			} else {
				errs = append(errs, err)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if have < to.Need {
		return fmt.Errorf("%w: %d of %d: %w", ErrTooFew, have, to.Need, errors.Join(errs...))
	}
	return nil
}

// applied waits until this node's state reflects the log up to index.
func (s *Store) applied(ctx context.Context, index uint64) error {
	if index == 0 || s.cfg.Applied == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout/2) // the peer that waits for us does so for Timeout
	defer cancel()
	if err := s.cfg.Applied(ctx, index); err != nil {
		return fmt.Errorf("%w: index %d: %w", errBehind, index, err)
	}
	return nil
}
