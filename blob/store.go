package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/taskrt/taskrt/internal/mux"
	"golang.org/x/sync/singleflight"
)

// Errors of the store. ErrNotFound: neither this node nor a peer that answered has the file.
var (
	ErrNotFound = errors.New("blob: not found")
	ErrTooLarge = errors.New("blob: file too large")
	ErrCorrupt  = errors.New("blob: bytes do not match the digest")
	ErrTooFew   = errors.New("blob: not stored by enough nodes")
	ErrClosed   = errors.New("blob: store closed")
)

// DefaultMaxBytes is the largest file by default: a module (SPEC B2).
const DefaultMaxBytes = 32 << 20

// Dialer connects to a peer's node-to-node port. mux.Network and mux.Dialer are ones.
type Dialer interface {
	Dial(ctx context.Context, addr string, p mux.Protocol) (net.Conn, error)
}

// Config configures a Store.
type Config struct {
	// Dir is made if it is missing, private to the process.
	Dir string
	// Net dials peers; nil: the store is local only.
	Net Dialer
	// MaxBytes bounds one file, because files are held in memory while they travel. 0: DefaultMaxBytes.
	MaxBytes int64
	// Timeout bounds one exchange with one peer, so that a peer which hangs is passed over. 0: 30 s.
	Timeout time.Duration
	Logger  *slog.Logger // nil: discard
}

// Store is one node's files. All methods are safe for concurrent use.
type Store struct {
	cfg    Config
	flight singleflight.Group
	busy   chan struct{} // one element per request of a peer that is worked on

	ctx    context.Context // ends with Close; fetches run under it, not under one caller's context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	lns    map[net.Listener]struct{}
}

// Open prepares the folder and removes what an interrupted write left there.
func Open(cfg Config) (*Store, error) {
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = DefaultMaxBytes
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 30 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	tmp := filepath.Join(cfg.Dir, tmpName)
	if err := os.RemoveAll(tmp); err != nil {
		return nil, fmt.Errorf("blob: clean up: %w", err)
	}
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Store{cfg: cfg, ctx: ctx, cancel: cancel, busy: make(chan struct{}, maxBusy), lns: map[net.Listener]struct{}{}}, nil
}

// Close stops serving and fetching, and waits for both. A second Close does nothing more.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.cancel() // before the listeners close: Serve tells by it why Accept fails
	for ln := range s.lns {
		_ = ln.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	return nil
}

// enter registers work that Close waits for; false after Close.
func (s *Store) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Add(1)
	return true
}

// Digest names data.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Put stores data on this node, durably, and returns its digest. Storing what is there already costs one read.
func (s *Store) Put(ctx context.Context, data []byte) (string, error) {
	if int64(len(data)) > s.cfg.MaxBytes {
		return "", fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(data), s.cfg.MaxBytes)
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	digest := Digest(data)
	if _, err := s.read(digest); err == nil {
		return digest, nil
	}
	return digest, s.write(digest, data)
}

// PutAll stores data on this node and on peers until need nodes have it durably, this one included, and goes on in the
// background with the peers that are left. It fails when fewer than need can.
func (s *Store) PutAll(ctx context.Context, data []byte, peers []string, need int) (string, error) {
	digest, err := s.Put(ctx, data)
	if err != nil {
		return "", err
	}
	if !s.enter() {
		return "", ErrClosed
	}
	results := make(chan error, len(peers))
	var sends sync.WaitGroup
	for _, peer := range peers {
		sends.Go(func() {
			pctx, cancel := context.WithTimeout(s.ctx, s.cfg.Timeout)
			defer cancel()
			err := s.send(pctx, peer, digest, data)
			if err != nil {
				err = fmt.Errorf("%s: %w", peer, err)
			}
			results <- err
		})
	}
	go func() {
		defer s.wg.Done()
		sends.Wait()
	}()
	have, errs := 1, []error(nil)
	for range peers {
		if have >= need {
			break
		}
		select {
		case err := <-results:
			if err != nil {
				errs = append(errs, err)
			} else {
				have++
			}
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	if have < need {
		return "", fmt.Errorf("%w: %d of %d: %w", ErrTooFew, have, need, errors.Join(errs...))
	}
	return digest, nil
}

// Get returns a file: from this node, else from the first peer, in random order, whose bytes match the digest; it is
// then kept. Concurrent calls for one digest share one fetch.
func (s *Store) Get(ctx context.Context, digest string, peers []string) ([]byte, error) {
	if !validDigest(digest) {
		return nil, fmt.Errorf("%w: %q is not a digest", ErrNotFound, digest)
	}
	data, err := s.read(digest)
	if err == nil {
		return data, nil
	}
	if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrCorrupt) {
		s.cfg.Logger.Warn("cannot read blob, asking peers", "digest", digest, "err", err)
	}
	if !s.enter() {
		return nil, ErrClosed
	}
	ch := s.flight.DoChan(digest, func() (any, error) { return s.fetch(digest, peers) })
	done := make(chan singleflight.Result, 1)
	go func() { // Close waits for the fetch, not for the callers.
		defer s.wg.Done()
		done <- <-ch
	}()
	select {
	case r := <-done:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.([]byte), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Has reports whether this node has a file of that name. It does not read it.
func (s *Store) Has(digest string) bool {
	if !validDigest(digest) {
		return false
	}
	fi, err := os.Stat(s.path(digest))
	return err == nil && fi.Mode().IsRegular()
}
