package worker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
)

// Call answers a guest's question. It answers questions about blobs by itself, and asks the leader about the operation.
func (h host) Call(ctx context.Context, op abi.Op, payload []byte) ([]byte, error) {
	if !h.s.alive() {
		return nil, runtime.ErrLeaseLost
	}
	switch op {
	case abi.OpBlobSize:
		return h.blobSize(ctx, payload)
	case abi.OpBlobRead:
		return h.blobRead(ctx, payload)
	case abi.OpPartitions:
		return h.ask(ctx, op, payload)
	}
	return nil, runtime.ErrUnsupported
}

func (h host) blobSize(ctx context.Context, payload []byte) ([]byte, error) {
	digest, err := runtime.ParseBlobName(string(payload))
	if err != nil {
		return nil, err
	}
	b, err := h.open(ctx, digest)
	if err != nil {
		return nil, err
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(b.Size())), nil
}

func (h host) blobRead(ctx context.Context, payload []byte) ([]byte, error) {
	q, err := runtime.ParseBlobRead(payload)
	if err != nil {
		return nil, err
	}
	b, err := h.open(ctx, q.Digest)
	if err != nil {
		return nil, err
	}
	data, err := q.ReadBlob(b, b.Size())
	if err != nil {
		h.files.drop(q.Digest) // when it is opened anew, another node may have it
	}
	return data, err
}

// open returns a blob that stays open for the next call.
func (h host) open(ctx context.Context, digest string) (Blob, error) {
	if b := h.files.get(digest); b != nil {
		return b, nil
	}
	b, err := h.s.w.cfg.Blobs.Open(ctx, digest)
	if errors.Is(err, ErrNoBlob) {
		return nil, fmt.Errorf("%w: %w", runtime.ErrNotFound, err)
	}
	if err != nil {
		return nil, err
	}
	h.files.add(digest, b)
	return b, nil
}

// maxOpenFiles is how many blobs one run keeps open.
const maxOpenFiles = 8

// openFiles are blobs that a guest reads from; the blob that was opened last is at the end. Only the run's goroutine uses them.
type openFiles struct{ list []openFile }

type openFile struct {
	digest string
	blob   Blob
}

func (o *openFiles) get(digest string) Blob {
	for _, f := range o.list {
		if f.digest == digest {
			return f.blob
		}
	}
	return nil
}

func (o *openFiles) add(digest string, b Blob) {
	if len(o.list) == maxOpenFiles {
		o.drop(o.list[0].digest)
	}
	o.list = append(o.list, openFile{digest, b})
}

func (o *openFiles) drop(digest string) {
	for i, f := range o.list {
		if f.digest == digest {
			_ = f.blob.Close() // it was only read
			o.list = append(o.list[:i:i], o.list[i+1:]...)
			return
		}
	}
}

func (o *openFiles) close() {
	for len(o.list) > 0 {
		o.drop(o.list[0].digest)
	}
}
