package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/server/paced"
)

const (
	// maxUploads is how many files may be uploaded at a time. Each has a temporary file of at most MaxBlob bytes.
	maxUploads = 64
	// uploadTimes is how many BodyTimeouts an upload may take.
	uploadTimes = 10
	// maxRanges is how many ranges one request may ask for. A request for more ranges gets the whole file, as does a request
	// for ranges in another unit.
	maxRanges = 16
)

// putBlob is POST /v1/blobs. The body goes to the disk as it comes, and is never held in memory.
func (h *handler) putBlob(w http.ResponseWriter, r *request) error {
	q := r.query
	req := api.PutBlobRequest{Size: r.ContentLength, Digest: q.text("digest")}
	if err := q.done(); err != nil {
		return err
	}
	if _, err := req.Check(); err != nil {
		return err
	}
	if !h.uploads.TryAcquire(1) {
		return api.NewError(api.CodeOverloaded, "%d files are being received", maxUploads)
	}
	defer h.uploads.Release(1)
	conn := http.NewResponseController(w)
	body := &paced.Body{
		From: http.MaxBytesReader(w, r.Body, api.MaxBlob), Conn: conn, Patience: h.config.BodyTimeout,
		Until: time.Now().Add(uploadTimes * h.config.BodyTimeout),
	}
	req.Body = body
	ctx, meta := api.WithMeta(r.Context()) // without a key, which would need the body in memory
	b, err := h.service.PutBlob(ctx, req)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](body.Err); tooLarge {
		return api.LimitError("body", api.MaxBlob, "at most %d bytes", api.MaxBlob)
	}
	if body.Err != nil {
		w.Header().Set("Connection", "close")
		return api.NewError(api.CodeBadRequest, "the body could not be read: %v", body.Err)
	}
	if err != nil {
		return err
	}
	_ = conn.SetReadDeadline(time.Time{})
	return h.answer(w, http.StatusOK, meta, codec.BlobAnswer{Blob: b})
}

// getBlobInfo is GET /v1/blobs/{digest}/info.
func (h *handler) getBlobInfo(w http.ResponseWriter, r *request) error {
	if err := r.query.done(); err != nil {
		return err
	}
	return h.reply(w, r, func(ctx context.Context) (any, error) {
		b, err := h.service.Blob(ctx, r.PathValue("digest"))
		return codec.BlobAnswer{Blob: b}, err
	})
}

// getBlob is GET and HEAD /v1/blobs/{digest}. net/http serves ranges and conditions.
func (h *handler) getBlob(w http.ResponseWriter, r *request) error {
	if err := r.query.done(); err != nil {
		return err
	}
	ctx, meta := r.call()
	body := &blobReader{ctx: ctx, service: h.service, digest: r.PathValue("digest")}
	defer body.Close()
	if err := body.describe(r.Method == http.MethodHead); err != nil {
		return err
	}
	whole := r.Request
	if ranges := r.Header.Get("Range"); !strings.HasPrefix(ranges, "bytes=") || strings.Count(ranges, ",") >= maxRanges {
		whole = r.Clone(ctx)
		whole.Header.Del("Range")
	}
	setIndexHeader(w, meta)
	head(w, codec.BytesMedia)
	w.Header().Set("ETag", `"`+body.digest+`"`)
	out := &paced.Refusing{Writer: paced.NewWriter(w, writeTimeout)}
	http.ServeContent(out, whole, "", time.Time{}, body)
	switch {
	case out.Refused == http.StatusRequestedRangeNotSatisfiable:
		e := api.FieldError(api.CodeNoRange, "Range", "the blob has %d bytes", body.size)
		e.Limit = body.size
		return e
	case out.Refused != 0:
		return api.FieldError(api.CodePrecondition, "If-Match", "this is the blob %s", body.digest)
	case body.err != nil && r.Context().Err() == nil:
		h.log.Warn("a blob broke off while it was sent", "digest", body.digest, "err", body.err)
		panic(http.ErrAbortHandler) // half a file must not look like a whole one
	}
	return nil
}

// blobReader is a blob as http.ServeContent reads it: it seeks to the end, to the start, and to each range.
type blobReader struct {
	ctx     context.Context
	service api.Service
	digest  string
	size    int64

	at   int64 // where the next Read begins
	body io.ReadCloser
	r    *bufio.Reader
	from int64 // where the next byte of body lies in the file
	err  error // why the file could not be read further
}

// describe finds the blob. Unless only its size is wanted, describe also opens the blob: if it cannot be read, the answer must
// be an error, not the beginning of a file.
func (b *blobReader) describe(sizeOnly bool) error {
	if sizeOnly {
		info, err := b.service.Blob(b.ctx, b.digest)
		if err != nil {
			return err
		}
		b.digest, b.size = info.Digest, info.Size
		return nil
	}
	hex, err := api.ParseDigest("digest", b.digest)
	if err != nil {
		return err
	}
	b.digest = api.ShowDigest(hex)
	return b.open()
}

// open opens the blob where the next Read begins.
func (b *blobReader) open() error {
	c, err := b.service.BlobContent(b.ctx, api.BlobRange{Digest: b.digest, From: b.at, Length: -1})
	if err != nil {
		return err
	}
	b.Close()
	b.body, b.r, b.from, b.size = c.Body, bufio.NewReaderSize(c.Body, copyPiece), b.at, c.Size
	return nil
}

// Seek implements io.Seeker.
func (b *blobReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += b.at
	case io.SeekEnd:
		offset += b.size
	}
	if offset < 0 {
		return 0, fmt.Errorf("api: seek to %d", offset)
	}
	b.at = offset
	return offset, nil
}

// Read implements io.Reader.
func (b *blobReader) Read(p []byte) (int, error) {
	if b.at >= b.size {
		return 0, io.EOF
	}
	if b.at != b.from || b.body == nil {
		if b.err = b.open(); b.err != nil {
			return 0, b.err
		}
	}
	n, err := b.r.Read(p)
	b.at += int64(n)
	b.from = b.at
	if err != nil && (b.at < b.size || !errors.Is(err, io.EOF)) {
		b.err = err
	}
	return n, err
}

// Close closes the blob if it is open.
func (b *blobReader) Close() {
	if b.body != nil {
		_ = b.body.Close() // it was only read
		b.body = nil
	}
}
