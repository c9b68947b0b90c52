package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/codec"
	"github.com/taskrt/taskrt/api/server/paced"
	"github.com/taskrt/taskrt/api/server/ranges"
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
	body := ranges.New(ctx, h.service, r.PathValue("digest"))
	defer body.Close()
	if err := body.Describe(r.Method == http.MethodHead); err != nil {
		return err
	}
	whole := r.Request
	if ranges := r.Header.Get("Range"); !strings.HasPrefix(ranges, "bytes=") || strings.Count(ranges, ",") >= maxRanges {
		whole = r.Clone(ctx)
		whole.Header.Del("Range")
	}
	setIndexHeader(w, meta)
	head(w, codec.BytesMedia)
	w.Header().Set("ETag", `"`+body.Digest+`"`)
	out := &paced.Refusing{Writer: paced.NewWriter(w, writeTimeout)}
	http.ServeContent(out, whole, "", time.Time{}, body)
	switch {
	case out.Refused == http.StatusRequestedRangeNotSatisfiable:
		e := api.FieldError(api.CodeNoRange, "Range", "the blob has %d bytes", body.Size)
		e.Limit = body.Size
		return e
	case out.Refused != 0:
		return api.FieldError(api.CodePrecondition, "If-Match", "this is the blob %s", body.Digest)
	case body.Err != nil && r.Context().Err() == nil:
		h.log.Warn("a blob broke off while it was sent", "digest", body.Digest, "err", body.Err)
		panic(http.ErrAbortHandler) // half a file must not look like a whole one
	}
	return nil
}
