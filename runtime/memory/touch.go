package memory

import (
	"os"
	"sync/atomic"
	"unsafe"
)

// The first access to a page of memory is the kernel's work: microseconds, where an instruction takes a fraction of a
// nanosecond. A guest that touched 64 MiB within one slice of fuel held up the garbage collector for a quarter of a second.
// So slices are short while much of a memory may be untouched, and meanwhile the host touches it for the guest, by system
// calls that hold up nobody.
const (
	untouchedBytes = 4 << 20  // that slices of any length may meet
	touchPiece     = 64 << 10 // bytes that the host touches at a time
	touchEvery     = 16       // short slices between two pieces
	growPiece      = 1 << 20  // bytes by which a memory may grow untouched
)

// touch knows which part of a memory was touched for certain since its attempt began. The zero value knows nothing, and
// touches nothing.
type touch struct {
	known bool
	begin int64 // size of the memory when the attempt began
	done  int64 // bytes from its beginning that are touched
	grown int64 // size up to which it was touched when it grew
	short int   // short slices until the host touches more
}

// Follow begins to follow what a guest touches of its memory.
func (m *Memory) Follow() { m.touch = touch{known: true, begin: m.size, grown: m.size} }

// Untouched says whether so much may be untouched that slices must be short.
func (m *Memory) Untouched() bool { return m.touch.begin-m.touch.done > untouchedBytes }

// Touched returns how many bytes the host has touched for the guest.
func (m *Memory) Touched() int64 { return m.touch.done }

// Later counts a short slice; false: the host should touch a piece of memory now.
func (m *Memory) Later() bool {
	if m.touch.short == 0 {
		return false
	}
	m.touch.short--
	return true
}

// Touch touches a piece of the memory for the guest.
func (m *Memory) Touch() {
	t := &m.touch
	end := min(t.done+touchPiece, t.begin)
	populate(m.region[t.done:end])
	t.done, t.short = end, touchEvery
}

// grow touches what a memory has grown by, if that is much: it is charged in fuel like filling it.
func (t *touch) grow(region []byte) {
	if size := int64(len(region)); t.known && size-t.grown > growPiece {
		populate(region[t.grown:])
		t.grown = size
	}
}

// touchPages touches pages one by one: other goroutines have their turn between two.
func touchPages(part []byte) {
	for at := 0; at+4 <= len(part); at += os.Getpagesize() {
		atomic.AddInt32((*int32)(unsafe.Pointer(&part[at])), 0)
	}
}
