package runtime

import (
	"container/list"
	"slices"
	"sync"
	"time"

	"github.com/taskrt/taskrt/runtime/memory"
)

// The bounds of what waits for its next use. Go guests take milliseconds to initialise, and a worker has dozens of
// slots.
const (
	idlePerModule = 64
	idleInAll     = 256
	// sweepEvery is how often the shelf frees what nobody has used since the last sweep.
	sweepEvery = 15 * time.Second
)

// shelf keeps the idle instances and the images of an engine. All of it gives way as soon as an attempt waits for
// memory. The shelf's lock is taken after the engine's and before the budget's.
type shelf struct {
	budget    *memory.Budget
	restoring memory.Restoring

	mu     sync.Mutex
	idle   list.List     // of *instance, the oldest first
	images []*pool       // that have one
	looks  int           // calls of sweepLater
	sweeps time.Duration // Boottime at which a sweep is due; 0: none
}

// newShelf returns a shelf, with the budget of limit bytes to which its contents are charged.
func newShelf(limit int64) *shelf {
	s := &shelf{}
	s.budget = memory.NewBudget(limit, s.relieve)
	return s
}

// take returns an idle instance of p, charged with all of its memory.
func (s *shelf) take(p *pool, limit int64) *instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(p.idle) > 0 {
		i := p.idle[len(p.idle)-1]
		s.remove(i)
		if i.mem.Reserved() >= limit && i.image.Size <= limit && s.budget.Enter(i.image.Size-i.mem.Charged()) {
			i.mem.Begin(limit)
			i.image.old = false
			p.stats.Reused++
			return i
		}
		s.free(i)
	}
	return nil
}

// plan returns with how much memory a new instance begins, and how much address space it reserves.
func (s *shelf) plan(p *pool, limit int64, anew bool) (need, reserve int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.largest = max(p.largest, limit)
	if p.image != nil && p.image.Size <= limit && !anew {
		return p.image.Size, p.largest
	}
	return p.minMemory, p.largest
}

// use returns p's image for a new instance, if there is one of size bytes.
func (s *shelf) use(p *pool, size int64) *image {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.stats.Made++
	if p.image == nil || p.image.Size != size {
		return nil
	}
	return p.image.used()
}

// join returns p's image for an instance that was made without one, if it is within limit.
func (s *shelf) join(p *pool, limit int64) *image {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.image == nil || p.image.Size > limit {
		return nil
	}
	return p.image.used()
}

// used counts one more user of the image.
func (img *image) used() *image {
	img.users++
	img.old = false
	return img
}

// wants charges the budget for an image of p, if p has none and the image fits.
func (s *shelf) wants(p *pool, size int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.image == nil && s.budget.Enter(size)
}

// publish makes img the image of p, with its maker as the first user. If another maker was faster, publish closes img
// and returns false.
func (s *shelf) publish(p *pool, img *image) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.image != nil {
		img.Close()
		s.budget.Give(img.Size)
		return false
	}
	img.users++
	p.image = img
	s.images = append(s.images, p)
	s.sweepLater()
	return true
}

// put keeps an instance that is as new. The budget stays charged for what the instance keeps.
func (s *shelf) put(i *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := i.pool
	switch {
	case i.image != p.image: // it was dropped meanwhile
		s.free(i)
		s.yield()
		return
	case len(p.idle) >= idlePerModule:
		oldest := p.idle[0]
		s.remove(oldest)
		s.free(oldest)
	case s.idle.Len() >= idleInAll:
		oldest := s.idle.Front().Value.(*instance)
		s.remove(oldest)
		s.free(oldest)
	}
	i.old = false
	p.idle = append(p.idle, i)
	i.place = s.idle.PushBack(i)
	s.sweepLater()
	s.yield()
}

// remove takes an idle instance off the shelf. The caller holds the lock, as with all functions below.
func (s *shelf) remove(i *instance) {
	s.idle.Remove(i.place)
	p := i.pool
	n := slices.Index(p.idle, i)
	p.idle = slices.Delete(p.idle, n, n+1)
}

// free closes an instance that is off the shelf.
func (s *shelf) free(i *instance) {
	i.close()
	s.leave(i.image)
}

// leave ends a use of img.
func (s *shelf) leave(img *image) {
	if img.users--; img.users == 0 && img.dropped {
		img.Close()
	}
}

// yield frees while attempts wait for memory.
func (s *shelf) yield() {
	for s.budget.Short() && s.freeOne() {
	}
}

// freeOne frees the oldest idle instance; without any, an image. It returns false if there is nothing to free.
func (s *shelf) freeOne() bool {
	if front := s.idle.Front(); front != nil {
		i := front.Value.(*instance)
		s.remove(i)
		s.free(i)
		return true
	}
	if len(s.images) > 0 {
		s.drop(s.images[0])
		return true
	}
	return false
}

// drop frees the image of p, which has no idle instances. Instances that run have all of their memory charged, shared
// pages included, so they may keep the image until they end.
func (s *shelf) drop(p *pool) {
	s.budget.Give(p.image.Size)
	p.image.dropped = true
	if p.image.users == 0 {
		p.image.Close()
	}
	p.image = nil
	n := slices.Index(s.images, p)
	s.images = slices.Delete(s.images, n, n+1)
}

// unuse ends the use of an instance that was not put back.
func (s *shelf) unuse(img *image) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if img != nil {
		s.leave(img)
	}
	s.yield()
}

// relieve frees what it can while attempts wait for memory.
func (s *shelf) relieve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.yield()
}

// charge takes n bytes of the budget for a guest that runs, and frees what is idle if they do not fit.
func (s *shelf) charge(n int64) bool {
	if s.budget.Take(n) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.budget.Take(n) {
		if !s.freeOne() {
			return false
		}
	}
	return true
}

// clear frees everything of p. No attempt of p runs.
func (s *shelf) clear(p *pool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(p.idle) > 0 {
		i := p.idle[0]
		s.remove(i)
		s.free(i)
	}
	if p.image != nil {
		s.drop(p)
	}
}

// looksEvery is after how many instances that were put back sweepLater looks at the clock again.
const looksEvery = 64

// sweepLater makes sure that there will be a sweep. It goes by the machine's clock and makes a new timer each time,
// because a synctest bubble may share the engine, and timers of a bubble may never fire. To look at the clock is a
// system call, so sweepLater does not look each time.
func (s *shelf) sweepLater() {
	if s.looks++; s.sweeps != 0 && s.looks%looksEvery != 0 {
		return
	}
	now := Boottime()
	if s.sweeps != 0 && now < s.sweeps+sweepEvery {
		return
	}
	s.sweeps = now + sweepEvery
	time.AfterFunc(sweepEvery, s.sweep)
}

// sweep frees what nobody has used since the last sweep.
func (s *shelf) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := s.idle.Front(); e != nil; {
		i := e.Value.(*instance)
		e = e.Next()
		if i.old {
			s.remove(i)
			s.free(i)
		}
		i.old = true
	}
	for _, p := range slices.Clone(s.images) {
		if p.image.old && p.image.users == 0 {
			s.drop(p)
			continue
		}
		p.image.old = true
	}
	s.sweeps = 0
	if s.idle.Len()+len(s.images) > 0 {
		s.sweepLater()
	}
}
