package files

import (
	"sync"
	"time"

	"github.com/taskrt/taskrt/blob"
)

// counter counts the files of the blob store now and then, by a look at each.
type counter struct {
	mu           sync.Mutex // held while counting
	next         time.Time
	last         sync.Mutex // guards the rest
	files, bytes int64
}

// Counting takes at most one part in countShare of the time, and begins at most once in countEvery.
const (
	countEvery = 15 * time.Second
	countShare = 100
)

// of returns the last count. If a count is due and none is under way, it counts first.
func (c *counter) of(store *blob.Store) (files, bytes int64) {
	if c.mu.TryLock() {
		if begun := time.Now(); !begun.Before(c.next) {
			if err := store.List(func(i blob.Info) bool { files++; bytes += i.Size; return true }); err == nil {
				c.last.Lock()
				c.files, c.bytes = files, bytes
				c.last.Unlock()
			}
			c.next = time.Now().Add(max(countEvery, countShare*time.Since(begun)))
		}
		c.mu.Unlock()
	}
	c.last.Lock()
	defer c.last.Unlock()
	return c.files, c.bytes
}

// Count returns how many files, and how many bytes, are on this disk, as counted a while ago.
func (f *Files) Count() (files, bytes int64) { return f.counter.of(f.disk) }
