// Package making keeps how far a worker is with modules that are not ready, for the leader and for those who ask why a task waits (SPEC Q4).
package making

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt/internal/clip"
	"github.com/taskrt/taskrt/worker/stream"
)

// Making is how far a worker is with each module that it was asked for and that is not ready. The zero value knows of none. All methods are safe for
// concurrent use.
type Making struct {
	changes atomic.Uint64 // rises with each change

	mu sync.Mutex
	by map[string]*made // by digest
}

// made is how far the worker is with one module.
type made struct {
	step    stream.Step
	since   time.Time
	failed  int64
	err     string // why the last try failed
	changed uint64 // the value of changes when this changed
}

// shortDigest is how many characters of a digest are enough for people.
const shortDigest = 12

// Enters notes that a step begins.
func (m *Making) Enters(digest string, step stream.Step) {
	m.change(digest, func(x *made) { x.step = step })
}

// Fails notes that a try has failed.
func (m *Making) Fails(digest string, err error) {
	text := strings.ReplaceAll(err.Error(), digest, digest[:min(len(digest), shortDigest)]) // the reader knows the digest
	text = clip.Text(strings.Join(strings.Fields(text), " "), stream.MaxUnreadyError)
	m.change(digest, func(x *made) { x.step, x.err, x.failed = stream.Pausing, text, x.failed+1 })
}

func (m *Making) change(digest string, f func(*made)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.by[digest]
	if x == nil {
		x = &made{}
		if m.by == nil {
			m.by = map[string]*made{}
		}
		m.by[digest] = x
	}
	f(x)
	x.since, x.changed = time.Now(), m.changes.Add(1)
}

// Done notes that a module is ready.
func (m *Making) Done(digest string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.by, digest)
	m.changes.Add(1)
}

// Told is what the leader knows of it over one connection.
type Told struct {
	changes uint64
	known   map[string]bool
}

// News returns what has changed since the leader was told, and counts it as told.
func (m *Making) News(told *Told) (news []stream.Unready) {
	if told.changes == m.changes.Load() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if told.known == nil {
		told.known = map[string]bool{}
	}
	for _, digest := range slices.Sorted(maps.Keys(told.known)) {
		if m.by[digest] == nil {
			delete(told.known, digest)
			news = append(news, stream.Unready{Module: digest})
		}
	}
	for _, digest := range slices.Sorted(maps.Keys(m.by)) {
		if x := m.by[digest]; x.changed > told.changes {
			told.known[digest] = true
			news = append(news, stream.Unready{Module: digest, Step: x.step, For: time.Since(x.since).Milliseconds(), Failed: x.failed, Error: x.err})
		}
	}
	told.changes = m.changes.Load()
	return news
}
