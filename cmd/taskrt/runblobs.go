package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
)

// localBlobs are the files that --blob gives a guest, by digest. They stay open until close.
type localBlobs map[string]localBlob

type localBlob struct {
	file *os.File
	size int64
}

// openBlobs opens the files of --blob and says what the guest knows them by.
func (p *program) openBlobs(c *cli.Context) (localBlobs, error) {
	blobs := localBlobs{}
	for _, name := range c.StringSlice("blob") {
		digest, b, err := openBlob(name)
		if err != nil {
			blobs.close()
			return nil, usagef(c, "--blob: %w", err)
		}
		if _, twice := blobs[digest]; twice {
			_ = b.file.Close() // it was only read
			continue
		}
		blobs[digest] = b
		if err := p.stderr.Printf("blob %s %s\n", api.ShowDigest(digest), name); err != nil {
			return blobs, err
		}
	}
	return blobs, nil
}

func openBlob(name string) (digest string, b localBlob, err error) {
	if b.file, err = os.Open(name); err != nil {
		return "", b, err
	}
	h := sha256.New()
	if b.size, err = io.Copy(h, b.file); err != nil {
		return "", b, errors.Join(err, b.file.Close())
	}
	return hex.EncodeToString(h.Sum(nil)), b, nil
}

func (l localBlobs) close() {
	for _, b := range l {
		_ = b.file.Close() // it was only read
	}
}

// whole returns what a task's params would be, as a submit takes them: where they are a reference, the blob's content, which
// the guest reads from the file.
func (l localBlobs) whole(params json.RawMessage) (content json.RawMessage, from *runtime.Source, err error) {
	for _, digest := range task.BlobsNamed(params) {
		if _, ok := l[digest]; !ok {
			return nil, nil, &exitError{exitRefused, fmt.Errorf("params: no --blob has the digest %s", api.ShowDigest(digest))}
		}
	}
	digest, ok := task.BlobRef(params)
	if !ok {
		return params, nil, nil
	}
	b := l[digest]
	if b.size > api.MaxPayload {
		return nil, nil, &exitError{exitRefused, fmt.Errorf("params: a blob of %d bytes, at most %d", b.size, api.MaxPayload)}
	}
	content = make([]byte, b.size)
	if n, err := b.file.ReadAt(content, 0); n < len(content) {
		return nil, nil, err
	}
	return content, &runtime.Source{ReaderAt: b.file, Size: b.size}, nil
}

// Call implements runtime.Host: blobs are files, and there is no operation.
func (h *localHost) Call(_ context.Context, op abi.Op, payload []byte) ([]byte, error) {
	return runtime.AnswerBlob(op, payload, func(digest string) *runtime.Source {
		b, ok := h.blobs[digest]
		if !ok {
			return nil
		}
		return &runtime.Source{ReaderAt: b.file, Size: b.size}
	})
}
