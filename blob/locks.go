package blob

import "sync"

// locks has one mutex for each digest that somebody uses. A file is given its name, and loses it, under its digest's mutex.
type locks struct {
	mu sync.Mutex
	by map[string]*digestLock
}

type digestLock struct {
	sync.Mutex
	users int // under locks.mu
}

// lock waits for a digest's lock; unlock must be called.
func (l *locks) lock(digest string) (unlock func()) {
	l.mu.Lock()
	if l.by == nil {
		l.by = map[string]*digestLock{}
	}
	d := l.by[digest]
	if d == nil {
		d = &digestLock{}
		l.by[digest] = d
	}
	d.users++
	l.mu.Unlock()
	d.Lock()
	return func() {
		d.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if d.users--; d.users == 0 {
			delete(l.by, digest)
		}
	}
}
