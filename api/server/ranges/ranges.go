// Package ranges reads a blob as http.ServeContent does, range by range.
package ranges

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/taskrt/taskrt/api"
)

// piece is how many bytes are read at once.
const piece = 64 << 10

// Reader is a blob as http.ServeContent reads it: it seeks to the end, to the start, and to each range.
type Reader struct {
	Digest string
	Size   int64
	Err    error // why the file could not be read further

	ctx     context.Context
	service api.Service

	at   int64 // where the next Read begins
	body io.ReadCloser
	r    *bufio.Reader
	from int64 // where the next byte of body lies in the file
}

// New returns a blob of which only the digest is known, as a client writes it.
func New(ctx context.Context, s api.Service, digest string) *Reader {
	return &Reader{Digest: digest, ctx: ctx, service: s}
}

// Describe finds the blob. Unless only its size is wanted, Describe also opens the blob: if it cannot be read, the answer must
// be an error, not the beginning of a file.
func (b *Reader) Describe(sizeOnly bool) error {
	if sizeOnly {
		info, err := b.service.Blob(b.ctx, b.Digest)
		if err != nil {
			return err
		}
		b.Digest, b.Size = info.Digest, info.Size
		return nil
	}
	hex, err := api.ParseDigest("digest", b.Digest)
	if err != nil {
		return err
	}
	b.Digest = api.ShowDigest(hex)
	return b.open()
}

// open opens the blob where the next Read begins.
func (b *Reader) open() error {
	c, err := b.service.BlobContent(b.ctx, api.BlobRange{Digest: b.Digest, From: b.at, Length: -1})
	if err != nil {
		return err
	}
	b.Close()
	b.body, b.r, b.from, b.Size = c.Body, bufio.NewReaderSize(c.Body, piece), b.at, c.Size
	return nil
}

// Seek implements io.Seeker.
func (b *Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += b.at
	case io.SeekEnd:
		offset += b.Size
	}
	if offset < 0 {
		return 0, fmt.Errorf("api: seek to %d", offset)
	}
	b.at = offset
	return offset, nil
}

// Read implements io.Reader.
func (b *Reader) Read(p []byte) (int, error) {
	if b.at >= b.Size {
		return 0, io.EOF
	}
	if b.at != b.from || b.body == nil {
		if b.Err = b.open(); b.Err != nil {
			return 0, b.Err
		}
	}
	n, err := b.r.Read(p)
	b.at += int64(n)
	b.from = b.at
	if err != nil && (b.at < b.Size || !errors.Is(err, io.EOF)) {
		b.Err = err
	}
	return n, err
}

// Close closes the blob if it is open.
func (b *Reader) Close() {
	if b.body != nil {
		_ = b.body.Close() // it was only read
		b.body = nil
	}
}
