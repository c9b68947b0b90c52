package node

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/node/accept"
	"github.com/taskrt/taskrt/node/view"
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
	l.express = newExpress(t.hub.store)
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
	f := l.term.hub.subscribe()
	defer func() { f.close() }()
	for {
		l.schedule()
		l.plan()
		select {
		case evs, ok := <-f.C:
			if ok {
				l.handle(f, evs)
				continue
			}
			if !f.lagged() {
				return // the store has closed
			}
			f.close()
			f = l.term.hub.subscribe()
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
func (l *loop) handle(f feed, evs []task.Event) {
	assigned := map[uint64][]*task.Task{}
	for n := 0; ; n++ {
		for i := range evs {
			l.event(&evs[i], assigned)
		}
		if n >= eventsAt {
			break
		}
		select {
		case more, ok := <-f.C:
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

// attach takes in a stream: what the worker does not hold is pushed again, what it should not hold is halted (SPEC L2).
func (l *loop) attach(w *workerStream, heldTokens []uint64) {
	if old := l.streams[w.session]; old != nil {
		_ = old.conn.Close()
	}
	held := make(map[uint64]bool, len(heldTokens))
	for _, t := range heldTokens {
		held[t] = true
	}
	var missing []*task.Task
	var cancel, halt []uint64
	var session *task.Session
	current := map[uint64]bool{}
	l.term.hub.store.Local(func(m *task.Machine) {
		if session = m.Session(w.session); session == nil {
			return
		}
		w.pushed = session.Seq // what is assigned from now on comes as an event
		for _, t := range m.Leases(w.session) {
			current[t.Lease.Token] = true
			if !held[t.Lease.Token] {
				missing = append(missing, t)
			} else if t.CancelCode != "" {
				cancel = append(cancel, t.Lease.Token)
			}
		}
	})
	if session == nil {
		w.send(stream.Frame{NotFound: true})
		return
	}
	for _, t := range heldTokens {
		if !current[t] {
			halt = append(halt, t)
		}
	}
	l.streams[w.session] = w
	l.dirty = true
	w.alone, w.isolates = session.Alone, session.Isolates
	if len(halt) > 0 {
		w.send(stream.Frame{Halt: halt})
	}
	if len(cancel) > 0 {
		w.send(stream.Frame{Cancel: cancel})
	}
	l.prepare(w)
	l.sendAssign(w, missing)
}

func (l *loop) detach(w *workerStream) {
	if l.streams[w.session] == w {
		delete(l.streams, w.session)
		l.dirty = true // what express offers of it
	}
}

// ready and short are replaced, never changed: express looks at them, too.

func (l *loop) setReady(w *workerStream, digests []string) {
	w.ready = maps.Clone(w.ready)
	for _, d := range digests {
		w.ready[d] = true
	}
	l.dirty = true
}

func (l *loop) setPace(w *workerStream, news []stream.Pace) {
	w.short = maps.Clone(w.short)
	for _, p := range news {
		if p.Short {
			w.short[p.Behavior] = true
		} else {
			delete(w.short, p.Behavior)
		}
	}
	l.dirty = true
}

func (l *loop) setCredits(w *workerStream, c stream.Credits) {
	w.credits = c
	w.long = slices.DeleteFunc(w.long, func(seq uint64) bool { return seq <= c.Seq })
	l.dirty = true
}

// push sends assignments that this stream has not carried yet.
func (l *loop) push(w *workerStream, ts []*task.Task) {
	if l.streams[w.session] != w {
		return
	}
	fresh := ts[:0:0]
	for _, t := range ts {
		if t.Lease != nil && t.Lease.Seq > w.pushed {
			w.pushed = t.Lease.Seq
			fresh = append(fresh, t)
		}
	}
	l.sendAssign(w, fresh)
	l.dirty = l.dirty || len(fresh) > 0 && w.credits.Ahead > 0 // free took nothing ahead before
}

// pushAgain sends assignments that the worker received and does not hold.
func (l *loop) pushAgain(w *workerStream, ts []*task.Task) {
	if l.streams[w.session] == w {
		l.sendAssign(w, ts)
	}
}

// sendAssign sends leases with the policy and the module of their pinned versions.
func (l *loop) sendAssign(w *workerStream, ts []*task.Task) {
	if len(ts) == 0 {
		return
	}
	as := make([]stream.Assignment, 0, len(ts))
	var cancel []uint64
	l.term.hub.store.Local(func(m *task.Machine) {
		for _, t := range ts {
			v := m.Version(t.Namespace, t.Behavior, t.Version) // also of a behavior that is deleted: what runs goes on (SPEC B8)
			if v == nil && m.Task(t.Key()) == nil {
				continue // it was removed since, and its behavior, deleted before, went with it
			}
			if v == nil {
				w.log.Error("a leased task has no version to run", "task", t.ID, "version", t.Version)
				continue
			}
			if t.Lease.Seq > w.credits.Seq && !w.isShort(v.Module, v.Policy.Index) {
				w.long = append(w.long, t.Lease.Seq)
			}
			a := stream.Assignment{Task: view.WithParams(m, t), Policy: &v.Policy, Module: stream.Module{Digest: v.Module}}
			if mod := m.Module(v.Module); mod != nil {
				a.Module.Size = mod.Size
			}
			as = append(as, a)
			if t.CancelCode != "" {
				cancel = append(cancel, t.Lease.Token)
			}
		}
	})
	if len(as) > 0 {
		w.send(stream.Frame{Assign: as})
	}
	if len(cancel) > 0 {
		w.send(stream.Frame{Cancel: cancel})
	}
}

// prepare tells a worker which modules it will need: those of active versions, and of versions that tasks are pinned to.
// One that is alone runs suspects, and hears of theirs in tellSuspects.
func (l *loop) prepare(w *workerStream) {
	if w.alone {
		return
	}
	var mods []stream.Module
	l.term.hub.store.Local(func(m *task.Machine) {
		seen := map[string]bool{}
		for _, b := range m.BehaviorsAfter("", "", math.MaxInt) {
			for i := range b.Versions {
				v := &b.Versions[i]
				if b.Deleted || (v.Version != b.Active && v.Pinned == 0) || w.ready[v.Module] || seen[v.Module] {
					continue
				}
				seen[v.Module] = true
				if mod := m.Module(v.Module); mod != nil {
					mods = append(mods, stream.Module{Digest: mod.Digest, Size: mod.Size})
				}
			}
		}
	})
	if len(mods) > 0 {
		w.send(stream.Frame{Prepare: mods})
	}
}

func (l *loop) prepareAll() {
	for _, w := range l.streams {
		l.prepare(w)
	}
}

// resync starts over after events were missed: streams of sessions that are gone end, the others are shown everything.
func (l *loop) resync() {
	l.dirty = true
	l.express.forget()
	for id, w := range l.streams {
		var ts []*task.Task
		alive := false
		l.term.hub.store.Local(func(m *task.Machine) {
			if alive = m.Session(id) != nil; alive {
				ts = m.Leases(id)
			}
		})
		if !alive {
			l.ended(id)
			continue
		}
		var cancel []uint64
		for _, t := range ts {
			if t.CancelCode != "" {
				cancel = append(cancel, t.Lease.Token)
			}
		}
		l.push(w, ts)
		if len(cancel) > 0 {
			w.send(stream.Frame{Cancel: cancel})
		}
		l.prepare(w) // halts that were missed come with the next renewal
	}
}

// plan proposes the assignments that are possible now.
func (l *loop) plan() {
	if !l.dirty || l.planning {
		return
	}
	l.dirty = false
	flying := l.express.close()
	if len(l.streams) == 0 && l.acceptors.table.Len() == 0 {
		return
	}
	var assigns []task.Assign
	var sessions []task.Free
	l.term.hub.store.Local(func(m *task.Machine) {
		l.tellSuspects(m)
		sessions = l.free(m, flying)
		if free := l.acceptors.table.Free(m, sessions, maxAssign); len(free) > 0 {
			assigns = l.shares.Plan(m, free, maxAssign)
		}
	})
	l.acceptors.table.Planned(assigns, len(assigns) == maxAssign)
	if len(assigns) == 0 {
		l.express.open(slices.DeleteFunc(sessions, func(f task.Free) bool { return l.streams[f.Session].alone })) // nothing fresh is a suspect
		return
	}
	cmds := make([]task.Command, len(assigns))
	for i, a := range assigns {
		cmds[i] = a
	}
	l.planning = true
	l.term.wg.Go(func() {
		rs, err := l.term.hub.store.ProposeLocal(l.term.ctx, cmds...)
		given := 0
		for _, r := range rs {
			if r.Code == task.OK {
				given++
			}
		}
		if given == 0 {
			// Refused or failed as a whole: what made it so will be an event, but do not depend on that, nor spin.
			idle.For(l.term.ctx, retryPause)
		}
		if err != nil && l.term.ctx.Err() == nil {
			l.term.hub.logger.Debug("assignments were not proposed", "err", err)
		}
		l.do(func() {
			l.planning, l.dirty = false, true
			l.acceptors.landed(assigns, rs, err)
		})
	})
}

// free lists the workers that can take tasks: connected, with credits that are not used up by what is under way.
func (l *loop) free(m *task.Machine, flying map[uint64]flight) []task.Free {
	var free []task.Free
	for id, w := range l.streams {
		s := m.Session(id)
		if s == nil || w.leaving || m.Drained(s.Node) {
			continue
		}
		slots := w.credits.Free
		if s.Seq > w.credits.Seq {
			slots -= int64(s.Seq - w.credits.Seq)
		}
		slots -= int64(flying[id].all)
		each, ahead := max(0, w.credits.Each), int64(0)
		if s.Seq <= w.pushed { // else there are some of which it is not known what they are
			ahead = max(0, w.credits.Ahead-each*int64(len(w.long)+flying[id].long))
		}
		if slots+ahead > 0 {
			ready, short := w.ready, w.short
			free = append(free, task.Free{
				Session: id, Slots: int(slots), Ahead: int(ahead), Each: int(each),
				Ready: func(module, _ string) bool { return ready[module] },
				Short: func(module string, index int32) bool { return short[stream.Behavior{Module: module, Index: index}] },
			})
		}
	}
	slices.SortFunc(free, func(a, b task.Free) int { return cmp.Compare(a.Session, b.Session) })
	return free
}
