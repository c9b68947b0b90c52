package backup

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
)

// magic begins every backup. The format number follows in two bytes.
const (
	magic     = "taskrt-backup\r\n\x1a"
	headBytes = len(magic) + 2
)

// kind is what a piece holds.
type kind byte

// These are the kinds of pieces. Never reuse a number.
const (
	kindHeader    kind = 1 // Header as JSON
	kindState     kind = 2 // the next bytes of the state
	kindBlob      kind = 3 // digest and size of the blob that begins
	kindBlobBytes kind = 4 // the next bytes of the blob
	kindMissing   kind = 5 // digest and size of a blob that no node had
	kindEnd       kind = 6 // End as JSON
	kindBroken    kind = 7 // why the writer gave up
)

// A piece is: kind (1 byte), length of the content (4), length as stored (4), checksum (4), and the content as it is stored. The two lengths
// are equal if the content is stored as it is; else it is compressed. The checksum is of the piece's number, its kind, its lengths and what
// is stored, so that a piece in the place of another one shows, too.
const (
	pieceHead  = 1 + 4 + 4 + 4
	pieceBytes = 1 << 20 // of content at most
	blobHead   = sha256.Size + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum of a piece; head has its checksum's place, which does not count.
func checksum(number uint64, head, stored []byte) uint32 {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], number)
	sum := crc32.Update(0, castagnoli, n[:])
	sum = crc32.Update(sum, castagnoli, head[:pieceHead-4])
	return crc32.Update(sum, castagnoli, stored)
}

// pieceWriter writes pieces.
type pieceWriter struct {
	out    *bufio.Writer
	number uint64
	sum    hash.Hash // of all that was written
	packer *zstd.Encoder
	packed []byte
}

func newPieceWriter(w io.Writer) (*pieceWriter, error) {
	packer, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	p := &pieceWriter{out: bufio.NewWriterSize(w, 64<<10), sum: sha256.New(), packer: packer}
	return p, p.write(binary.BigEndian.AppendUint16([]byte(magic), Format))
}

func (p *pieceWriter) write(b []byte) error {
	_, _ = p.sum.Write(b) // a hash does not fail
	if _, err := p.out.Write(b); err != nil {
		return fmt.Errorf("backup: write: %w", err)
	}
	return nil
}

// piece writes one piece of at most pieceBytes.
func (p *pieceWriter) piece(k kind, content []byte) error {
	p.packed = p.packer.EncodeAll(content, p.packed[:0])
	stored := p.packed
	if len(stored) >= len(content) {
		stored = content
	}
	var head [pieceHead]byte
	head[0] = byte(k)
	binary.BigEndian.PutUint32(head[1:], uint32(len(content)))
	binary.BigEndian.PutUint32(head[5:], uint32(len(stored)))
	binary.BigEndian.PutUint32(head[9:], checksum(p.number, head[:], stored))
	p.number++
	if err := p.write(head[:]); err != nil {
		return err
	}
	return p.write(stored)
}

func (p *pieceWriter) close() error {
	if err := p.out.Flush(); err != nil {
		return fmt.Errorf("backup: write: %w", err)
	}
	return nil
}

// pieceReader reads pieces.
type pieceReader struct {
	in       *bufio.Reader
	at       int64 // bytes of the file before the next piece
	number   uint64
	sum      hash.Hash
	before   [sha256.Size]byte // the sum before the last piece
	unpacker *zstd.Decoder
	stored   []byte
	content  []byte
}

func newPieceReader(r io.Reader) (*pieceReader, error) {
	unpacker, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*pieceBytes), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	p := &pieceReader{in: bufio.NewReaderSize(r, 64<<10), sum: sha256.New(), unpacker: unpacker}
	var head [headBytes]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%w: it has fewer than %d bytes", ErrNoBackup, headBytes)
		}
		return nil, fmt.Errorf("backup: read: %w", err)
	}
	if string(head[:len(magic)]) != magic {
		return nil, ErrNoBackup
	}
	if f := binary.BigEndian.Uint16(head[len(magic):]); f != Format {
		return nil, fmt.Errorf("%w: the file has format %d at byte %d, and this build reads format %d: use the version of taskrt that wrote it, or a later one", ErrVersion, f, len(magic), Format)
	}
	p.took(head[:])
	return p, nil
}

func (p *pieceReader) took(b []byte) {
	_, _ = p.sum.Write(b) // a hash does not fail
	p.at += int64(len(b))
}

// where names the piece that is being read.
func (p *pieceReader) where() string { return fmt.Sprintf("piece %d at byte %d", p.number, p.at) }

// damaged is the error of a piece that cannot have been written so.
func (p *pieceReader) damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrDamaged, p.where(), fmt.Sprintf(format, args...))
}

// full reads all of b, which belongs to the piece at hand.
func (p *pieceReader) full(b []byte) error {
	_, err := io.ReadFull(p.in, b)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: the file ends in %s, before its last piece", ErrTruncated, p.where())
	case err != nil:
		return fmt.Errorf("backup: read %s: %w", p.where(), err)
	}
	return nil
}

// next returns the next piece. Its content is valid until the next call.
func (p *pieceReader) next() (kind, []byte, error) {
	var head [pieceHead]byte
	if err := p.full(head[:]); err != nil {
		return 0, nil, err
	}
	length, stored := binary.BigEndian.Uint32(head[1:]), binary.BigEndian.Uint32(head[5:])
	if length > pieceBytes || stored > length {
		return 0, nil, p.damaged("its lengths are %d and %d, and a piece has at most %d bytes", length, stored, pieceBytes)
	}
	if cap(p.stored) < int(stored) {
		p.stored = make([]byte, pieceBytes)
	}
	b := p.stored[:stored]
	if err := p.full(b); err != nil {
		return 0, nil, err
	}
	if checksum(p.number, head[:], b) != binary.BigEndian.Uint32(head[9:]) {
		return 0, nil, p.damaged("its checksum does not fit its bytes")
	}
	if stored < length {
		var err error
		if p.content, err = p.unpacker.DecodeAll(b, p.content[:0]); err != nil || len(p.content) != int(length) {
			return 0, nil, p.damaged("it does not unpack to %d bytes (%v)", length, err)
		}
		b = p.content
	}
	p.sum.Sum(p.before[:0])
	p.took(head[:])
	p.took(p.stored[:stored])
	p.number++
	return kind(head[0]), b, nil
}

// ended returns an error if something is behind the last piece.
func (p *pieceReader) ended() error {
	switch _, err := p.in.ReadByte(); {
	case err == nil:
		return p.damaged("something is behind the last piece")
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("backup: read %s: %w", p.where(), err)
	}
	return nil
}

// close lets go of what the pieceReader needs.
func (p *pieceReader) close() { p.unpacker.Close() }
