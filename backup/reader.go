package backup

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// Reader reads a backup: State once, then Next until io.EOF. It verifies what it hands out: pieces by their checksums, blobs by their
// digests, and the whole by the end. It holds two pieces in memory.
type Reader struct {
	pieces *pieceReader
	header Header
	end    End
	seen   End // what was counted so far

	kind    kind // of the piece at hand
	content []byte
	taken   int // bytes of the content that were handed out

	last  [sha256.Size]byte // digest of the blob before
	blobs int64
	open  *BlobReader // the blob at hand
}

// NewReader reads the header. Close must follow.
func NewReader(r io.Reader) (*Reader, error) {
	pieces, err := newPieceReader(r)
	if err != nil {
		return nil, err
	}
	b := &Reader{pieces: pieces}
	if err := b.readHeader(); err != nil {
		pieces.close()
		return nil, err
	}
	return b, nil
}

func (b *Reader) readHeader() error {
	if err := b.next(); err != nil {
		return err
	}
	if b.kind != kindHeader {
		return b.pieces.damaged("the first piece is no header, but of kind %d", b.kind)
	}
	if err := json.Unmarshal(b.content, &b.header); err != nil {
		return b.pieces.damaged("the header cannot be read: %v", err)
	}
	return b.next()
}

// Header says what the backup holds.
func (b *Reader) Header() Header { return b.header }

// End says what was written. It is there when Next has returned io.EOF.
func (b *Reader) End() End { return b.end }

// Seen says what was read so far, as End says it of the whole.
func (b *Reader) Seen() End { return b.seen }

// Position returns how many bytes of the file were read.
func (b *Reader) Position() int64 { return b.pieces.at }

// Close lets go of what the Reader needs.
func (b *Reader) Close() { b.pieces.close() }

// next takes the next piece.
func (b *Reader) next() (err error) {
	b.taken = 0
	if b.kind, b.content, err = b.pieces.next(); err != nil {
		return err
	}
	if b.kind == kindBroken {
		return fmt.Errorf("%w by node %q: %s", ErrBrokenOff, b.header.Node, strings.ToValidUTF8(string(b.content), "?"))
	}
	return nil
}

// Known returns an error if this build cannot restore the state, because a later one has written it.
func (b *Reader) Known() error {
	switch h := b.header; {
	case h.LogFormat != wire.Format:
		return fmt.Errorf("%w: the state has format %d, and this build reads format %d; taskrt %s wrote it", ErrVersion, h.LogFormat, wire.Format, h.Version)
	case h.Level > task.KnownLevel:
		return fmt.Errorf("%w: the cluster had feature level %d, and this build knows up to %d; taskrt %s wrote it", ErrVersion, h.Level, task.KnownLevel, h.Version)
	}
	return nil
}

// State hands the bytes of the state to use. What use does not read is read and dropped.
func (b *Reader) State(use func(io.Reader) error) error {
	from := &stateReader{Reader: b}
	err := use(from)
	if from.err != nil && !errors.Is(from.err, io.EOF) {
		return from.err // the file's fault, whatever use has made of it
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, from)
	return err
}

