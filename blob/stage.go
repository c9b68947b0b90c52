package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// maxInMemory is how many files may be held in memory at a time because the disk does not take them.
const maxInMemory = 4

// spool takes bytes that are to become a file. It holds them in a temporary file. If the disk fails it holds them in memory, as long as
// memory does not hold too many files: a peer may still have room for the file.
type spool struct {
	s       *Store
	file    TempFile // nil: in memory
	data    []byte
	diskErr error // why the bytes are in memory
	named   bool  // the file has its name
	hash    *hasher
}

func (s *Store) newSpool() (*spool, error) {
	p := &spool{s: s, hash: newHasher(s.seed)}
	f, err := s.createTemp()
	if err == nil {
		p.file = f
		return p, nil
	}
	return p, p.toMemory(err)
}

// toMemory goes on in memory after the disk has failed.
func (p *spool) toMemory(diskErr error) error {
	p.s.disk.note(diskErr)
	select {
	case p.s.memory <- struct{}{}:
	default:
		p.drop()
		return diskErr
	}
	p.diskErr = diskErr
	if p.file == nil {
		return nil
	}
	p.data = make([]byte, p.hash.size)
	n, err := p.file.ReadAt(p.data, 0)
	p.drop()
	if int64(n) < p.hash.size {
		p.data = nil
		return errors.Join(diskErr, err)
	}
	return nil
}

// Write implements io.Writer.
func (p *spool) Write(b []byte) (int, error) {
	if p.file != nil {
		if _, err := p.file.Write(b); err != nil {
			if err := p.toMemory(diskError("write", err)); err != nil {
				return 0, err
			}
		}
	}
	if p.file == nil {
		p.data = append(p.data, b...)
	}
	return p.hash.Write(b)
}

// ReadAt implements io.ReaderAt.
func (p *spool) ReadAt(b []byte, off int64) (int, error) {
	if p.file != nil {
		return p.file.ReadAt(b, off)
	}
	return readerAt(p.data).ReadAt(b, off)
}

// drop removes the temporary file.
func (p *spool) drop() {
	if p.file != nil {
		_ = p.file.Close()
		if !p.named {
			_ = os.Remove(p.file.Name())
		}
		p.file = nil
	}
}

// close releases what the spool holds.
func (p *spool) close() {
	p.drop()
	if p.diskErr != nil {
		p.diskErr = nil
		<-p.s.memory
	}
}

// keep makes the bytes durable under their digest: once it has returned nil, a power failure does not lose them.
func (p *spool) keep(digest string) (err error) {
	if p.diskErr != nil {
		return p.diskErr
	}
	defer func() { p.s.disk.note(err) }()
	p.s.sheets.put(digest, p.hash.sheet())
	defer p.s.cache.trim(p.s)
	if p.file != nil && !p.named {
		err := p.s.name(p.file, digest)
		if !errors.Is(err, fs.ErrNotExist) {
			p.named = err == nil
			return err
		}
		// Somebody has deleted the folder with the temporary file in it; its bytes can still be read.
	}
	return p.copy(digest)
}

// copy makes the file from the bytes in memory, or from the bytes of a file that has lost its name.
func (p *spool) copy(digest string) error {
	f, err := p.s.createTemp()
	if err != nil {
		return err
	}
	h := newHasher(p.s.seed)
	_, err = io.Copy(f, io.TeeReader(io.NewSectionReader(p, 0, p.hash.size), h))
	switch {
	case err != nil:
		err = diskError("write "+digest, err)
	case h.digest() != digest:
		err = fmt.Errorf("%w: %s, read back", ErrCorrupt, digest)
	default:
		err = p.s.name(f, digest)
	}
	_ = f.Close() // synced
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// name syncs a file and gives it its name.
func (s *Store) name(f TempFile, digest string) error {
	if err := f.Sync(); err != nil {
		return diskError("sync "+digest, err)
	}
	defer s.locks.lock(digest)()
	if err := s.publish(f.Name(), digest); err != nil {
		return diskError("name "+digest, err)
	}
	s.cache.added(digest, s.path(digest))
	return nil
}

// Staged is a file whose digest is known, but which is not stored yet: nothing can find it by its digest. Close it.
type Staged struct {
	Digest string
	Size   int64

	s    *Store
	body *spool

	keeping sync.Mutex // held while this node stores it
	mu      sync.Mutex
	uses    int
}

// Stage reads r to its end, into a temporary file. It returns errors of r as they are.
func (s *Store) Stage(ctx context.Context, r io.Reader) (*Staged, error) {
	p, err := s.newSpool()
	if err != nil {
		return nil, err
	}
	b, err := s.stage(ctx, p, r)
	if err != nil {
		p.close()
		return nil, err
	}
	return b, nil
}

func (s *Store) stage(ctx context.Context, p *spool, r io.Reader) (*Staged, error) {
	buf := make([]byte, pieceBytes)
	for {
		n, err := r.Read(buf)
		if p.hash.size+int64(n) > s.cfg.MaxBytes {
			return nil, fmt.Errorf("%w: at most %d bytes", ErrTooLarge, s.cfg.MaxBytes)
		}
		if _, werr := p.Write(buf[:n]); werr != nil {
			return nil, werr
		}
		if errors.Is(err, io.EOF) {
			return s.staged(p), nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
}

// StageBytes makes a Staged of bytes in memory. The bytes must not be changed any more.
func (s *Store) StageBytes(data []byte) (*Staged, error) {
	if int64(len(data)) > s.cfg.MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(data), s.cfg.MaxBytes)
	}
	p := &spool{s: s, data: data, hash: newHasher(s.seed)}
	_, _ = p.hash.Write(data)
	return s.staged(p), nil
}

func (s *Store) staged(p *spool) *Staged {
	return &Staged{Digest: p.hash.digest(), Size: p.hash.size, s: s, body: p, uses: 1}
}

// keep stores the file on this node, durably. It stores the file again if the file was unlinked since.
func (b *Staged) keep() error {
	b.keeping.Lock()
	defer b.keeping.Unlock()
	if b.s.VerifyNow(b.Digest) == nil {
		return nil
	}
	return b.body.keep(b.Digest)
}

// Reader reads the bytes from the beginning.
func (b *Staged) Reader() io.Reader { return io.NewSectionReader(b.body, 0, b.Size) }

// hold keeps b open until Close was called once more.
func (b *Staged) hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.uses++
}

// Close removes the file if it was not stored.
func (b *Staged) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.uses--; b.uses == 0 {
		b.body.close()
	}
}
