package query

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/taskrt/taskrt/task"
)

// Subscription delivers the events of this node's machine: raftstore's, or a test's. Waiting gets a value when many events wait.
type Subscription interface {
	Events() <-chan []task.Event
	Waiting() <-chan struct{}
	Lagged() bool
	Close()
}

// Config of an Index.
type Config struct {
	Subscribe func() Subscription
	Local     func(func(*task.Machine)) // shows this node's machine
	Slots     int                       // tasks of a segment, for tests that want many segments; default and most: 8,192
}

// Index is the columns of all tasks of a node's machine. Its methods are safe for concurrent use.
type Index struct {
	cfg  Config
	asks chan chan struct{}
	done chan struct{} // Run has ended

	mu       sync.RWMutex
	segments []*segment // by base
	classes  classes
	places   places
	tasks    int

	owed    chan struct{} // of Run alone: who asked before the subscription ended, and waits until the index is made anew
	horizon uint64        // tasks created later have not been looked at yet; whole: the index is made
	near    int           // the segment and the slot of the last change
	slot    int
}

// New makes an empty index. It follows the machine while Run runs.
func New(cfg Config) *Index {
	if cfg.Slots == 0 {
		cfg.Slots = segmentSlots
	}
	x := &Index{cfg: cfg, asks: make(chan chan struct{}), done: make(chan struct{})}
	x.reset()
	return x
}

func (x *Index) reset() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.segments, x.classes, x.places, x.tasks = nil, newClasses(maxClasses), newPlaces(), 0
	x.near, x.slot = 0, 0
}

// whole is the horizon when every task has been looked at.
const whole = 1<<64 - 1

// lookedAt is how many records are looked at while the machine holds still.
const lookedAt = 512

// Run follows the machine until ctx ends, or the store closes.
func (x *Index) Run(ctx context.Context) {
	defer close(x.done)
	for ctx.Err() == nil {
		f := x.cfg.Subscribe()
		x.reset()
		open := x.build(ctx, f)
		if open && ctx.Err() == nil && x.owed != nil {
			close(x.owed)
			x.owed = nil
		}
		for open && ctx.Err() == nil {
			open = x.follow(ctx, f)
		}
		again := f.Lagged()
		f.Close()
		if !again {
			return
		}
	}
}

// build looks at all records, with events taken in between. It returns false if the subscription has ended.
func (x *Index) build(ctx context.Context, f Subscription) bool {
	x.horizon = 0
	for x.horizon != whole && ctx.Err() == nil {
		var tasks []*task.Task
		var next uint64
		x.cfg.Local(func(m *task.Machine) {
			tasks, next = m.Tasks(task.Filter{Limit: lookedAt, Rows: lookedAt, After: x.horizon})
		})
		x.mu.Lock()
		for _, t := range tasks {
			x.add(t)
		}
		x.mu.Unlock()
		x.horizon = next
		if next == 0 {
			x.horizon = whole
		}
		if !x.take(f) {
			return false
		}
	}
	return true
}

// follow waits until there is something to do. It returns false if the subscription has ended.
func (x *Index) follow(ctx context.Context, f Subscription) bool {
	select {
	case <-f.Waiting():
		return x.take(f)
	case asked := <-x.asks:
		open := x.take(f)
		if open {
			close(asked)
		} else {
			x.owed = asked
		}
		return open
	case <-ctx.Done():
		return true
	}
}

// take takes the events that wait now. It returns false if the subscription has ended.
func (x *Index) take(f Subscription) bool {
	for {
		select {
		case evs, ok := <-f.Events():
			if !ok {
				return false
			}
			x.apply(evs)
		default:
			return true
		}
	}
}

func (x *Index) apply(evs []task.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range evs {
		switch e := &evs[i]; e.Kind {
		case task.TaskChanged:
			x.change(e.Task, e.Prev)
		case task.TaskRemoved:
			x.remove(e.Task)
		default:
		}
	}
}

