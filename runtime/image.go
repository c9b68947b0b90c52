package runtime

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/tetratelabs/wazero/api"

	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/memory"
)

// image is what a module's memory and mutable globals are after its start section and _initialize. These two see
// nothing of a task (abi/README.md, "Phases") and get clocks and randomness that are always the same. So the image is
// the same whoever makes it, and may come from another process: the process that compiles a module initialises it,
// too, and the image lies beside the code in the cache (SPEC L5). The shelf's lock guards users, old and dropped.
type image struct {
	*memory.Image

	users   int  // instances that have it
	old     bool // unused since the last sweep
	dropped bool // no longer the pool's: closed once it has no users
}

// capture returns an image of i, which has just been initialised.
func (i *instance) capture() (*image, error) {
	img, err := memory.Capture(i.guest.ctx, i.mem, i.state(), i.pool.shelf.restoring)
	return &image{Image: img}, err
}

// state returns what i, which has just been initialised, has beside the bytes of its memory.
func (i *instance) state() memory.State {
	s := memory.State{Size: i.mem.Size(), Globals: make([]uint64, len(i.globals)), Clock: i.guest.initClock, Files: i.guest.files}
	for n, global := range i.globals {
		s.Globals[n] = global.Get()
	}
	return s
}

// show gives i the memory and globals of its image, for the first time.
func (img *image) show(i *instance) error {
	if err := i.widen(img.Size); err != nil {
		return err
	}
	if err := img.Attach(i.mem); err != nil {
		return err
	}
	i.resume(&img.State)
	return nil
}

// widen makes the memory of a new instance as large as the memory of an image.
func (i *instance) widen(size int64) error {
	grow := size - i.mem.Size()
	if grow < 0 {
		return fmt.Errorf("runtime: the start section left %d bytes of memory, more than the %d of the image", i.mem.Size(), size)
	}
	if grow > 0 {
		if _, ok := i.mod.Memory().Grow(uint32(grow >> 16)); !ok {
			return memory.ErrOverBudget
		}
	}
	return nil
}

// restore gives i, which has run, the memory and globals of its image again. kept is how many bytes of it are private.
func (img *image) restore(i *instance) (kept int64, err error) {
	kept, err = img.Restore(i.mem, i.mod.Memory())
	if err == nil {
		i.setGlobals(&img.State)
	}
	return kept, err
}

// resume has i and its guest go on from s, the state of a guest that was initialised elsewhere.
func (i *instance) resume(s *memory.State) {
	i.setGlobals(s)
	i.guest.resume(s)
}

func (i *instance) setGlobals(s *memory.State) {
	for n, global := range i.globals {
		global.Set(s.Globals[n])
	}
}

func (g *guest) resume(s *memory.State) { g.initClock, g.files = s.Clock, s.Files }

// restorableGlobals finds the module's mutable globals in an instance.
func (p *pool) restorableGlobals(mod api.Module) []api.MutableGlobal {
	globals := make([]api.MutableGlobal, len(p.globals))
	for n, name := range p.globals {
		globals[n] = mod.ExportedGlobal(name).(api.MutableGlobal)
	}
	return globals
}

// save puts the image of an instance that was just initialised into the cache, once.
func (i *instance) save() {
	p := i.pool
	if p.saved.Swap(true) {
		return
	}
	err := p.cache.WriteImage(p.digest, func(f *os.File) (int64, error) { return memory.WriteFile(f, i.mem, i.state()) })
	if err != nil {
		p.log.Warn("the image of a module is not cached", "digest", p.digest, "err", err)
	}
}

// cached initialises i by the image that the cache has of its module. It returns false if there is no image that i
// may have.
func (i *instance) cached() (bool, error) {
	p := i.pool
	if !p.restorable || !p.readsImages || p.uncached.Load() {
		return false, nil
	}
	p.reading.Lock() // one reads at a time: the others share what it has made of it
	defer p.reading.Unlock()
	if i.image = p.shelf.join(p, i.mem.Limit()); i.image != nil {
		return true, i.image.show(i)
	}
	kept, err := p.readImage()
	if err != nil {
		p.uncached.Store(true)
		if !errors.Is(err, fs.ErrNotExist) {
			p.log.Warn("the image of a module is of no use, it is made anew", "digest", p.digest, "err", err)
		}
		return false, nil
	}
	if kept.Size > i.mem.Limit() { // made where more was allowed
		return false, nil
	}
	if err := i.widen(kept.Size); err != nil {
		return false, err
	}
	if err := kept.Fill(i.mem); err != nil {
		return false, err
	}
	i.resume(&kept.State)
	i.keepImage()
	return true, nil
}

// readImage returns the image that the cache has of the module.
func (p *pool) readImage() (*memory.Kept, error) {
	file, err := p.cache.ReadImage(p.digest, memory.MaxFile)
	if err != nil {
		return nil, err
	}
	kept, err := memory.ReadFile(file, manifest.MaxMemoryBytes)
	if err != nil {
		return nil, err
	}
	return kept, kept.Fits(len(p.globals), p.minMemory)
}