// Machine restores the state into a machine, which verifies the state by its digest, and compares the machine with the header.
func (b *Reader) Machine(options ...task.Option) (m *task.Machine, err error) {
	if err := b.Known(); err != nil {
		return nil, err
	}
	err = b.State(func(r io.Reader) error {
		if m, err = wire.ReadSnapshot(r, options...); err != nil {
			return fmt.Errorf("%w: the state cannot be restored: %w", ErrDamaged, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if d := m.Digest(); d.Index != b.header.Index || d.Sum != b.header.Digest || m.Level() != b.header.Level {
		return nil, fmt.Errorf("%w: the state is of index %d with digest %x, the header says index %d with digest %x", ErrDamaged, d.Index, d.Sum, b.header.Index, b.header.Digest)
	}
	return m, nil
}

// stateReader reads the pieces of the state.
type stateReader struct {
	*Reader
	err error
}

// Read implements io.Reader.
func (r *stateReader) Read(p []byte) (int, error) {
	for r.err == nil {
		switch {
		case r.kind != kindState:
			r.err = io.EOF
		case r.taken == len(r.content):
			r.err = r.next()
		default:
			n := copy(p, r.content[r.taken:])
			r.taken += n
			r.seen.StateBytes += int64(n)
			return n, nil
		}
	}
	return 0, r.err
}

// Next returns the next blob, or that it is missing. What was not read of the blob before is read and verified. It returns io.EOF behind the
// last blob, when the end has been verified, too.
func (b *Reader) Next() (*BlobReader, error) {
	if b.open != nil {
		if _, err := io.Copy(io.Discard, b.open); err != nil {
			return nil, err
		}
		b.open = nil
	}
	switch b.kind {
	case kindBlob, kindMissing:
		return b.beginBlob()
	case kindEnd:
		return nil, b.finish()
	}
	return nil, b.pieces.damaged("the piece before is of kind %d, where a blob or the end is due", b.kind)
}

func (b *Reader) beginBlob() (*BlobReader, error) {
	if len(b.content) != blobHead {
		return nil, b.pieces.damaged("the blob before begins with %d bytes, not %d", len(b.content), blobHead)
	}
	digest, size := b.content[:sha256.Size], int64(binary.BigEndian.Uint64(b.content[sha256.Size:]))
	if size < 0 || b.blobs > 0 && string(digest) <= string(b.last[:]) {
		return nil, b.pieces.damaged("the blob before is out of order, or has a negative size")
	}
	copy(b.last[:], digest)
	b.blobs++
	r := &BlobReader{from: b, Blob: Blob{hex.EncodeToString(digest), size}, sum: sha256.New(), Missing: b.kind == kindMissing}
	if r.Missing {
		b.seen.Missing++
		return r, b.next()
	}
	b.seen.Blobs++
	b.open = r
	return r, b.next()
}

// finish verifies the end, and returns io.EOF if all is right.
func (b *Reader) finish() error {
	number, sum := b.pieces.number-1, hex.EncodeToString(b.pieces.before[:])
	if err := json.Unmarshal(b.content, &b.end); err != nil {
		return b.pieces.damaged("the end cannot be read: %v", err)
	}
	b.seen.Pieces, b.seen.SHA256 = number, sum
	if b.end != b.seen {
		return b.pieces.damaged("the end says %+v, the file has %+v", b.end, b.seen)
	}
	if b.header.WithBlobs && b.blobs != b.header.Blobs {
		return b.pieces.damaged("the file has %d blobs, the header says %d", b.blobs, b.header.Blobs)
	}
	if err := b.pieces.ended(); err != nil {
		return err
	}
	return io.EOF
}

// BlobReader reads a blob. Its io.EOF says that the bytes were the blob.
type BlobReader struct {
	Blob
	Missing bool // no node had it: there is nothing to read

	from *Reader
	sum  hash.Hash
	read int64
	err  error
}

// Read implements io.Reader.
func (r *BlobReader) Read(p []byte) (int, error) {
	if r.Missing {
		return 0, io.EOF
	}
	b := r.from
	for r.err == nil {
		switch {
		case b.kind != kindBlobBytes:
			r.err = r.whole()
		case b.taken == len(b.content):
			r.err = b.next()
		default:
			n := copy(p, b.content[b.taken:])
			_, _ = r.sum.Write(p[:n]) // a hash does not fail
			b.taken += n
			r.read += int64(n)
			b.seen.BlobBytes += int64(n)
			return n, nil
		}
	}
	return 0, r.err
}

// whole returns io.EOF if all bytes were read and are the blob.
func (r *BlobReader) whole() error {
	if got := hex.EncodeToString(r.sum.Sum(nil)); r.read != r.Size || got != r.Digest {
		return r.from.pieces.damaged("before it are %d bytes with the digest %s for the blob %s of %d bytes", r.read, got, r.Digest, r.Size)
	}
	return io.EOF
}
