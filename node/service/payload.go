package service

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sync/semaphore"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/blobs"
)

// A payload has two forms on its way from a request into a command (SPEC H3). First it is *whole*, with all of its
// bytes in Data, so that limits, schemas, IDs and concurrency keys are about what it says and not about how it was
// sent. Then it is *packed*, as the log carries it, with nothing in Data that is longer than api.MaxInline.

// maxContents bounds the blobs, in bytes, that requests refer to and that are in memory to be checked.
const maxContents = 4 * api.MaxPayload

// contents is the room in memory that a request takes for the blobs that it refers to.
type contents struct {
	svc   *Service
	room  *semaphore.Weighted
	taken int64
}

func (svc *Service) contents() *contents { return &contents{svc: svc, room: svc.content} }

// release gives the room back. The bytes are not needed any longer.
func (c *contents) release() {
	if c.taken > 0 {
		c.room.Release(c.taken)
		c.taken = 0
	}
}

// take waits for room for size bytes, at most api.MaxPayload.
func (c *contents) take(ctx context.Context, size int64) error {
	c.release() // what an earlier try took
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := c.room.Acquire(ctx, size); err != nil {
		return api.NewError(api.CodeOverloaded, "too many payloads are being looked at; try again")
	}
	c.taken = size
	return nil
}

// whole returns the payload of field as it is checked. If the payload is nothing but a reference to a blob, that is the
// blob's content. An error says that a blob which the payload needs is not stored, as far as this node's state knows.
func (c *contents) whole(ctx context.Context, field string, p task.Payload) (task.Payload, error) {
	if p.Encoding != task.JSON {
		return p, nil
	}
	if digest, ok := blobs.Reference(p.Data); ok {
		return c.referred(ctx, field, digest)
	}
	return p, c.naming(field, &p)
}

// naming notes the blobs that a payload names inside its JSON, and checks that they are stored.
func (c *contents) naming(field string, p *task.Payload) error {
	named := blobs.Named(p.Data)
	if len(named) == 0 {
		return nil
	}
	if len(named) > task.MaxNamed {
		return api.LimitError(field, task.MaxNamed, "names %d blobs, at most %d", len(named), task.MaxNamed)
	}
	if p.Blobs == nil {
		p.Blobs = &task.Blobs{}
	}
	p.Blobs.Named = named
	missing := ""
	c.svc.store.Local(func(m *task.Machine) {
		for _, digest := range named {
			if !m.BlobReady(digest) {
				missing = digest
				return
			}
		}
	})
	if missing != "" {
		return blobGone(field, missing)
	}
	return nil
}

// blobGone is the answer to a request that needs a blob which is not stored. The machine gives the same answer (SPEC
// M3).
func blobGone(field, digest string) error {
	return api.FieldError(api.CodeBlobGone, field, "the blob sha256:%s is not stored: put it first", digest)
}

// referred reads the blob that stands for a whole payload.
func (c *contents) referred(ctx context.Context, field, digest string) (p task.Payload, err error) {
	var row *task.Blob
	c.svc.store.Local(func(m *task.Machine) { row = m.Blob(digest) })
	switch {
	case row == nil || !row.Ready:
		return p, blobGone(field, digest)
	case row.Size > api.MaxPayload:
		return p, api.LimitError(field, api.MaxPayload, "a blob of %d bytes, at most %d", row.Size, api.MaxPayload)
	}
	if err := c.take(ctx, row.Size); err != nil {
		return p, err
	}
	p = task.Payload{Encoding: task.Bytes, Blobs: &task.Blobs{Content: digest, Size: row.Size}}
	if p.Data, err = c.svc.readWhole(ctx, digest, row.Size); err != nil {
		return p, err
	}
	if api.ValidJSON(p.Data) {
		p.Encoding = task.JSON
		err = c.naming(field, &p)
	}
	return p, err
}

// stored reads the blob of a record's payload. The payload's encoding stays: if it was taken for bytes, it is bytes
// even if it is JSON.
func (c *contents) stored(ctx context.Context, field string, p task.Payload) (task.Payload, error) {
	whole, err := c.referred(ctx, field, p.Blobs.Content)
	whole.Encoding = p.Encoding
	return whole, err
}

func (svc *Service) readWhole(ctx context.Context, digest string, size int64) ([]byte, error) {
	f, err := svc.files.Open(ctx, digest)
	if err != nil {
		return nil, unread(digest, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	data := make([]byte, size)
	if got, err := f.ReadAt(data, 0); got < len(data) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, blobError(err)
	}
	return data, nil
}

// unread is the answer to a request that needs the bytes of a blob which cannot be had.
func unread(digest string, err error) error {
	if errors.Is(err, blob.ErrNotFound) {
		return api.NewError(api.CodeNotReady, "no node that answers has the bytes of sha256:%s now", digest)
	}
	return blobError(err)
}

// packed returns a whole payload as a command carries it. A payload that is too long for the log is stored on a
// majority first.
func (svc *Service) packed(ctx context.Context, p task.Payload) (task.Payload, error) {
	switch {
	case p.Blobs != nil && p.Blobs.Content != "":
		p.Data = nil // the bytes were here only to be checked
	case len(p.Data) > api.MaxInline:
		digest, err := svc.PutPayload(ctx, p.Data)
		if err != nil {
			return p, err
		}
		return p.InBlob(digest), nil
	}
	return p, nil
}
