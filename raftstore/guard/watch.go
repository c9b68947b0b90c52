package guard

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"
)

// watch is a durable write in progress. It separates the time that the disk takes from the time in which this process did not run (SPEC C10): a node
// that gets no processor for seconds must not believe that its disk hangs.
type watch struct {
	d     *disk
	begun time.Time
	late  time.Duration // of the process, before

	mu     sync.Mutex
	timer  *time.Timer
	thread thread
	looked bool
	before time.Duration // how long the thread had waited for a processor when it was first looked at
	slow   bool
	over   bool
}

// thread says how long a thread has waited for a processor.
type thread interface {
	Delay() (waited time.Duration, ok bool)
}

// watched runs f, one durable write, under watch. It returns how long the disk took.
func (d *disk) watched(f func() error) (took time.Duration, err error) {
	// The thread's own figures tell most exactly how long the write has waited for a processor.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w := &watch{d: d, begun: time.Now(), late: d.late(), thread: d.thread()}
	w.mu.Lock() // look needs the timer
	w.timer = time.AfterFunc(min(d.slow, d.timeout)/2, w.look)
	w.mu.Unlock()
	d.mu.Lock()
	d.writing[w] = struct{}{}
	d.mu.Unlock()

	err = f()

	d.mu.Lock()
	delete(d.writing, w)
	d.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
	if took = w.took(); took >= d.slow {
		w.isSlow()
	}
	return took, err
}

// took returns how long the disk has taken, under mu. It subtracts the time for which the process was late or the time for which the thread has
// waited, whichever is more.
func (w *watch) took() time.Duration {
	late := w.d.late() - w.late
	if w.looked {
		if waited, ok := w.thread.Delay(); ok {
			late = max(late, waited-w.before)
		}
	}
	return max(0, time.Since(w.begun)-late)
}

// look is called when the write may have taken too long, and for the first time after half that time. Most writes end before, and cost no look at the
// thread's figures.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	if !w.looked {
		w.before, w.looked = 0, true
		if waited, ok := w.thread.Delay(); ok {
			w.before = waited
		}
	}
	took := w.took()
	if took >= w.d.timeout {
		w.d.fail(fmt.Errorf("%w: a write takes longer than %v", ErrDiskStalled, w.d.timeout))
		return
	}
	if took >= w.d.slow {
		w.isSlow()
	}
	next := w.d.timeout
	if !w.slow {
		next = min(next, w.d.slow)
	}
	w.timer.Reset(max(next-took, time.Millisecond))
}

// isSlow tells that the disk is slow, once for each write, under mu.
func (w *watch) isSlow() {
	w.d.mu.Lock()
	w.d.slowAt = time.Now()
	w.d.mu.Unlock()
	if !w.slow {
		w.slow = true
		w.d.onSlow()
	}
}

// slowFor is how long a disk counts as slow after its last slow write.
const slowFor = 30 * time.Second

// isSlow reports whether the disk is slow, or was so a moment ago.
func (d *disk) isSlow() bool {
	d.mu.Lock()
	at := d.slowAt
	ws := slices.Collect(maps.Keys(d.writing)) // order-free: any
	d.mu.Unlock()
	return !at.IsZero() && time.Since(at) < slowFor || slices.ContainsFunc(ws, func(w *watch) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.slow
	})
}
