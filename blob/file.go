package blob

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"sync"
)

// File is an open file whose bytes are checked whenever they are read: a read returns the right bytes or ErrCorrupt, never wrong
// bytes. If the disk tears the file while it is open, the file is fetched again.
type File struct {
	s      *Store
	digest string
	size   int64
	whole  bool // all of it has been read by opening it
	again  func() (*File, error)

	mu    sync.RWMutex
	r     io.ReaderAt
	sheet *sheet // nil: in memory
}

var _ io.ReaderAt = (*File)(nil)

func readerAt(data []byte) io.ReaderAt { return bytes.NewReader(data) }

// openHere opens this node's file. A file that does not match its name is removed, so the next Open fetches it.
func (s *Store) openHere(digest string) (*File, error) {
	disk, err := os.Open(s.path(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	f := &File{s: s, digest: digest, r: disk, sheet: s.sheets.get(digest)}
	if f.sheet == nil {
		h := newHasher(s.seed)
		if _, err := io.Copy(h, io.LimitReader(disk, s.cfg.MaxBytes+1)); err != nil {
			_ = disk.Close()
			return nil, fmt.Errorf("blob: %w", err)
		}
		if h.digest() != digest {
			return nil, errors.Join(s.removeCorrupt(digest, disk), disk.Close())
		}
		f.sheet, f.whole = h.sheet(), true
		s.sheets.put(digest, f.sheet)
	}
	f.size = f.sheet.size
	s.cache.used(digest)
	return f, nil
}

// Size returns the number of bytes.
func (f *File) Size() int64 { return f.size }

// Digest returns the file's name.
func (f *File) Digest() string { return f.digest }

// Close implements io.Closer.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c, ok := f.r.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("blob: negative offset %d", off)
	}
	n, err := f.read(p, off)
	if !errors.Is(err, ErrCorrupt) || f.again == nil {
		return n, err
	}
	if healed := f.heal(); healed != nil {
		return n, errors.Join(err, healed)
	}
	more, err := f.read(p[n:], off+int64(n))
	return n + more, err
}

func (f *File) read(p []byte, off int64) (n int, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.sheet == nil {
		return f.r.ReadAt(p, off)
	}
	var piece []byte // where a piece of which only a part is wanted is read to
	for n < len(p) && off < f.size {
		first := off - off%pieceBytes
		length := min(pieceBytes, f.size-first)
		if off == first && int64(len(p)-n) >= length {
			if err := f.readPiece(p[n:n+int(length)], first); err != nil {
				return n, err
			}
			n, off = n+int(length), off+length
			continue
		}
		if piece == nil {
			piece = make([]byte, pieceBytes)
		}
		if err := f.readPiece(piece[:length], first); err != nil {
			return n, err
		}
		copied := copy(p[n:], piece[off-first:length])
		n, off = n+copied, off+int64(copied)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// readPiece reads one whole piece and checks it.
func (f *File) readPiece(p []byte, first int64) error {
	got, err := f.r.ReadAt(p, first)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("blob: read %s: %w", f.digest, err)
	}
	if got == len(p) && maphash.Bytes(f.s.seed, p) == f.sheet.sums[first/pieceBytes] {
		return nil
	}
	return f.s.removeCorrupt(f.digest, f.r.(*os.File))
}

// Lend checks every byte and calls use with the file on disk, so that another process can read it. Nobody checks what this process
// reads. If the bytes are in memory only, lent is false and use is not called.
func (f *File) Lend(use func(*os.File) error) (lent bool, err error) {
	piece := make([]byte, pieceBytes)
	for off := int64(0); !f.whole && off < f.size; off += pieceBytes { // through ReadAt, which heals
		if n, err := f.ReadAt(piece[:min(pieceBytes, f.size-off)], off); int64(n) < min(pieceBytes, f.size-off) {
			return false, err
		}
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	disk, ok := f.r.(*os.File)
	if !ok {
		return false, nil
	}
	return true, use(disk)
}

// heal puts a fetched file in the place of a file that the disk has torn.
func (f *File) heal() error {
	other, err := f.again()
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c, ok := f.r.(io.Closer); ok {
		_ = c.Close()
	}
	f.r, f.sheet = other.r, other.sheet
	return nil
}
