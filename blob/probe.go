package blob

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// probeFor is how long the result of a probe holds. Asking more often costs nothing.
const probeFor = time.Second

// probe is the last look at the folder.
type probe struct {
	mu   sync.Mutex
	at   time.Time
	err  error
	done chan struct{} // closed when the look under way has ended; nil: none is
}

// Probe reports whether files can be read and written in the folder now. A disk that does not answer before ctx ends counts as
// a disk that cannot. Probe makes a deleted folder again; Remade counts how often.
func (s *Store) Probe(ctx context.Context) error {
	p := &s.probe
	p.mu.Lock()
	done := p.done
	if done == nil {
		if !p.at.IsZero() && time.Since(p.at) < probeFor {
			defer p.mu.Unlock()
			return p.err
		}
		if !s.enter() {
			defer p.mu.Unlock()
			return ErrClosed
		}
		done = make(chan struct{})
		p.done = done
		go s.look(done)
	}
	p.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		return errors.New("blob: the disk does not answer")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (s *Store) look(done chan struct{}) {
	defer s.wg.Done()
	err := errors.Join(s.EnsureDir(), s.readable(), s.writable())
	p := &s.probe
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at, p.err, p.done = time.Now(), err, nil
	close(done)
}

// writable writes a file, and removes it.
func (s *Store) writable() error {
	f, err := s.createTemp()
	if err != nil {
		return err
	}
	_, err = f.Write([]byte{0})
	if err = errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
		return diskError("write", err)
	}
	return nil
}
