package lead

import (
	"time"

	"github.com/taskrt/taskrt/node/accept"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// loop is the leader's one decision maker: it pushes what was assigned, plans what can be assigned, and lets time pass.
// Events, credits and timers wake it. It never polls, and waits for nothing else. All its state belongs to its
// goroutine; others reach it through do.
type loop struct {
	term      *term
	calls     chan func()
	streams   map[uint64]*workerStream // by session
	acceptors *acceptors               // external workers that wait for tasks
	express   *express
	shares    task.Shares

	dirty    bool // something has changed that may make a task assignable
	planning bool // a proposal of assignments is under way: the next plan starts from its result
	ticking  bool // a Tick is under way
	timer    *time.Timer
	due      time.Duration // monotonic time that the timer is set to; 0: not set
	pauseTil time.Duration // monotonic time before which no Tick is proposed
	stillTil time.Duration // the process stood still: before this monotonic time no Tick may expire sessions
	held     bool          // the Tick that is due has been held back once
	waits    task.Time     // the wall time that NextTick named last: once the machine's clock has reached it, tasks may be due
}

const (
	maxAssign  = 1024                   // tasks assigned in one proposal
	eventsAt   = 4096                   // after so many entries the loop takes in no more events before it pushes and plans
	retryPause = 100 * time.Millisecond // before something that failed, or had no effect, is done again
	// stall is how late a timer may fire before the loop suspects that the process stood still. For as long as holdTick
	// it then reads the streams before a Tick may expire sessions: renewals may have waited in socket buffers all the
	// time.
	stall    = 500 * time.Millisecond
	holdTick = time.Second
	// wallLook is how often the loop looks at the wall clock while something waits for a wall time: a jump forward makes
	// things due, and is no event (SPEC C3).
	wallLook = time.Second
	// farOff bounds every wait. Callers choose times that lie further ahead than a time.Duration can say.
	farOff = time.Hour
)

func newLoop(t *term) *loop {
	l := &loop{term: t, calls: make(chan func()), streams: map[uint64]*workerStream{}, dirty: true}
	l.acceptors = &acceptors{loop: l, table: accept.NewTable()}
	l.express = newExpress(t.hub.cfg.Store)
	return l
}

// do runs f in the loop's goroutine and waits for it. It returns false if the term has ended.
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

// handle works through all events that are there. Then it pushes, once for each session, what they have assigned.
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

// pushFirst pushes the assignments before a cancel or a halt is sent, because a worker ignores a cancel or a halt of a
// token that it does not know.
func (l *loop) pushFirst(w *workerStream, assigned map[uint64][]*task.Task) {
	if ts := assigned[w.session]; len(ts) > 0 {
		delete(assigned, w.session)
		l.push(w, ts)
	}
}

// ended tells the worker of a session that is over, and closes its stream.
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
