package blob

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"
)

// maxBreaks is how often one fetch goes on after it broke off.
const maxBreaks = 64

// standstill is how long a peer may stand still at first. A peer that was cut off must not hold up a fetch from other peers. If no
// other peer has the file, all are asked once more, with the store's whole timeout.
const standstill = 2 * time.Second

// maxParts is how many broken-off fetches are remembered, with the bytes that they have got.
const maxParts = 8

// part holds the bytes that a fetch has got so far.
type part struct {
	*spool
	total int64 // of the whole file; -1: not known
}

// parts keeps the bytes that broken-off fetches have got.
type parts struct {
	mu     sync.Mutex
	by     map[string]*part
	closed bool
}

// take returns the part of a digest, nil if there is none.
func (p *parts) take(digest string) *part {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := p.by[digest]
	delete(p.by, digest)
	return got
}

// put keeps a part for the next fetch of its digest. Beyond maxParts, another part is dropped.
func (p *parts) put(digest string, got *part) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if got.hash.size == 0 || got.diskErr != nil || p.closed {
		got.close()
		return
	}
	if p.by == nil {
		p.by = map[string]*part{}
	}
	for other, old := range p.by {
		if len(p.by) < maxParts {
			break
		}
		old.close()
		delete(p.by, other)
	}
	p.by[digest] = got
}

// clear removes all parts for good.
func (p *parts) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, got := range p.by {
		got.close()
	}
	clear(p.by)
}

func (s *Store) newPart() (*part, error) {
	p, err := s.newSpool()
	return &part{spool: p, total: -1}, err
}

// fetching is one fetch.
type fetching struct {
	s      *Store
	digest string
	peers  []string
	part   *part
	errs   map[string]error // the last of each peer
}

// fetch asks the peers one after the other, in random order, so that the fetches of a new module do not all fall on one node. It puts
// the file together from what any of the peers sends. If the result does not match the digest, somebody lies, and fetch asks each
// peer for the whole file. data is the file if it could not be kept on the disk.
func (s *Store) fetch(digest string, peers []string) (data []byte, err error) {
	f := &fetching{s: s, digest: digest, peers: shuffled(peers), errs: map[string]error{}}
	if f.part = s.parts.take(digest); f.part == nil {
		if f.part, err = s.newPart(); err != nil {
			return nil, err
		}
	}
	ok, err := f.together()
	for i := 0; !ok && err == nil && i < len(f.peers); i++ {
		ok, err = f.alone(f.peers[i])
	}
	if !ok {
		s.parts.put(digest, f.part)
		return nil, errors.Join(err, f.failure())
	}
	defer f.part.close()
	if err := f.part.keep(digest); err != nil {
		// The bytes are right and the caller can go on; the disk is reported, and asked again next time.
		s.cfg.Logger.Error("cannot keep a fetched blob", "digest", digest, "err", err)
		data = make([]byte, f.part.hash.size)
		if _, err := f.part.ReadAt(data, 0); err != nil {
			return nil, diskError("read back "+digest, err)
		}
		return data, nil
	}
	return nil, nil
}

// together continues the part with whichever peer sends something, until the part is whole. If nobody has more bytes, f.peers
// becomes empty. If the bytes are wrong, all peers stay in f.peers, and the part is thrown away.
func (f *fetching) together() (ok bool, err error) {
	patience, breaks := min(standstill, f.s.cfg.Timeout), 0
	for again := true; again && breaks < maxBreaks && f.s.ctx.Err() == nil; {
		before, passedOver := breaks, false
		for _, peer := range f.peers {
			had := f.part.hash.size
			whole, err := f.get(peer, patience)
			if err != nil {
				return false, err
			}
			if whole {
				if f.part.hash.digest() == f.digest {
					return true, nil
				}
				return false, f.restart()
			}
			if errors.Is(f.errs[peer], errOtherSize) {
				return false, f.restart()
			}
			if f.part.hash.size > had {
				breaks++
			}
			passedOver = passedOver || errors.Is(f.errs[peer], os.ErrDeadlineExceeded)
		}
		switch {
		case breaks > before: // all of them may be slow
			patience = min(2*patience, f.s.cfg.Timeout)
		case passedOver && patience < f.s.cfg.Timeout:
			patience = f.s.cfg.Timeout
		default:
			again = false
		}
	}
	f.peers = nil // nobody lied, but nobody has more
	return false, nil
}

// alone gets the whole file from one peer.
func (f *fetching) alone(peer string) (ok bool, err error) {
	for range maxBreaks {
		had := f.part.hash.size
		whole, err := f.get(peer, f.s.cfg.Timeout)
		if err != nil {
			return false, err
		}
		if whole && f.part.hash.digest() == f.digest {
			return true, nil
		}
		if whole {
			f.errs[peer] = ErrCorrupt
			break
		}
		if f.part.hash.size == had {
			break
		}
	}
	return false, f.restart()
}

// get asks one peer for the missing bytes. The peer may stand still for as long as patience. The error is this node's own.
func (f *fetching) get(peer string, patience time.Duration) (whole bool, err error) {
	f.errs[peer] = f.s.get(f.s.ctx, peer, f.digest, f.part, patience)
	if own, ok := errors.AsType[*ownError](f.errs[peer]); ok {
		return false, own.error
	}
	if f.errs[peer] == nil {
		f.errs[peer] = ErrCorrupt // if it is not, nobody asks
	}
	return f.part.hash.size == f.part.total, nil
}

// restart throws the part away.
func (f *fetching) restart() (err error) {
	f.part.close()
	f.part, err = f.s.newPart()
	return err
}

// failure says why no peer could give the file.
func (f *fetching) failure() error {
	errs := []error{fmt.Errorf("%w: %s", ErrNotFound, f.digest)}
	for _, peer := range slices.Sorted(maps.Keys(f.errs)) {
		errs = append(errs, fmt.Errorf("%s: %w", peer, f.errs[peer]))
	}
	if f.s.ctx.Err() != nil {
		errs = append(errs, context.Cause(f.s.ctx))
	}
	return errors.Join(errs...)
}

// ownError is an error of this node, not of the peer.
type ownError struct{ error }

var errOtherSize = errors.New("blob: the size is not what another peer said")
