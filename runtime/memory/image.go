package memory

import (
	"context"
	"errors"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/taskrt/taskrt/runtime/wasi"
)

// State is what a module has after its initialisation beside the bytes of its memory.
type State struct {
	Size    int64 // bytes of linear memory
	Globals []uint64
	Clock   time.Duration // the guest's monotonic clock
	Files   wasi.Files
}

// Restoring is a way to give an instance the memory of its image back, from the best to the worst. The worst of all is not
// to do it.
type Restoring uint8

// The ways.
const (
	Scan  Restoring = iota // copy back the pages that the kernel says were written
	Remap                  // drop all private pages
	Copy                   // copy the whole image
	Never                  // new instances only
)

// keptPages is how many private pages an instance keeps while it is idle: copying back is cheaper than the fault that a
// dropped page costs its next user.
const keptPages = 48

// Image is the memory of a module after its initialisation, which instances share until they write to it, and its State.
type Image struct {
	State

	backing *backing
}

// Capture returns an image of m, whose instance has just been initialised to s. It ends with ctx.
func Capture(ctx context.Context, m *Memory, s State, how Restoring) (*Image, error) {
	b, err := newBacking(ctx, m.region[:m.size], how)
	return &Image{State: s, backing: b}, err
}

// Attach gives m, whose size is that of the image, the image's memory for the first time.
func (img *Image) Attach(m *Memory) error { return img.backing.attach(m.region) }

var errNotShrunk = errors.New("runtime: a memory that has grown to its maximum cannot be made smaller")

// Restore gives m, which wazero knows as lib, the image's memory again after an attempt. kept is how many bytes of it are
// private.
func (img *Image) Restore(m *Memory, lib api.Memory) (kept int64, err error) {
	kept, err = img.backing.restore(m.region[:m.size])
	if err != nil {
		return 0, err
	}
	if !m.shrink(lib, img.Size) {
		return 0, errNotShrunk
	}
	return min(kept, img.Size), nil
}

// Close frees the image. No instance has it any more.
func (img *Image) Close() { img.backing.close() }
