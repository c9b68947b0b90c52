package sdk

import (
	"io"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/plugins/sdk/go/internal/host"
)

// Reader reads an input that may be larger than the guest's memory in pieces: params, a checkpoint, or a blob. Every read asks
// the host, which copies straight into the given slice: read some KiB at once, or through a bufio.Reader.
type Reader struct {
	size int64
	at   int64 // where Read goes on
	read func(p []byte, off int64) (int, error)
}

var (
	_ io.ReadSeeker = (*Reader)(nil)
	_ io.ReaderAt   = (*Reader)(nil)
)

// Size returns the length of the whole input, in bytes.
func (r *Reader) Size() int64 { return r.size }

// ReadAt implements io.ReaderAt.
func (r *Reader) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, ErrInvalid
	}
	for n < len(p) {
		if off+int64(n) >= r.size {
			return n, io.EOF
		}
		got, err := r.read(p[n:], off+int64(n))
		if err != nil {
			return n, err
		}
		if got == 0 {
			return n, io.ErrUnexpectedEOF
		}
		n += got
	}
	return n, nil
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.ReadAt(p, r.at)
	r.at += int64(n)
	if n > 0 && err == io.EOF { //nolint:errorlint // ReadAt returns it as it is
		err = nil
	}
	return n, err
}

// Seek implements io.Seeker.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 || whence < io.SeekStart || whence > io.SeekEnd {
		return r.at, ErrInvalid
	}
	r.at = offset
	return r.at, nil
}

// ParamsReader reads the task's params in pieces; Params reads them all at once.
func (c *Context) ParamsReader() *Reader {
	r, _ := channelReader(c.h, abi.Params)
	return r
}

// CheckpointReader reads the last checkpoint in pieces; false if there is none.
func (c *Context) CheckpointReader() (*Reader, bool) { return channelReader(c.h, abi.Checkpoint) }

// channelReader reads an input channel. If the channel has nothing, it returns false and an empty Reader.
func channelReader(h host.Host, ch abi.Channel) (*Reader, bool) {
	n := h.Len(ch)
	return &Reader{size: int64(max(n, 0)), read: func(p []byte, off int64) (int, error) {
		got := h.Read(ch, int32(off), p) // off < size, which is an int32
		if got < 0 {
			return 0, statusError(abi.Errno(got))
		}
		return int(got), nil
	}}, n >= 0
}

// BlobRef names a blob in JSON: {"$blob": "sha256:…"}. Make it a field of the params' type, and give its Name to
// Context.Blob. A task keeps the blobs that its params, result and checkpoint name.
type BlobRef struct {
	Name string `json:"$blob"`
}

// Blob opens a blob by its name, "sha256:" and 64 hexadecimal digits. ErrNotFound: no node has it. ErrUnavailable: it cannot
// be had now, so end with a retryable error.
func (c *Context) Blob(name string) (*Reader, error) {
	if len(name) != abi.BlobName {
		return nil, ErrInvalid
	}
	if n := c.h.Call(abi.OpBlobSize, []byte(name)); n < 0 {
		return nil, statusError(abi.Errno(n))
	}
	var size [8]byte
	if n := c.h.Read(abi.Response, 0, size[:]); int(n) != len(size) {
		return nil, ErrInvalid
	}
	return &Reader{size: int64(number(size[:])), read: func(p []byte, off int64) (int, error) {
		return readBlob(c.h, name, p, off)
	}}, nil
}

// readBlob makes one request, for at most abi.MaxResponse bytes.
func readBlob(h host.Host, name string, p []byte, off int64) (int, error) {
	p = p[:min(len(p), abi.MaxResponse)]
	request := append(make([]byte, 0, abi.BlobReadSize), name...)
	request = appendNumber(request, uint64(off), 8)
	request = appendNumber(request, uint64(len(p)), 4)
	n := h.Call(abi.OpBlobRead, request)
	if n < 0 {
		return 0, statusError(abi.Errno(n))
	}
	if got := h.Read(abi.Response, 0, p[:min(int(n), len(p))]); got != n {
		return 0, ErrInvalid
	}
	return int(n), nil
}

// appendNumber appends size bytes of n, the lowest first: encoding/binary would link package reflect.
func appendNumber(to []byte, n uint64, size int) []byte {
	for range size {
		to = append(to, byte(n))
		n >>= 8
	}
	return to
}

// number undoes appendNumber.
func number(p []byte) (n uint64) {
	for i, b := range p {
		n |= uint64(b) << (8 * i)
	}
	return n
}
