package service

import (
	"context"
	"errors"
	"io"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/task"
)

// PutBlob implements api.Service. The file is staged on this node's disk and then stored as every other file is.
func (svc *Service) PutBlob(ctx context.Context, r api.PutBlobRequest) (*api.Blob, error) {
	want, err := r.Check()
	if err != nil {
		return nil, err
	}
	body := &clientBody{r: r.Body}
	b, err := svc.files.Stage(ctx, body)
	if err != nil {
		return nil, firstError(body.problem(), blobError(err))
	}
	defer b.Close()
	if err := r.CheckContent(want, b.Digest, b.Size); err != nil {
		return nil, err
	}
	if err := svc.putBlob(ctx, b); err != nil {
		return nil, err
	}
	reply := &api.Blob{Digest: api.ShowDigest(b.Digest), Size: b.Size}
	svc.store.Local(func(m *task.Machine) {
		api.SetIndex(ctx, m.Index())
		if row := m.Blob(b.Digest); row != nil {
			reply.Refs = row.Refs
		}
	})
	return reply, nil
}

// clientBody tells errors of the client's body from errors of the disk.
type clientBody struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (b *clientBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

func (b *clientBody) problem() error {
	if b.err == nil || api.CodeOf(b.err) != "" {
		return b.err
	}
	return api.NewError(api.CodeBadRequest, "the body could not be read: %v", b.err)
}

// Blob implements api.Service.
func (svc *Service) Blob(ctx context.Context, digest string) (*api.Blob, error) {
	hex, err := api.ParseDigest("digest", digest)
	if err != nil {
		return nil, err
	}
	return svc.readBlob(ctx, hex)
}

// readBlob describes a blob that commands may refer to.
func (svc *Service) readBlob(ctx context.Context, hex string) (*api.Blob, error) {
	var row *task.Blob
	err := svc.read(ctx, readOptions{}, func(m *task.Machine) { row = m.Blob(hex) })
	if err != nil {
		return nil, err
	}
	if row == nil || !row.Ready {
		return nil, api.NewError(api.CodeBlobNotFound, "no blob sha256:%s", hex)
	}
	return &api.Blob{Digest: api.ShowDigest(hex), Size: row.Size, Refs: row.Refs}, nil
}

// BlobContent implements api.Service.
func (svc *Service) BlobContent(ctx context.Context, r api.BlobRange) (*api.BlobContent, error) {
	hex, err := r.Check()
	if err != nil {
		return nil, err
	}
	b, err := svc.readBlob(ctx, hex)
	if err != nil {
		return nil, err
	}
	length, err := r.Of(b.Size)
	if err != nil {
		return nil, err
	}
	f, err := svc.files.Open(ctx, hex)
	if err != nil {
		return nil, unread(hex, err)
	}
	return &api.BlobContent{Size: b.Size, From: r.From, Body: content{io.NewSectionReader(f, r.From, length), f}}, nil
}

// content is the part of an open file that is read.
type content struct {
	*io.SectionReader
	f *blob.File
}

// Close implements io.Closer.
func (c content) Close() error { return c.f.Close() }

// putBlob stores a file on a majority of the voters. Its error is one of the API.
func (svc *Service) putBlob(ctx context.Context, b *blob.Staged) error {
	return blobError(svc.files.Put(ctx, b))
}

// PutPayload stores the bytes of a payload that is too long for the log.
func (svc *Service) PutPayload(ctx context.Context, data []byte) (digest string, err error) {
	b, err := svc.files.StageBytes(data)
	if err != nil {
		return "", blobError(err)
	}
	defer b.Close()
	return b.Digest, svc.putBlob(ctx, b)
}

// blobError turns an error of the stores about a blob into an error of the API.
func blobError(err error) error {
	switch {
	case err == nil:
		return nil
	case api.CodeOf(err) != "":
		return err
	case errors.Is(err, blob.ErrTooLarge):
		return api.LimitError("blob", blob.DefaultMaxBytes, "at most %d bytes", blob.DefaultMaxBytes)
	case errors.Is(err, blob.ErrNoSpace):
		return api.NewError(api.CodeStorageFull, "the file could not be stored on a majority of the nodes: %v", err)
	case errors.Is(err, blob.ErrTooFew):
		return api.NewError(api.CodeNotReady, "the file could not be stored on a majority of the nodes: %v", err)
	case errors.Is(err, blob.ErrClosed):
		return api.NewError(api.CodeNotReady, "this node is stopping; ask another")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return api.NewError(api.CodeNotReady, "storing the file took too long")
	}
	// What the replicated store says of the blob's note is true of the put as a whole: it is safe to send it again.
	return storeError(err, false)
}
