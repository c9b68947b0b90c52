package runtime

import (
	"os"
	"sync/atomic"
	"unsafe"
)

// The first access to a page of memory is the kernel's work: microseconds, where an instruction takes a fraction of a nanosecond. A
// guest that touches 64 MiB within one slice of fuel held up the garbage collector for a quarter of a second. So slices are short while much of a
// memory may be untouched, and meanwhile the host touches it for the guest, which is system calls that hold up nobody.
const (
	untouchedBytes = 4 << 20  // that slices of any length may meet
	touchSlice     = 4_000    // units of fuel of a short slice: some thousand pages at most
	touchPiece     = 64 << 10 // bytes that the host touches at a time
	touchEvery     = 16       // short slices between them, and between the turns of others
	growPiece      = 1 << 20  // bytes by which a memory may grow untouched
)

// touch knows which part of a memory was touched for certain since its attempt began. The zero value knows nothing, and touches nothing.
type touch struct {
	known bool
	begin int64 // size of the memory when the attempt began
	done  int64 // bytes from its beginning that are touched
	grown int64 // size up to which it was touched when it grew
	short int   // short slices until the host touches more
}

// start begins an attempt with a memory of size bytes.
func (t *touch) start(size int64) { *t = touch{known: true, begin: size, grown: size} }

// untouched is whether so much may be untouched that slices must be short.
func (t *touch) untouched() bool { return t.begin-t.done > untouchedBytes }

// more touches a piece of memory.
func (t *touch) more(region []byte) {
	end := min(t.done+touchPiece, t.begin)
	populate(region[t.done:end])
	t.done, t.short = end, touchEvery
}

// grow touches what a memory has grown by, if that is much: it is charged in fuel like filling it.
func (t *touch) grow(region []byte) {
	if size := int64(len(region)); t.known && size-t.grown > growPiece {
		populate(region[t.grown:])
		t.grown = size
	}
}

// touches begins to follow what the guest touches of its memory.
func (g *guest) touches(m *linearMemory) {
	g.touch = m
	m.touch.start(m.size)
}

// touchPages touches pages one by one: other goroutines have their turn between two.
func touchPages(part []byte) {
	for at := 0; at+4 <= len(part); at += os.Getpagesize() {
		atomic.AddInt32((*int32)(unsafe.Pointer(&part[at])), 0)
	}
}
