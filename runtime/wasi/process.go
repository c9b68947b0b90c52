package wasi

import (
	"io"
	"time"
)

// Process is what the functions ask about the program that calls them. Its methods are called on the program's goroutine; any
// of them may unwind it.
type Process interface {
	// Files are the program's descriptors, which the functions change.
	Files() *Files
	// Stdin is read by descriptor 0, at most PieceBytes at a time; io.EOF at its end.
	Stdin() Input
	// Output takes what is written to a stream, at most PieceBytes at a time, and keeps no reference to it.
	Output(to Stream, p []byte)
	// Random fills p, which has at most PieceBytes; an error is EIO.
	Random(p []byte) error
	// Args and Environ are lists of strings without zero bytes.
	Args() []string
	Environ() []string
	// Walltime is in nanoseconds since 1970, Monotonic since any time.
	Walltime() int64
	Monotonic() int64
	// Wait returns once d has passed, at once if it is not positive, and says how long it was. It unwinds a program that must end
	// before that.
	Wait(d time.Duration) time.Duration
	// Charge accounts for n bytes that are about to be moved. It unwinds a program that must end.
	Charge(n int)
	// Yield lets others run.
	Yield()
}

// Input is what descriptor 0 reads from.
type Input interface {
	io.Reader
	// Left is how many bytes are left.
	Left() int64
}

// Bounds of one call.
const (
	// PieceBytes is how much is moved between two charges.
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
