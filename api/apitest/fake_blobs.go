package apitest

import (
	"bytes"
	"context"
	"io"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

var _ api.Blobs = (*Fake)(nil)

// PutBlob implements api.Service.
func (f *Fake) PutBlob(ctx context.Context, r api.PutBlobRequest) (*api.Blob, error) {
	want, err := r.Check()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, api.MaxBlob+1))
	switch {
	case api.CodeOf(err) != "":
		return nil, err
	case err != nil:
		return nil, api.NewError(api.CodeBadRequest, "the body could not be read: %v", err)
	case len(data) > api.MaxBlob:
		return nil, api.LimitError("body", api.MaxBlob, "at most %d bytes", api.MaxBlob)
	}
	digest := digest(data)
	if err := r.CheckContent(want, digest, int64(len(data))); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.keepBlob(digest, data); err != nil {
		return nil, err
	}
	api.SetIndex(ctx, f.index)
	return f.showBlob(digest), nil
}

// keepBlob stores bytes so that commands may refer to them. f.mu is held.
func (f *Fake) keepBlob(digest string, data []byte) error {
	f.wasm[digest] = data
	for _, ready := range []bool{false, true} {
		if r := f.apply(task.NoteBlob{Digest: digest, Size: int64(len(data)), Ready: ready}); r.Code != task.OK {
			return f.refusal(&r)
		}
	}
	f.announce()
	return nil
}

// showBlob describes a blob; nil if it is not stored. f.mu is held.
func (f *Fake) showBlob(digest string) *api.Blob {
	row := f.machine.Blob(digest)
	if row == nil || !row.Ready {
		return nil
	}
	return &api.Blob{Digest: api.ShowDigest(digest), Size: row.Size, Refs: row.Refs}
}

// Blob implements api.Service.
func (f *Fake) Blob(ctx context.Context, digest string) (*api.Blob, error) {
	hex, err := api.ParseDigest("digest", digest)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	api.SetIndex(ctx, f.index)
	if b := f.showBlob(hex); b != nil {
		return b, nil
	}
	return nil, api.NewError(api.CodeBlobNotFound, "no blob %s", api.ShowDigest(hex))
}

// BlobContent implements api.Service.
func (f *Fake) BlobContent(ctx context.Context, r api.BlobRange) (*api.BlobContent, error) {
	hex, err := r.Check()
	if err != nil {
		return nil, err
	}
	b, err := f.Blob(ctx, r.Digest)
	if err != nil {
		return nil, err
	}
	length, err := r.Of(b.Size)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return &api.BlobContent{
		Size: b.Size, From: r.From, Body: io.NopCloser(bytes.NewReader(f.wasm[hex][r.From : r.From+length])),
	}, nil
}
