package runtime

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/taskrt/taskrt/abi"
)

// Source is the content of an input channel that is not in memory. The guest reads it in pieces of its own choice,
// which go straight into its memory. ReadAt is called on the goroutine of Run.
type Source struct {
	io.ReaderAt
	Size int64 // bytes
}

// content is what an input channel reads.
type content struct {
	data []byte
	from *Source // wins, if set
}

func (c content) absent() bool { return c.from == nil && c.data == nil }

// len is the length that a guest is told.
func (c content) len() abi.Errno {
	switch {
	case c.from == nil:
		return abi.Errno(len(c.data))
	case c.from.Size > math.MaxInt32:
		return abi.E2BIG // no length that an answer can hold
	}
	return abi.Errno(c.from.Size)
}

// read copies what lies at off to p, which is guest memory.
func (c content) read(p []byte, off uint32) abi.Errno {
	if c.from == nil {
		if uint64(off) >= uint64(len(c.data)) {
			return 0
		}
		return abi.Errno(copy(p, c.data[off:]))
	}
	if int64(off) >= c.from.Size {
		return 0
	}
	p = p[:min(int64(len(p)), c.from.Size-int64(off), math.MaxInt32)]
	if n, err := c.from.ReadAt(p, int64(off)); n < len(p) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		panic(&SourceError{err})
	}
	return abi.Errno(len(p))
}

// SourceError ends a guest whose input cannot be read any more: no status would keep the guest from working on what
// is not there. It is the host's failure, so the attempt's failure is retryable.
type SourceError struct{ Err error }

func (e *SourceError) Error() string { return fmt.Sprintf("the input cannot be read: %v", e.Err) }

func (e *SourceError) Unwrap() error { return e.Err }
