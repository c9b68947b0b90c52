package runtime

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/taskrt/taskrt/abi"
)

// checkRequest tells what is wrong with the payload of a call that the host answers: ErrInvalid or ErrTooBig.
func checkRequest(op abi.Op, payload []byte) error {
	var err error
	switch op {
	case abi.OpBlobSize:
		_, err = ParseBlobName(string(payload))
	case abi.OpBlobRead:
		_, err = ParseBlobRead(payload)
	case abi.OpPartitions:
		_, err = ParsePartitions(payload)
	}
	return err
}

// ParseBlobName returns the digest in "sha256:" and 64 lower-case hexadecimal digits.
func ParseBlobName(name string) (digest string, err error) {
	digest, ok := strings.CutPrefix(name, abi.BlobPrefix)
	if !ok || len(name) != abi.BlobName || strings.Trim(digest, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%w: a blob is named sha256: and 64 lower-case hexadecimal digits, not %.80q", ErrInvalid, name)
	}
	return digest, nil
}

// BlobRead is a request for bytes of a blob.
type BlobRead struct {
	Digest string // lower-case hex
	Offset int64
	Length int // 0..abi.MaxResponse
}

// ParseBlobRead reads the payload of abi.OpBlobRead.
func ParseBlobRead(payload []byte) (r BlobRead, err error) {
	if len(payload) != abi.BlobReadSize {
		return r, fmt.Errorf("%w: blob.read takes %d bytes, not %d", ErrInvalid, abi.BlobReadSize, len(payload))
	}
	if r.Digest, err = ParseBlobName(string(payload[:abi.BlobName])); err != nil {
		return r, err
	}
	off, n := binary.LittleEndian.Uint64(payload[abi.BlobName:]), binary.LittleEndian.Uint32(payload[abi.BlobName+8:])
	switch {
	case off > math.MaxInt64:
		return r, fmt.Errorf("%w: offset %d", ErrInvalid, off)
	case n > abi.MaxResponse:
		return r, fmt.Errorf("%w: blob.read gives at most %d bytes, not %d", ErrTooBig, abi.MaxResponse, n)
	}
	r.Offset, r.Length = int64(off), int(n)
	return r, nil
}

// ReadBlob answers a BlobRead from a blob of size bytes: with what lies there, and with nothing at and behind the
// end.
func (r BlobRead) ReadBlob(from io.ReaderAt, size int64) ([]byte, error) {
	p := make([]byte, min(int64(r.Length), max(0, size-r.Offset)))
	if n, err := from.ReadAt(p, r.Offset); n < len(p) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("runtime: read a blob: %w", err)
	}
	return p, nil
}

// Partitions is the request of abi.OpPartitions.
type Partitions struct {
	From  int64 `json:"from"`
	Limit int64 `json:"limit"`
}

// Limits of a page of partitions.
const (
	DefaultPartitions = 100
	MaxPartitions     = 1_000
)

// ParsePartitions reads the payload of abi.OpPartitions, and fills in the limit.
func ParsePartitions(payload []byte) (r Partitions, err error) {
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return r, fmt.Errorf("%w: op.partitions: %w", ErrInvalid, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return r, fmt.Errorf("%w: op.partitions: more than one value", ErrInvalid)
	}
	if r.From < 0 || r.Limit < 0 {
		return r, fmt.Errorf("%w: op.partitions: negative numbers", ErrInvalid)
	}
	if r.Limit == 0 {
		r.Limit = DefaultPartitions
	}
	r.Limit = min(r.Limit, MaxPartitions)
	return r, nil
}
