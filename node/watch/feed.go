package watch

import (
	"errors"
	"reflect"
	"sync"

	"github.com/taskrt/taskrt/task"
)

// Config configures a Feed.
type Config struct {
	// Local runs a function on the node's machine, which holds still meanwhile. The function must be short.
	Local func(func(*task.Machine))
	// Encode makes the JSON of an event. It is called once per change, however many subscribers want the change. For a
	// task of an operation it is called once for each subscriber.
	Encode func(*Change) []byte
	// Entries and Bytes bound the kept changes. The defaults are 65,536 changes and 64 MiB. Three quarters of the bytes
	// are for all changes, encoded. The rest is for the changes that somebody looks at.
	Entries, Bytes int
	// Subscribers bounds the subscribers; default 20,000. IDs bounds the IDs that all subscribers together name; default
	// 1,048,576.
	Subscribers, IDs int
}

// Feed is one node's recent changes with their subscribers.
type Feed struct {
	config Config

	mu     sync.RWMutex // Ingest and others write under it; subscribers read under it, and each writes its own place only
	ring   ring
	shelf  shelf
	index  index
	subs   group
	ids    int // how many all subscribers name
	beats  beats
	closed chan struct{}
	wanted chan struct{} // closed and replaced when the first subscriber comes and when the last one goes
}

// Errors of Subscribe and Next.
var (
	ErrTooMany = errors.New("watch: too many subscribers")
	ErrClosed  = errors.New("watch: closed")
)

// NewFeed makes a feed. Restart must be called before the first Ingest, and Close at the end.
func NewFeed(c Config) *Feed {
	if c.Entries == 0 {
		c.Entries = 65_536
	}
	if c.Bytes == 0 {
		c.Bytes = 64 << 20
	}
	if c.Subscribers == 0 {
		c.Subscribers = 20_000
	}
	if c.IDs == 0 {
		c.IDs = 1 << 20
	}
	return &Feed{
		config: c, ring: newRing(c.Entries, c.Bytes/4*3), shelf: newShelf(c.Bytes / 4), index: newIndex(), subs: group{}, beats: newBeats(),
		closed: make(chan struct{}), wanted: make(chan struct{}),
	}
}

// Close ends all subscriptions. A second Close does nothing.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.isClosed() {
		close(f.closed)
		f.beats.stop()
	}
}

func (f *Feed) isClosed() bool {
	select {
	case <-f.closed:
		return true
	default:
		return false
	}
}

// Restart says that changes may have been missed. rev is the state's rev, read after subscribing to the events. The
// events that follow have higher revs. Subscribers get Reset, except subscribers that are known to have seen everything
// up to rev.
func (f *Feed) Restart(rev uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		if !s.caughtUp() || max(s.after, f.ring.top) < rev {
			s.lost = true
			s.nudge()
		}
	}
	f.ring.clear(rev)
	f.shelf.clear()
	f.beats.stop()
	f.beats = newBeats()
}

// Ingest takes in the events of some entries. The events of one call wake a subscriber at most once.
func (f *Feed) Ingest(entries ...[]task.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var wake []*Sub
	for _, evs := range entries {
		wake = f.take(evs, wake)
	}
	nudge(wake)
}

// take takes in the events of one entry. It appends to wake as add does.
func (f *Feed) take(evs []task.Event, wake []*Sub) []*Sub {
	for i := range evs {
		e := &evs[i]
		if e.Rev <= f.ring.floor && e.Task != nil {
			continue // the state at Restart had the change already
		}
		switch e.Kind {
		case task.TaskChanged:
			if onlyProgress(e.Prev, e.Task) {
				wake = f.stored(e, wake)
				continue
			}
			f.beats.changed(e.Task)
			wake = f.add(Change{Kind: Task, Rev: e.Rev, Task: e.Task}, mark{outcome: Outcome(e.Prev, e.Task)}, wake)
		case task.TaskRemoved:
			f.beats.removed(e.Task.Key())
			wake = f.add(Change{Kind: Removed, Rev: e.Rev, Task: e.Task}, mark{}, wake)
		}
	}
	return wake
}

