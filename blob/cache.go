package blob

import (
	"container/list"
	"os"
	"slices"
	"sync"
)

// cache knows which files were used last. A store that keeps all files has a nil cache.
type cache struct {
	most int64

	mu    sync.Mutex
	total int64
	order *list.List // of *cached, the last used first
	by    map[string]*list.Element
}

type cached struct {
	digest string
	size   int64
}

// openCache makes a cache of the files on the disk; the file that was written last counts as used last.
func (s *Store) openCache() error {
	var all []Info
	if err := s.List(func(i Info) bool { all = append(all, i); return true }); err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b Info) int { return a.Modified.Compare(b.Modified) })
	s.cache = &cache{most: s.cfg.KeepBytes, order: list.New(), by: map[string]*list.Element{}}
	for _, i := range all {
		s.cache.add(i.Digest, i.Size)
	}
	s.cache.trim(s)
	return nil
}

func (c *cache) add(digest string, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[digest] == nil {
		c.by[digest] = c.order.PushFront(&cached{digest, size})
		c.total += size
	}
}

// added notes a file that has been given its name.
func (c *cache) added(digest, path string) {
	if c == nil {
		return
	}
	if fi, err := os.Stat(path); err == nil {
		c.add(digest, fi.Size())
	}
}

func (c *cache) removed(digest string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.by[digest]; e != nil {
		c.total -= c.order.Remove(e).(*cached).size
		delete(c.by, digest)
	}
}

func (c *cache) used(digest string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.by[digest]; e != nil {
		c.order.MoveToFront(e)
	}
}

// trim removes files until the rest fits, but never the file that was used last. A removed file stays for those that have it open.
func (c *cache) trim(s *Store) {
	if c == nil {
		return
	}
	for {
		digest := c.surplus()
		if digest == "" {
			return
		}
		c.evict(s, digest)
	}
}

// evict removes a file, and counts it no longer, also if it is not there or cannot be removed. Both happen under the file's lock: a file that is given
// its name again meanwhile is counted again afterwards.
func (c *cache) evict(s *Store, digest string) {
	defer s.locks.lock(digest)()
	if err := s.remove(digest); err != nil {
		s.cfg.Logger.Warn("cannot remove a file that is no longer needed", "digest", digest, "err", err)
	}
	c.removed(digest)
}

func (c *cache) surplus() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total <= c.most || c.order.Len() < 2 {
		return ""
	}
	return c.order.Back().Value.(*cached).digest
}
