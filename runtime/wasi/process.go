package wasi

import (
	"io"
	"time"
)

// Process is the program that calls the functions, as they see it. Its methods are called on the program's goroutine; any
// of them may unwind it.
type Process interface {
	// Files returns the program's descriptors, which the functions change.
	Files() *Files
	// Stdin returns the input of descriptor 0. It is read at most PieceBytes at a time, and gives io.EOF at its end.
	Stdin() Input
	// Output takes bytes that are written to a stream, at most PieceBytes at a time. It keeps no reference to p.
	Output(to Stream, p []byte)
	// Random fills p, which has at most PieceBytes. An error is EIO.
	Random(p []byte) error
	// Args and Environ are lists of strings without zero bytes.
	Args() []string
	Environ() []string
	// Walltime is in nanoseconds since 1970; Monotonic is in nanoseconds since any time.
	Walltime() int64
	Monotonic() int64
	// Wait returns once d has passed, or at once if d is not positive, and says how long it waited. It unwinds a
	// program that must end before that.
	Wait(d time.Duration) time.Duration
	// Charge accounts for n bytes that are about to be moved. It unwinds a program that must end.
	Charge(n int)
	// Yield lets others run.
	Yield()
}

// Input is the input of descriptor 0.
type Input interface {
	io.Reader
	// Left is how many bytes are left.
	Left() int64
}

// These bound one call.
const (
	// PieceBytes is how many bytes are moved between two charges.
	PieceBytes = 64 << 10
	// MaxVectors is how many buffers one read or write may name (IOV_MAX of POSIX); more are EINVAL.
	MaxVectors = 1024
	// MaxSubscriptions is how many events one poll_oneoff may wait for; more are EINVAL.
	MaxSubscriptions = 4096
)

// Resolutions of the clocks, in nanoseconds.
const (
	walltimeResolution  = 1000
	monotonicResolution = 1
)
