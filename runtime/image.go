package runtime

import (
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/taskrt/taskrt/runtime/wasi"
)

// image is what a module's memory and mutable globals are after its start section and _initialize. These see nothing of a
// task (abi/README.md, "Phases") and get clocks and randomness that are always the same, so the image is the same whoever
// makes it, and may come from another process (imagefile.go). The shelf's lock guards users, old and dropped.
type image struct {
	imageHead

	backing *backing
	users   int  // instances that have it
	old     bool // unused since the last sweep
	dropped bool // no longer the pool's: closed once it has no users
}

// imageHead is what an image has beside its memory.
type imageHead struct {
	Size    int64 // bytes of linear memory
	Globals []uint64
	Clock   time.Duration // the guest's monotonic clock
	Files   wasi.Files
}

// Ways to give an instance the memory of its image back, from the best to the worst. The worst of all is not to do it.
type restoring uint8

const (
	restoreScan  restoring = iota // copy back the pages that the kernel says were written
	restoreRemap                  // drop all private pages
	restoreCopy                   // copy the whole image
	restoreNever                  // new instances only
)

// keptPages is how many private pages an instance keeps while it is idle: copying back is cheaper than the fault that a
// dropped page costs its next user.
const keptPages = 48

// capture returns an image of i, which has just been initialised.
func (i *instance) capture() (*image, error) {
	img := &image{imageHead: i.head()}
	var err error
	img.backing, err = newBacking(i.guest.ctx, i.mem.region[:i.mem.size], i.pool.shelf.restoring)
	return img, err
}

// head returns what the image of i, which has just been initialised, has beside its memory.
func (i *instance) head() imageHead {
	h := imageHead{Size: i.mem.size, Globals: make([]uint64, len(i.globals)), Clock: i.guest.initClock, Files: i.guest.files}
	for n, global := range i.globals {
		h.Globals[n] = global.Get()
	}
	return h
}

// show gives i the memory and globals of its image, for the first time.
func (img *image) show(i *instance) error {
	if err := i.widen(img.Size); err != nil {
		return err
	}
	if err := img.backing.attach(i.mem.region); err != nil {
		return err
	}
	img.setGlobals(i)
	img.tell(i.guest)
	return nil
}

// widen makes the memory of an instance that was just made as large as that of an image.
func (i *instance) widen(size int64) error {
	grow := size - i.mem.size
	if grow < 0 {
		return fmt.Errorf("runtime: the start section left %d bytes of memory, more than the %d of the image", i.mem.size, size)
	}
	if grow > 0 {
		if _, ok := i.mod.Memory().Grow(uint32(grow >> 16)); !ok {
			return errOverBudget
		}
	}
	return nil
}

// restore gives i, which has run, the memory and globals of its image again. kept is how many bytes of it are private.
func (img *image) restore(i *instance) (kept int64, err error) {
	kept, err = img.backing.restore(i.mem.region[:i.mem.size])
	if err != nil {
		return 0, err
	}
	if !i.mem.shrink(i.mod.Memory(), img.Size) {
		return 0, errNotShrunk
	}
	img.setGlobals(i)
	return min(kept, img.Size), nil
}

func (h *imageHead) setGlobals(i *instance) {
	for n, global := range i.globals {
		global.Set(h.Globals[n])
	}
}

// tell has g go on from where the guest was that made the image.
func (h *imageHead) tell(g *guest) { g.initClock, g.files = h.Clock, h.Files }

var errNotShrunk = errors.New("runtime: a memory that has grown to its maximum cannot be made smaller")

// restorableGlobals finds the module's mutable globals in an instance.
func (p *pool) restorableGlobals(mod api.Module) []api.MutableGlobal {
	globals := make([]api.MutableGlobal, len(p.globals))
	for n, name := range p.globals {
		globals[n] = mod.ExportedGlobal(name).(api.MutableGlobal)
	}
	return globals
}
