package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt/internal/durable"
	"github.com/taskrt/taskrt/internal/mux"
	"golang.org/x/sync/singleflight"
)

// These are the errors of the store. ErrNotFound means that neither this node nor any peer that answered has the file.
var (
	ErrNotFound = errors.New("blob: not found")
	ErrTooLarge = errors.New("blob: file too large")
	ErrCorrupt  = errors.New("blob: bytes do not match the digest")
	ErrTooFew   = errors.New("blob: not stored by enough nodes")
	ErrNoSpace  = errors.New("blob: no space left on the disk")
	ErrClosed   = errors.New("blob: store closed")
)

// DefaultMaxBytes is the largest file by default: a module (SPEC B2).
const DefaultMaxBytes = 32 << 20

// Dialer connects to a peer's node-to-node port. mux.Network and mux.Dialer implement it.
type Dialer interface {
	Dial(ctx context.Context, addr string, p mux.Protocol) (net.Conn, error)
}

// Config configures a Store.
type Config struct {
	// Dir is made if it is missing, private to the process.
	Dir string
	// Net dials peers; nil: the store is local only.
	Net Dialer
	// MaxBytes bounds one file. 0: DefaultMaxBytes.
	MaxBytes int64
	// KeepBytes makes the store a cache: beyond so many bytes, the files that were used least recently are removed. 0: all files stay.
	KeepBytes int64
	// Timeout is how long a peer may stand still within one exchange before the store passes over it. 0: 30 s.
	Timeout time.Duration
	// Applied returns once this node's state reflects the log up to index. Before, no file that was noted there may be
	// written, or be said to be there (see DESIGN.md). nil: files are not in a log.
	Applied func(ctx context.Context, index uint64) error
	// PutFor stores a file on a majority for a worker that asks for it. It must not keep b. nil: such requests are refused.
	PutFor func(ctx context.Context, b *Staged) error
	// OnCorrupt is told of every file that was removed because its bytes were wrong. It must not block.
	OnCorrupt func(digest string)
	// Create makes a temporary file; nil: os.CreateTemp. Tests give files on disks that are full.
	Create func(dir, pattern string) (TempFile, error)
	Logger *slog.Logger // nil: discard
}

// TempFile is a file that has no name yet. *os.File implements it.
type TempFile interface {
	io.Writer
	io.ReaderAt
	io.Closer
	Sync() error
	Name() string
}

// Store is one node's files. All methods are safe for concurrent use.
type Store struct {
	cfg     Config
	seed    maphash.Seed
	flight  singleflight.Group
	busy    chan struct{} // one element per request of a peer that is worked on
	storing chan struct{} // one per file that is put for a worker; apart, because these wait for other nodes' busy
	memory  chan struct{} // one per file that is held in memory because the disk does not take it
	locks   locks
	sheets  *sheets
	parts   parts
	cache   *cache // nil: all files stay
	disk    disk
	probe   probe
	corrupt atomic.Int64
	remade  atomic.Int64

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
	if cfg.Create == nil {
		cfg.Create = func(dir, pattern string) (TempFile, error) { return os.CreateTemp(dir, pattern) }
	}
	tmp := filepath.Join(cfg.Dir, tmpName)
	if err := os.RemoveAll(tmp); err != nil {
		return nil, fmt.Errorf("blob: clean up: %w", err)
	}
	if err := durable.MkdirAll(tmp); err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Store{
		cfg: cfg, seed: maphash.MakeSeed(), ctx: ctx, cancel: cancel, lns: map[net.Listener]struct{}{},
		busy: make(chan struct{}, maxBusy), storing: make(chan struct{}, maxStoring), memory: make(chan struct{}, maxInMemory),
		sheets: newSheets(),
	}
	if cfg.KeepBytes > 0 {
		if err := s.openCache(); err != nil {
			cancel()
			return nil, err
		}
	}
	return s, nil
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
	s.parts.clear()
	return nil
}

// enter registers work that Close waits for. It returns false after Close.
func (s *Store) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Add(1)
	return true
}

// Put stores data on this node, durably, and returns its digest. Storing a file that is there already costs one read.
func (s *Store) Put(ctx context.Context, data []byte) (string, error) {
	b, err := s.StageBytes(data)
	if err != nil {
		return "", err
	}
	defer b.Close()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return b.Digest, b.keep()
}

// Get opens a file as Open does, and returns its bytes.
func (s *Store) Get(ctx context.Context, digest string, peers []string) ([]byte, error) {
	f, err := s.Open(ctx, digest, peers)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, f.Size())
	if _, err := f.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data, nil
}

// Open opens this node's file. If this node has none, Open fetches the file from the peers and keeps it. Concurrent calls for one
// digest share one fetch. A later fetch continues a fetch that broke off.
func (s *Store) Open(ctx context.Context, digest string, peers []string) (*File, error) {
	f, err := s.open(ctx, digest, peers)
	if err != nil {
		return nil, err
	}
	f.again = func() (*File, error) { return s.open(s.ctx, digest, peers) }
	return f, nil
}

func (s *Store) open(ctx context.Context, digest string, peers []string) (*File, error) {
	if !ValidDigest(digest) {
		return nil, fmt.Errorf("%w: %q is not a digest", ErrNotFound, digest)
	}
	f, err := s.openHere(digest)
	if err == nil {
		return f, nil
	}
	if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrCorrupt) {
		s.cfg.Logger.Warn("cannot read blob, asking peers", "digest", digest, "err", err)
	}
	data, err := s.fetchShared(ctx, digest, peers)
	if err != nil {
		return nil, err
	}
	if data != nil {
		return &File{s: s, digest: digest, r: readerAt(data), size: int64(len(data))}, nil
	}
	return s.openHere(digest)
}

// Heal makes sure that this node has a file. If it returns nil, the file lies on the disk, durably.
func (s *Store) Heal(ctx context.Context, digest string, peers []string) error {
	f, err := s.Open(ctx, digest, peers)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.sheet == nil {
		return cmp.Or(s.DiskError(s.cfg.Timeout), fmt.Errorf("blob: %s could not be kept", digest))
	}
	return nil
}

// fetchShared fetches; data is nil if the file is on the disk now.
func (s *Store) fetchShared(ctx context.Context, digest string, peers []string) (data []byte, err error) {
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
		data, _ := r.Val.([]byte)
		return data, r.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Has reports whether this node has a file of this name. It does not read the file.
func (s *Store) Has(digest string) bool {
	if !ValidDigest(digest) {
		return false
	}
	fi, err := os.Stat(s.path(digest))
	return err == nil && fi.Mode().IsRegular()
}

// Verify reads a file of this node to its end. It removes a file whose bytes are wrong and returns ErrCorrupt.
func (s *Store) Verify(digest string) error {
	if !ValidDigest(digest) {
		return fmt.Errorf("%w: %q is not a digest", ErrNotFound, digest)
	}
	f, err := s.openHere(digest)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.whole {
		return nil // it has just been read
	}
	_, err = io.Copy(io.Discard, io.NewSectionReader(f, 0, f.size))
	return err
}

// VerifyNow is Verify for a caller that will say that the file is there: an unlinking that had begun has ended before VerifyNow looks.
func (s *Store) VerifyNow(digest string) error {
	s.locks.lock(digest)()
	return s.Verify(digest)
}

// Corrupt returns how many files were removed because their bytes were wrong, since Open.
func (s *Store) Corrupt() int64 { return s.corrupt.Load() }