// CatchUp returns when the index has seen every change of a task that the machine had when it was called.
func (x *Index) CatchUp(ctx context.Context) error {
	asked := make(chan struct{})
	select {
	case x.asks <- asked:
	case <-x.done:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-asked:
		return nil
	case <-x.done:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

// errEnded is the node's end.
var errEnded = fmt.Errorf("query: the index follows the machine no longer: %w", context.Canceled)

// add appends a task that was created after all others.
func (x *Index) add(t *task.Task) {
	last := len(x.segments) - 1
	if last >= 0 && t.CreatedRev <= x.segments[last].last() {
		return // created and gone before a look that saw later ones; its removal follows
	}
	if last < 0 || !x.segments[last].fits(t.CreatedRev, x.cfg.Slots) {
		x.segments = append(x.segments, newSegment(t.CreatedRev, 0))
		if last++; last > 0 {
			x.shrink(last - 1) // it was the last, and left alone
		}
		last = len(x.segments) - 1
	}
	s := x.segments[last]
	slot := s.append(t.CreatedRev)
	x.tasks++
	n := x.classes.of(classOf(t), x.classes.last)
	s.times[createdAt].set(slot, t.CreatedAt)
	s.setTimes(slot, t)
	x.classes.join(n, s.failedAt(slot))
	x.classes.last = n
	s.class[slot] = n
	s.place[slot] = x.places.join(whereOf(t), noPlace)
	s.ids[slot] = signature(t.ID)
	for _, l := range t.Labels {
		s.posted.add(labelHash(t.Namespace, l), slot)
	}
	if t.Parent != "" {
		s.posted.add(parentHash(t.Namespace, t.Parent), slot)
	}
}

// change takes a version of a task. prev is the one before; nil: it is new.
func (x *Index) change(t, prev *task.Task) {
	s, slot := x.find(t.CreatedRev)
	if s == nil {
		if prev == nil && t.CreatedRev > 0 && x.horizon == whole {
			x.add(t)
		}
		return
	}
	from, failed := s.class[slot], s.failedAt(slot)
	n := x.classes.of(classOf(t), from)
	s.setTimes(slot, t)
	if at := s.failedAt(slot); n != from || at != failed {
		x.classes.join(n, at)
		x.classes.leave(from, failed)
		s.class[slot] = n
	}
	s.place[slot] = x.places.join(whereOf(t), s.place[slot])
	if prev != nil && slices.Equal(prev.Labels, t.Labels) {
		return
	}
	for _, l := range t.Labels {
		s.posted.add(labelHash(t.Namespace, l), slot)
	}
}

func (x *Index) remove(t *task.Task) {
	s, slot := x.find(t.CreatedRev)
	if s == nil {
		return
	}
	x.classes.leave(s.class[slot], s.failedAt(slot))
	x.places.leave(s.place[slot])
	s.class[slot] = 0
	s.live--
	x.tasks--
	x.shrink(x.near)
}

// find returns where a task is that is there. It looks beside the last one first.
func (x *Index) find(rev uint64) (*segment, int) {
	if len(x.segments) == 0 {
		return nil, 0
	}
	if i := x.near; i >= len(x.segments) || x.segments[i].base > rev || i+1 < len(x.segments) && x.segments[i+1].base <= rev {
		x.near = max(sort.Search(len(x.segments), func(i int) bool { return x.segments[i].base > rev })-1, 0)
	}
	s := x.segments[x.near]
	slot := s.find(rev, x.slot)
	if slot < 0 || s.class[slot] == 0 {
		return nil, 0
	}
	x.slot = slot
	return s, slot
}

// shrink writes segment i anew if half of it is gone, with a neighbor if both fit into one. The last is left alone: it grows.
func (x *Index) shrink(i int) {
	s := x.segments[i]
	if i == len(x.segments)-1 || s.live > len(s.revs)/2 {
		return
	}
	if s.live == 0 {
		x.segments = slices.Delete(x.segments, i, i+1)
		return
	}
	if before := i - 1; before >= 0 && x.fit(before) {
		x.segments[before] = joined(x.segments[before], s)
		x.segments = slices.Delete(x.segments, i, i+1)
		return
	}
	x.segments[i] = joined(s)
}

// fit reports whether segment i and the next one can be one.
func (x *Index) fit(i int) bool {
	a, b := x.segments[i], x.segments[i+1]
	return a.live+b.live <= x.cfg.Slots*3/4 && b.last()-a.base < 1<<32
}

// Tasks returns how many tasks there are.
func (x *Index) Tasks() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.tasks
}