// add puts a change into the ring. It appends to wake the subscribers that the change concerns and that have nothing to
// look at yet.
func (f *Feed) add(c Change, m mark, wake []*Sub) []*Sub {
	n, before := f.ring.next, len(wake)
	f.ring.add(&c, m)
	if len(f.subs) == 0 {
		return wake
	}
	e := f.ring.at(n)
	for _, g := range f.index.candidates(c.Task) {
		for s := range g {
			if !s.behind && s.wants(n, e) {
				s.behind, s.from = true, n
				wake = append(wake, s)
				if s.broad() {
					delete(g, s)
				}
			}
		}
	}
	if len(wake) > before {
		f.shelf.put(&f.ring, n, c)
	}
	return wake
}

func nudge(subs []*Sub) {
	for _, s := range subs {
		s.nudge()
	}
}

// Outcome reports whether the version t of a record, which replaced prev, gave it an outcome (SPEC T2). A version gives
// none if it only moves the next run of a task that waits after its outcome.
func Outcome(prev, t *task.Task) bool {
	if t.Status != task.Success && t.Status != task.Failure {
		return false
	}
	return prev == nil || prev.Status == task.Running || prev.Status == task.Created ||
		prev.Attempt != t.Attempt || prev.Status != t.Status ||
		prev.Error != nil && t.Error != nil && prev.Error.Code != t.Error.Code
}

// onlyProgress reports whether only two things are new: the progress of a running attempt, and what its lease counts.
func onlyProgress(prev, t *task.Task) bool {
	if prev == nil || prev.Lease == nil || t.Lease == nil ||
		prev.Lease.Token != t.Lease.Token || prev.Progress.Equal(t.Progress) {
		return false
	}
	same := *prev
	same.Progress, same.Lease, same.Rev = t.Progress, t.Lease, t.Rev
	return reflect.DeepEqual(&same, t)
}

// History looks for the first version of a task, with a rev above since, that gave it an outcome that want accepts.
// covered is false if the ring does not reach back to since: there may have been others.
func (f *Feed) History(key task.Key, since uint64, want func(*task.Task) bool) (found *task.Task, covered bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	one := Filter{Namespace: key.Namespace, IDs: []string{key.ID}}
	for n := f.ring.after(since); n < f.ring.next; n++ {
		if e := f.ring.at(n); e.outcome && f.ring.matches(&one, e) {
			if t := f.ring.change(e).Task; want(t) {
				return t, since >= f.ring.floor
			}
		}
	}
	return nil, since >= f.ring.floor
}

// Wanted reports whether there are subscribers. The channel is closed when that changes.
func (f *Feed) Wanted() (bool, <-chan struct{}) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return len(f.subs) > 0, f.wanted
}

// Subscribe follows the changes with a rev above after. The subscriber begins with Reset if after is 0, if the ring no
// longer has all of these changes, or if the state has not got to after, which is of another history then. The caller
// has made sure that this node's machine is not merely late.
func (f *Feed) Subscribe(filter Filter, after uint64) (*Sub, error) {
	var rev uint64
	f.config.Local(func(m *task.Machine) { rev = m.Rev() })
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isClosed() {
		return nil, ErrClosed
	}
	if len(f.subs) >= f.config.Subscribers || f.ids+len(filter.IDs) > f.config.IDs {
		return nil, ErrTooMany
	}
	s := &Sub{
		feed: f, filter: filter, wake: make(chan struct{}, 1), after: after, position: after, born: f.ring.next,
		lost: after < f.ring.floor || after > rev || after == 0 && rev > 0,
	}
	if !s.lost {
		s.from = f.ring.after(after)
		s.behind = s.from < f.ring.next
	}
	f.subs[s] = struct{}{}
	f.ids += len(filter.IDs)
	if !s.behind || !s.broad() {
		f.index.add(s)
	}
	if len(f.subs) == 1 {
		f.announce()
	}
	return s, nil
}

func (f *Feed) announce() {
	close(f.wanted)
	f.wanted = make(chan struct{})
}

func (f *Feed) unsubscribe(s *Sub) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.subs[s]; !ok {
		return
	}
	delete(f.subs, s)
	f.ids -= len(s.filter.IDs)
	f.index.remove(s)
	if len(f.subs) == 0 {
		f.beats.stop()
		f.beats = newBeats()
		f.shelf.clear()
		f.announce()
	}
}
