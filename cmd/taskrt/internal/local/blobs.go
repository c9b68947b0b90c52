package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task/blobs"
)

// Blobs are the files that a guest may read, by digest. They stay open until Close.
type Blobs map[string]blob

type blob struct {
	file *os.File
	size int64
}

// Add opens a file. digest is what the guest knows it by; fresh is false if a file with the same content is there already.
func (l Blobs) Add(name string) (digest string, fresh bool, err error) {
	digest, b, err := openBlob(name)
	if err != nil {
		return "", false, err
	}
	if _, twice := l[digest]; twice {
		_ = b.file.Close() // it was only read
		return digest, false, nil
	}
	l[digest] = b
	return digest, true, nil
}

func openBlob(name string) (digest string, b blob, err error) {
	if b.file, err = os.Open(name); err != nil {
		return "", b, err
	}
	h := sha256.New()
	if b.size, err = io.Copy(h, b.file); err != nil {
		return "", b, errors.Join(err, b.file.Close())
	}
	return hex.EncodeToString(h.Sum(nil)), b, nil
}

// Close closes the files.
func (l Blobs) Close() {
	for _, b := range l {
		_ = b.file.Close() // it was only read
	}
}

// RefusedError says why a cluster would refuse the params.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

// Whole returns what a task's params would be after a submit of params. Params that refer to a blob are the blob's
// content, which the guest reads from the file.
func (l Blobs) Whole(params json.RawMessage) (content json.RawMessage, from *runtime.Source, err error) {
	for _, digest := range blobs.Named(params) {
		if _, ok := l[digest]; !ok {
			return nil, nil, &RefusedError{fmt.Errorf("params: no --blob has the digest %s", api.ShowDigest(digest))}
		}
	}
	digest, ok := blobs.Reference(params)
	if !ok {
		return params, nil, nil
	}
	b := l[digest]
	if b.size > api.MaxPayload {
		return nil, nil, &RefusedError{fmt.Errorf("params: a blob of %d bytes, at most %d", b.size, api.MaxPayload)}
	}
	content = make([]byte, b.size)
	if n, err := b.file.ReadAt(content, 0); n < len(content) {
		return nil, nil, err
	}
	return content, &runtime.Source{ReaderAt: b.file, Size: b.size}, nil
}

// Call implements runtime.Host: blobs are files, and there is no operation.
func (h *Host) Call(_ context.Context, op abi.Op, payload []byte) ([]byte, error) {
	return runtime.AnswerBlob(op, payload, func(digest string) *runtime.Source {
		b, ok := h.Blobs[digest]
		if !ok {
			return nil
		}
		return &runtime.Source{ReaderAt: b.file, Size: b.size}
	})
}
