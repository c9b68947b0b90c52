package lead

import (
	"time"

	"github.com/taskrt/taskrt/node/accept"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// loop is the leader's one decision maker: it pushes what was assigned, plans what can be, and lets time pass. It is
// woken by events, credits and timers, never by polling; it waits for nothing but these. All its state belongs to its
// goroutine; others reach it through do.
type loop struct {
	term      *term
	calls     chan func()
	streams   map[uint64]*workerStream // by session
	acceptors *acceptors               // external workers that wait for tasks
	express   *express
	shares    task.Shares

	dirty    bool // something changed that may let a task be assigned
	planning bool // an Assign proposal is under way: its result is what the next plan starts from
	ticking  bool // a Tick is under way
	timer    *time.Timer
	due      time.Duration // monotonic time for which the timer is set; 0: not set
	pauseTil time.Duration // monotonic time before which no Tick is proposed
	stillTil time.Duration // a standstill was noticed: until then no Tick may expire sessions
	held     bool          // the Tick that is due has been held back once
	waits    task.Time     // NextTick's wall time as last seen: once the machine's clock is there, tasks may be due
}

const (
	maxAssign  = 1024                   // tasks assigned in one proposal
	eventsAt   = 4096                   // entries that may wait for the loop before it is cut off and starts over
	retryPause = 100 * time.Millisecond // before doing again what failed, or had no effect
	// stall is how late a timer may fire before the loop suspects that the process stood still; holdTick is how long it
	// then reads the streams before a Tick may expire sessions: renewals may have waited in socket buffers all the time.
	stall    = 500 * time.Millisecond
	holdTick = time.Second
	// wallLook is how often the loop looks at the wall clock while something waits for it: a jump forward makes things
	// due without any event (SPEC C3).
	wallLook = time.Second
	// farOff bounds every wait: times that callers chose are far beyond what a time.Duration holds.
	farOff = time.Hour
)

func newLoop(t *term) *loop {
	l := &loop{term: t, calls: make(chan func()), streams: map[uint64]*workerStream{}, dirty: true}
	l.acceptors = &acceptors{loop: l, table: accept.NewTable()}
	l.express = newExpress(t.hub.cfg.Store)
	return l
}

// do runs f in the loop's goroutine and waits for it; false if the term has ended.
func (l *loop) do(f func()) bool {
	done := make(chan struct{})
	select {
	case l.calls <- func() { defer close(done); f() }:
		<-done
		return true
	case <-l.term.ctx.Done():
		return false
	}
}

func (l *loop) run() {
	l.timer = time.NewTimer(time.Hour)
	defer l.timer.Stop()
	f := l.term.hub.cfg.Subscribe()
	defer func() { f.Close() }()
	for {
		l.schedule()
		l.plan()
		select {
		case evs, ok := <-f.Events():
			if ok {
				l.handle(f, evs)
				continue
			}
			if !f.Lagged() {
				return // the store has closed
			}
			f.Close()
			f = l.term.hub.cfg.Subscribe()
			l.resync()
		case call := <-l.calls:
			call()
		case <-l.express.wake:
			l.dirty = true
		case <-l.timer.C:
			l.fired()
		case <-l.term.ctx.Done():
			return
		}
	}
}

// handle works through the events that are there, then looks up once what must be pushed.
func (l *loop) handle(f Subscription, evs []task.Event) {
	assigned := map[uint64][]*task.Task{}
	for n := 0; ; n++ {
		for i := range evs {
			l.event(&evs[i], assigned)
		}
		if n >= eventsAt {
			break
		}
		select {
		case more, ok := <-f.Events():
			if ok {
				evs = more
				continue
			}
		default:
		}
		break
	}
	for session, ts := range assigned {
		if w := l.streams[session]; w != nil {
			l.push(w, ts)
		}
	}
}

func (l *loop) event(e *task.Event, assigned map[uint64][]*task.Task) {
	var w *workerStream
	if e.Lease != nil {
		w = l.streams[e.Lease.Session]
	} else if e.Task != nil && e.Task.Lease != nil {
		w = l.streams[e.Task.Lease.Session]
	}
	switch e.Kind {
	case task.TaskAssigned:
		if w != nil {
			assigned[w.session] = append(assigned[w.session], e.Task)
		}
		return
	case task.TaskCancelling:
		if w != nil && e.Lease != nil {
			l.pushFirst(w, assigned)
			w.send(stream.Frame{Cancel: []uint64{e.Lease.Token}})
		}
		return
	case task.TaskRemoved, task.LeaseEnded:
		if w != nil && e.Lease != nil {
			l.pushFirst(w, assigned)
			w.send(stream.Frame{Halt: []uint64{e.Lease.Token}})
		}
	case task.SessionEnded:
		if e.Session != nil {
			l.ended(e.Session.ID)
		}
	case task.BehaviorChanged:
		l.express.forget()
		l.prepareAll()
	}
	l.dirty = true
}

// pushFirst pushes what was assigned before a cancel or a halt: a worker ignores those of tokens that it does not know.
func (l *loop) pushFirst(w *workerStream, assigned map[uint64][]*task.Task) {
	if ts := assigned[w.session]; len(ts) > 0 {
		delete(assigned, w.session)
		l.push(w, ts)
	}
}

// ended closes the stream of a session that is over, after telling the worker.
func (l *loop) ended(session uint64) {
	w := l.streams[session]
	if w == nil {
		return
	}
	delete(l.streams, session)
	if w.leaving {
		return
	}
	l.term.hub.wg.Go(func() {
		lastFrame(w.conn, stream.Frame{NotFound: true})
		_ = w.conn.Close()
	})
}
