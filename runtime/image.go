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
	size    int64 // bytes of linear memory
	globals []uint64
	clock   time.Duration // the guest's monotonic clock
	files   wasi.Files
	backing *backing
	users   int  // instances that have it
	old     bool // unused since the last sweep
	dropped bool // no longer the pool's: closed once it has no users
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
func (p *pool) capture(i *instance, g *guest) (*image, error) {
	img := &image{size: i.mem.size, globals: p.globalsOf(i), clock: g.initClock, files: g.files}
	var err error
	img.backing, err = newBacking(g.ctx, i.mem.region[:i.mem.size], p.shelf.restoring)
	return img, err
}

// show gives i the memory and globals of its image, for the first time.
func (img *image) show(i *instance) error {
	if err := i.widen(img.size); err != nil {
		return err
	}
	if err := img.backing.attach(i.mem.region); err != nil {
		return err
	}
	setGlobals(i, img.globals)
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
	if !i.mem.shrink(i.mod.Memory(), img.size) {
		return 0, errNotShrunk
	}
	setGlobals(i, img.globals)
	return min(kept, img.size), nil
}

func setGlobals(i *instance, values []uint64) {
	for n, global := range i.globals {
		global.Set(values[n])
	}
}

func (p *pool) globalsOf(i *instance) []uint64 {
	values := make([]uint64, len(i.globals))
	for n, global := range i.globals {
		values[n] = global.Get()
	}
	return values
}

var errNotShrunk = errors.New("runtime: a memory that has grown to its maximum cannot be made smaller")

// restorableGlobals finds the module's mutable globals in an instance.
func (p *pool) restorableGlobals(mod api.Module) []api.MutableGlobal {
	globals := make([]api.MutableGlobal, len(p.globals))
	for n, name := range p.globals {
		globals[n] = mod.ExportedGlobal(name).(api.MutableGlobal)
	}
	return globals
}
