package backup

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// Writer writes a backup: State once, then each blob once in the order of the digests, then Close. An error of one of them is the end. It
// holds two pieces in memory, however large the backup is.
type Writer struct {
	// Pace, if it is not nil, is asked before so many bytes of the state or of a blob are packed and written. Its error ends the backup.
	Pace func(bytes int) error

	pieces *pieceWriter
	header Header
	end    End
	last   [sha256.Size]byte // digest of the blob before
	blobs  int64             // that were written or missing
	buffer []byte
}

// NewWriter begins a backup.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	pieces, err := newPieceWriter(w)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("backup: header: %w", err)
	}
	if err := pieces.piece(kindHeader, b); err != nil {
		return nil, err
	}
	return &Writer{pieces: pieces, header: h, buffer: make([]byte, 0, pieceBytes)}, nil
}

// State writes the state.
func (w *Writer) State(f *task.Frozen) error {
	if err := wire.WriteSnapshot(stateWriter{w}, f); err != nil {
		return err
	}
	return w.flush(kindState)
}

// CopyState writes a state as another Writer's State has written it.
func (w *Writer) CopyState(from io.Reader) error {
	if _, err := io.Copy(stateWriter{w}, from); err != nil {
		return err
	}
	return w.flush(kindState)
}

// stateWriter collects bytes of the state into pieces.
type stateWriter struct{ *Writer }

// Write implements io.Writer.
func (w stateWriter) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		part := b[:min(len(b), pieceBytes-len(w.buffer))]
		w.buffer = append(w.buffer, part...)
		b = b[len(part):]
		if len(w.buffer) == pieceBytes {
			if err := w.flush(kindState); err != nil {
				return 0, err
			}
		}
	}
	w.end.StateBytes += int64(n)
	return n, nil
}

func (w *Writer) flush(k kind) error {
	if len(w.buffer) == 0 {
		return nil
	}
	err := w.paced(k, w.buffer)
	w.buffer = w.buffer[:0]
	return err
}

func (w *Writer) paced(k kind, content []byte) error {
	if w.Pace != nil {
		if err := w.Pace(len(content)); err != nil {
			return err
		}
	}
	return w.pieces.piece(k, content)
}

// begin checks that a blob has its place, and returns what stands at its beginning.
func (w *Writer) begin(b Blob) ([]byte, error) {
	digest, err := hex.DecodeString(b.Digest)
	if err != nil || len(digest) != sha256.Size {
		return nil, fmt.Errorf("backup: %q is no digest", b.Digest)
	}
	if w.blobs > 0 && string(digest) <= string(w.last[:]) {
		return nil, fmt.Errorf("backup: blob %s is out of order", b.Digest)
	}
	copy(w.last[:], digest)
	w.blobs++
	return binary.BigEndian.AppendUint64(digest, uint64(b.Size)), nil
}

// Blob writes a blob. It reads content to its end, and refuses what is not the blob.
func (w *Writer) Blob(b Blob, content io.Reader) error {
	head, err := w.begin(b)
	if err != nil {
		return err
	}
	if err := w.pieces.piece(kindBlob, head); err != nil {
		return err
	}
	sum, size := sha256.New(), int64(0)
	for {
		n, err := io.ReadFull(content, w.buffer[:pieceBytes])
		size += int64(n)
		if n > 0 {
			_, _ = sum.Write(w.buffer[:n]) // a hash does not fail
			if err := w.paced(kindBlobBytes, w.buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("backup: read blob %s: %w", b.Digest, err)
		}
	}
	if size != b.Size || string(sum.Sum(nil)) != string(w.last[:]) {
		return fmt.Errorf("backup: %d bytes were read for blob %s of %d bytes, and they are not the blob", size, b.Digest, b.Size)
	}
	w.end.Blobs++
	w.end.BlobBytes += size
	return nil
}

// Missing writes that no node had a blob.
func (w *Writer) Missing(b Blob) error {
	head, err := w.begin(b)
	if err != nil {
		return err
	}
	w.end.Missing++
	return w.pieces.piece(kindMissing, head)
}

// Close ends a backup that is whole.
func (w *Writer) Close() error {
	if w.header.WithBlobs && w.blobs != w.header.Blobs {
		return fmt.Errorf("backup: %d blobs were written, the header says %d", w.blobs, w.header.Blobs)
	}
	w.end.Pieces, w.end.SHA256 = w.pieces.number, hex.EncodeToString(w.pieces.sum.Sum(nil))
	b, err := json.Marshal(w.end)
	if err == nil {
		err = w.pieces.piece(kindEnd, b)
	}
	return errors.Join(err, w.pieces.close())
}

// maxReason bounds the text of a broken-off backup.
const maxReason = 4 << 10

// BreakOff ends a backup that cannot be finished, so that its reader learns why.
func (w *Writer) BreakOff(why error) error {
	text := why.Error()
	return errors.Join(w.pieces.piece(kindBroken, []byte(text[:min(len(text), maxReason)])), w.pieces.close())
}
